//! Decides where the program may write.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use backstory_core::agent::Agents;
use backstory_core::discover::Source;
use backstory_core::file;

use crate::context::Context;
use crate::error::{Failure, Result};

/// Refuses a path inside the agent's own folders, where only `restore` writes. Links and `..` are resolved
/// first; the path need not exist.
pub(crate) fn check_place(ctx: &Context, output: &Path) -> Result<()> {
    let place = file::resolve(output).map_err(|error| cannot_write(ctx, output, error))?;
    let found = Agents::default().discover_in(&ctx.env, &[], &ctx.roots);
    // A configured root can be a whole home, in which only the agent's folders are off limits.
    let usual = found.looked.iter().map(|looked| &looked.path).filter(|p| !ctx.roots.contains(p));
    let mut own: BTreeSet<&Path> = usual.chain(&found.roots).map(PathBuf::as_path).collect();
    own.extend(found.sources.iter().filter_map(Source::folder));
    if own.into_iter().flat_map(file::resolve).any(|own| place.starts_with(own)) {
        let shown = ctx.show(output);
        return Err(Failure::new(format!("`{shown}` is inside an agent's own folder"))
            .hint("choose a place outside of it"));
    }
    Ok(())
}

pub(crate) fn cannot_write(ctx: &Context, path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("cannot write `{}`", ctx.show(path))).because(error)
}
