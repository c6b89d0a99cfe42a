//! A transcript that grows while the agent writes.

use std::ffi::OsStr;
use std::path::Path;

use backstory_core::agent::Agents;
use backstory_core::model::Message;
use backstory_core::transcript::Options;

use super::page::Page;
use super::turns::Extras;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::library::{Library, cannot_open};
use crate::watcher::Watcher;

/// Prints the last turn of a session, and what is added to it until the user ends the run.
pub(super) fn run(
    ctx: &Context,
    page: &mut Page<'_>,
    library: &mut Library,
    id: &str,
    name: &OsStr,
    options: &Options,
) -> Result<()> {
    if ctx.no_sync || ctx.json {
        let other = if ctx.json { "--json" } else { "--no-sync" };
        return Err(Failure::new(format!("`--follow` cannot be combined with `{other}`"))
            .hint("`backstory events --follow` prints what happens as JSON"));
    }
    let file = Path::new(name);
    let is_file = file.is_file();
    let look = || if is_file { Agents::default().discover_at(file) } else { ctx.discover() };
    let mut watcher = Watcher::new(look, &library.all.found, None);
    let mut is_first = true;
    loop {
        match print_news(ctx, page, library, id, options, is_first) {
            // A session that is being rewritten can be read again in a moment.
            Err(failure) if !is_first => page.printer.warn(failure.what),
            printed => printed?,
        }
        if is_first {
            page.printer.note("Following; press Ctrl-C to stop.");
        }
        is_first = false;
        let Some(found) = watcher.next() else { return Ok(()) };
        match library.refresh(ctx, found, &|_| {}) {
            Err(error) if error.passes() => {
                page.printer.warn(format!("{error}; trying again"));
                watcher.again();
            }
            refreshed => _ = refreshed.map_err(cannot_open)?,
        }
    }
}

fn print_news(
    ctx: &Context,
    page: &mut Page<'_>,
    library: &Library,
    id: &str,
    options: &Options,
    is_first: bool,
) -> Result<()> {
    let assembled = library.assembled(id)?;
    let messages = library.messages(ctx, &assembled, page.args.view.into())?;
    let session = &assembled.session;
    let extras = Extras::new(library, session, &messages)?;
    let mut from = 0;
    if is_first {
        page.head(session, &extras)?;
        from = messages.iter().rposition(|message: &Message| message.kind.is_typed()).unwrap_or(0);
        page.skip(&messages[..from], options);
    }
    page.news(session, &messages, options, &extras, from)
}
