//! Searches for the folders of projects that are known only by hash.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use backstory_core::collection::Collection;
use backstory_core::projects::{Search, find_projects};
use backstory_core::query::projects::unresolved;

use crate::context::Context;

/// The time limit for a search for folders.
const PATIENCE: Duration = Duration::from_secs(5);

/// The number of levels that the search descends.
const DEPTH: usize = 4;

/// Searches for the folders of projects that nothing else has identified.
pub(crate) fn locate_projects(ctx: &Context, all: &Collection) -> Vec<PathBuf> {
    let hashes = unresolved(all);
    if hashes.is_empty() {
        return Vec::new();
    }
    let home = ctx.env.home.as_deref();
    let usual = home.into_iter().flat_map(|home| {
        let below = ["", "dev", "projects", "src", "code", "work"];
        below.map(|name| if name.is_empty() { home.to_owned() } else { home.join(name) })
    });
    let roots = ctx.projects.scan.clone().unwrap_or_else(|| usual.collect());
    let end = Instant::now() + PATIENCE;
    find_projects(&hashes, &Search { roots, depth: DEPTH }, &|| Instant::now() < end)
}

/// Makes `latest` prefer the project of the current folder.
pub(super) fn located(ctx: &Context, all: Collection) -> Collection {
    match &ctx.cwd {
        Some(cwd) => all.at(cwd),
        None => all,
    }
}
