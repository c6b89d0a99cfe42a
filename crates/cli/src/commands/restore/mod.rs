mod all;
mod prepared;
mod report;
mod write;

use std::ffi::OsString;
use std::path::PathBuf;

use backstory_core::agent::lifecycle::DeletionReason;

pub(super) use self::prepared::{Prepared, WriteOptions};
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::output::Printer;

const EXAMPLES: &str = "\
Examples:
  backstory restore 3f2a --dry-run            show what would be written
  backstory restore 3f2a                      restore the files that the agent needs
  backstory restore 3f2a --fresh              and keep it from being deleted for its age
  backstory restore 3f2a --project ~/new/shop the project was moved there
  backstory restore --to out --all-files      every captured file";

/// Restore a session's files, so that the agent can list and resume it
///
/// Restores, byte for byte, the file that the agent loads, other files with parts of the session, its
/// subagents, long tool outputs, plans and tasks. An existing file is never overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// The session: its id or a prefix of it, `latest`, `@N`, its name, or a file name [default: choose one in
    /// the terminal]
    session: Option<OsString>,

    /// Show what would be written without writing it
    #[arg(long)]
    dry_run: bool,

    /// Make the session recent, so that it is not deleted for its age
    ///
    /// For Gemini CLI this adds one line to the session. For Claude Code it sets the time of the last change,
    /// which files that are written get anyway. Codex CLI deletes no sessions for their age.
    #[arg(long)]
    fresh: bool,

    /// The project's folder, if it was moved
    #[arg(long, short, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Write the files of `--all-files` below this folder
    #[arg(long, value_name = "DIR", requires = "all_files")]
    to: Option<PathBuf>,

    /// Restore every captured file of the session, or of all sessions, below another folder
    #[arg(long, requires = "to", conflicts_with_all = ["fresh", "project"])]
    all_files: bool,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Restore) -> Result<Exit> {
    if let Some(to) = &args.to {
        return all::run(ctx, printer, args.session.as_deref(), to, args.dry_run);
    }
    let Some(session) = super::given_or_chosen(ctx, printer, args.session.as_deref())? else {
        return Err(Failure::new("no session was named")
            .hint("name a session, or use `--to DIR --all-files`"));
    };
    let (library, assembled) = super::open_session(ctx, printer, &session)?;
    let prepared = Prepared::new(ctx, library, assembled, args.project.as_deref())?;
    if args.fresh {
        prepared.freshening(ctx).map_err(|why| {
            let advice = prepared.lifecycle.advice(&DeletionReason::Age);
            Failure::new("`--fresh` cannot make this session recent")
                .because(why)
                .hint(format!("{advice} instead"))
        })?;
    }
    let options = WriteOptions { fresh: args.fresh, dry_run: args.dry_run };
    let done = prepared.write(ctx, printer, options)?;
    prepared.report(ctx, printer, &done, options)?;
    if printer.is_terminal() && !args.dry_run && !ctx.json {
        let short = prepared.library.all.short(&prepared.assembled.session);
        printer.note(format!("`backstory resume {short}` continues it."));
    }
    Ok(Exit::Success)
}
