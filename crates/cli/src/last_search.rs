//! The hits of the last search, so that `@s3` names the third one.
//!
//! They are kept in `archive.search` beside the archive, readable only by the user. Searches in other places
//! (`--from`, `--demo`) and documents for programs are not remembered.

use std::ffi::OsStr;
use std::path::PathBuf;

use backstory_core::file::Existing;
use backstory_core::model::{MessageId, SessionId};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::save;

/// A search and the hits that were printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastSearch {
    pub(crate) query: String,
    pub(crate) syntax: Syntax,
    pub(crate) hits: Vec<Place>,
}

/// The meaning of the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Syntax {
    Words,
    Exact,
    Regex,
}

/// The place of a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) session: SessionId,
    /// None if the session as a whole matches, by its title for example.
    pub(crate) message: Option<MessageId>,
}

/// A hit of the last search.
pub(crate) struct Found {
    pub(crate) query: String,
    pub(crate) syntax: Syntax,
    pub(crate) place: Place,
}

impl LastSearch {
    /// Returns the first hit.
    pub(crate) fn first(self) -> Option<Found> {
        let Self { query, syntax, hits } = self;
        Some(Found { query, syntax, place: hits.into_iter().next()? })
    }

    /// Stores the search, and returns whether its hits can be named from now on.
    pub(crate) fn remember(&self, ctx: &Context) -> bool {
        let Some(file) = file(ctx) else { return false };
        let text = serde_json::to_vec(self).unwrap_or_default();
        save::save(&file, Existing::Replace, |out| out.write_all(&text)).is_ok()
    }
}

/// Returns the hit that a word like `@s3` names; none if the word is something else.
pub(crate) fn recall(ctx: &Context, word: &OsStr) -> Result<Option<Found>> {
    let number = word.to_str().and_then(|word| word.strip_prefix("@s")?.parse::<usize>().ok());
    let Some(number) = number.filter(|_| !ctx.is_remote) else { return Ok(None) };
    let text = file(ctx).and_then(|file| std::fs::read(file).ok()).unwrap_or_default();
    let Ok(last) = serde_json::from_slice::<LastSearch>(&text) else {
        return Err(Failure::nothing("no earlier search was found")
            .hint("`backstory search` numbers its hits"));
    };
    let LastSearch { query, syntax, hits } = last;
    let count = hits.len();
    let place = number.checked_sub(1).and_then(|place| hits.into_iter().nth(place));
    let place = place.ok_or_else(|| {
        Failure::nothing(format!("the last search, for `{query}`, has no hit {number}"))
            .hint(format!("its hits are `@s1` to `@s{count}`"))
    })?;
    Ok(Some(Found { query, syntax, place }))
}

/// Forgets the last search.
pub(crate) fn forget(ctx: &Context) {
    if let Some(file) = file(ctx) {
        // There may be none.
        let _ = std::fs::remove_file(file);
    }
}

/// Returns the file beside the permanent archive, if this run uses it.
fn file(ctx: &Context) -> Option<PathBuf> {
    let archive = ctx.archive.as_ref().filter(|archive| archive.exists() && !ctx.is_remote)?;
    Some(archive.with_extension("search"))
}
