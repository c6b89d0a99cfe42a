//! Exports a session in its agent's own format, from the file that the agent would load.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use backstory_core::agent::Agents;
use backstory_core::agent::native::{NativeError, NativeSession};
use backstory_core::assemble::SessionFacts;
use backstory_core::discover::Source;
use backstory_core::fault::FaultKind;
use backstory_core::model::AgentId;
use backstory_core::read::bytes::{Bytes, ReadSeek};

use super::target::{cannot_read, put};
use super::{Export, Format};
use crate::commands::open_session;
use crate::commands::redact::Censor;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::Library;
use crate::output::Printer;
use crate::output::number::plural;

/// Exports one session or file.
pub(super) fn one(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    session: &OsStr,
    censor: &Censor<'_>,
) -> Result<Exit> {
    let typed = Path::new(session);
    if typed.exists() && !typed.is_dir() {
        let file = open(typed).map_err(|error| cannot_read(ctx, typed, error))?;
        return put_file(ctx, printer, args, typed, Box::new(file), censor);
    }
    let (library, assembled) = open_session(ctx, printer, session)?;
    if !is_of_agent(&assembled) {
        let agent = library.archive.agents().get(&assembled.session.agent);
        let agent = agent.map_or("another agent", |agent| agent.name());
        let what = format!("`{}` is a session of {agent}", assembled.session.id);
        return Err(Failure::new(format!("{what}, and has no file that Gemini CLI could load"))
            .hint("`--format html`, `markdown` or `json` export the sessions of every agent"));
    }
    let source = true_source(&assembled).ok_or_else(|| {
        Failure::nothing(format!("the files of session `{}` are gone", assembled.session.id))
            .hint("only its prompts are left: `backstory show` prints them")
    })?;
    if assembled.files.len() > 1 {
        printer.detail(format!(
            "the session is spread over {} files; Gemini CLI would load `{}`",
            assembled.files.len(),
            ctx.show(&source.path)
        ));
    }
    let file =
        library.archive.open(source).map_err(|error| cannot_read(ctx, &source.path, error))?;
    put_file(ctx, printer, args, &source.path, file, censor)
}

fn put_file(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    path: &Path,
    file: Box<dyn ReadSeek + '_>,
    censor: &Censor<'_>,
) -> Result<Exit> {
    let mut session = load(ctx, path, file)?;
    put(ctx, printer, args, censor, |out| censor.with(|redactor| session.write(redactor, out)))?;
    warn_of_faults(ctx, printer, path, session.as_ref());
    Ok(ctx.exit_code(!session.faults().is_clean()))
}

/// Exports one of many sessions.
pub(super) fn of(
    assembled: &SessionFacts,
    library: &Library,
    censor: &Censor<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let source = true_source(assembled).ok_or(io::ErrorKind::NotFound)?;
    let format = library
        .archive
        .agents()
        .get(&assembled.session.agent)
        .and_then(|agent| agent.native_format());
    let format = format.ok_or(io::ErrorKind::Unsupported)?;
    let file = library.archive.open(source)?;
    let mut session = format.load(&source.path, file).map_err(io::Error::other)?;
    censor.with(|redactor| session.write(redactor, out))
}

/// Returns whether the session can be exported this way: only if all its files are Gemini CLI's own.
pub(super) fn has_form(assembled: &SessionFacts) -> bool {
    is_of_agent(assembled)
        && assembled.resumable_file.is_some()
        && !assembled.listed().any(|placed| placed.facts.is_ours)
}

/// Returns whether it is a session of the agent whose format is exported.
fn is_of_agent(assembled: &SessionFacts) -> bool {
    assembled.session.agent.as_str() == Format::Gemini.name()
}

/// Returns the file that Gemini CLI would load.
fn true_source(assembled: &SessionFacts) -> Option<&Source> {
    assembled.files.get(assembled.resumable_file?)
}

/// Opens a file. A pipe is copied to a temporary file first, because the content is read more than once.
fn open(path: &Path) -> io::Result<File> {
    let mut file = File::open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut file, &mut copy)?;
    Ok(copy)
}

fn load<'a>(
    ctx: &Context,
    path: &Path,
    file: Box<dyn ReadSeek + 'a>,
) -> Result<Box<dyn NativeSession + 'a>> {
    let agent = Agents::default().get(&AgentId::new(&Format::Gemini.name()));
    let Some(native) = agent.and_then(|agent| agent.native_format()) else {
        return Err(Failure::new("this agent has no format of its own to export to"));
    };
    native.load(path, file).map_err(|error| match error {
        NativeError::Io(error) => cannot_read(ctx, path, error),
        NativeError::Ours => {
            let what = format!("`{}` is in backstory's own format", ctx.show(path));
            Failure::new(what).hint("only an agent's own files can be exported in its format")
        }
        NativeError::NoConversation(_) => {
            let what = format!("`{}` contains no conversation", ctx.show(path));
            Failure::new(what).because(error)
        }
    })
}

fn warn_of_faults(ctx: &Context, printer: &mut Printer, path: &Path, session: &dyn NativeSession) {
    let shown = ctx.show(path);
    let faults = &session.faults().details;
    for fault in faults {
        if let FaultKind::Refused(why) = &fault.what {
            let read = plural(session.message_count() as u64, "message", "messages");
            printer
                .warn(format!("Gemini CLI rejects `{shown}`: {why}. It was read anyway: {read}."));
        }
    }
    // Reasons to reject the whole document were reported above.
    let is_told = |what: &FaultKind| {
        what.is_pending()
            || matches!(what, FaultKind::Refused(_))
            || matches!(what, FaultKind::CutOff(_))
    };
    let others = faults.iter().filter(|fault| !is_told(&fault.what)).count() as u64;
    if others > 0 {
        let faults = plural(others, "fault", "faults");
        printer.warn(format!("{faults} in `{shown}`; `backstory doctor --from FILE` lists them."));
    }
}
