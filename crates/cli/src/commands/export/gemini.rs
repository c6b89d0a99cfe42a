//! Gemini CLI's own form, of the file that it would load.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;

use backstory_core::agent::Agents;
use backstory_core::agent::gemini::{self, Holds, Loaded, Shape, folder_project};
use backstory_core::assemble::SessionFacts;
use backstory_core::discover::Source;
use backstory_core::export::gemini::{Fallback, write_redacted};
use backstory_core::fault::What;
use backstory_core::read::bytes::Bytes;

use super::Export;
use super::target::{cannot_read, put};
use crate::commands::open_session;
use crate::commands::redact::Censor;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::Library;
use crate::output::Printer;
use crate::output::number::plural;

/// One session or file.
pub(super) fn one(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    session: &OsStr,
    censor: &Censor<'_>,
) -> Result<Exit> {
    let typed = Path::new(session);
    if typed.exists() && !typed.is_dir() {
        let mut file = open(typed).map_err(|error| cannot_read(ctx, typed, error))?;
        return put_file(ctx, printer, args, typed, &mut file, censor);
    }
    let (library, assembled) = open_session(ctx, printer, session)?;
    let source = true_source(&assembled).ok_or_else(|| {
        Failure::nothing(format!("the files of session `{}` are gone", assembled.session.id))
            .hint("only what was typed is left of it: `backstory show` has that")
    })?;
    if assembled.files.len() > 1 {
        printer.detail(format!(
            "the session is spread over {} files; Gemini CLI would load `{}`",
            assembled.files.len(),
            ctx.show(&source.path)
        ));
    }
    let mut file =
        library.archive.open(source).map_err(|error| cannot_read(ctx, &source.path, error))?;
    put_file(ctx, printer, args, &source.path, &mut file, censor)
}

fn put_file(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    path: &Path,
    file: &mut (impl Read + Seek),
    censor: &Censor<'_>,
) -> Result<Exit> {
    let loaded = load(ctx, path, file)?;
    let fallback = fallback(path);
    put(ctx, printer, args, censor, |out| {
        censor.with(|redactor| write_redacted(&loaded, &fallback, file, redactor, out))
    })?;
    tell_faults(ctx, printer, path, &loaded);
    let is_faulty = !loaded.faults.is_clean();
    Ok(if ctx.strict && is_faulty { Exit::Nothing } else { Exit::Fine })
}

/// One of many.
pub(super) fn of(
    assembled: &SessionFacts,
    library: &Library,
    censor: &Censor<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let source = true_source(assembled).ok_or(io::ErrorKind::NotFound)?;
    let mut file = library.archive.open(source)?;
    let loaded = gemini::load_current(&mut file)?;
    let fallback = fallback(&source.path);
    censor.with(|redactor| write_redacted(&loaded, &fallback, &mut file, redactor, out))
}

/// Returns whether it has this form: it is made of Gemini CLI's own files only.
pub(super) fn has_form(assembled: &SessionFacts) -> bool {
    assembled.resumable_file.is_some() && !assembled.listed().any(|placed| placed.facts.is_ours)
}

/// The file that Gemini CLI would load.
fn true_source(assembled: &SessionFacts) -> Option<&Source> {
    assembled.files.get(assembled.resumable_file?)
}

/// Opens a file; what comes through a pipe is put into one first, for it is read more than once.
fn open(path: &Path) -> io::Result<File> {
    let mut file = File::open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut file, &mut copy)?;
    Ok(copy)
}

fn load(ctx: &Context, path: &Path, file: &mut (impl Read + Seek)) -> Result<Loaded> {
    let cannot = |error| cannot_read(ctx, path, error);
    match gemini::read_conversation(file).map_err(cannot)? {
        Holds::Ours(_) => {
            let what = format!("`{}` is in our own form", ctx.show(path));
            Err(Failure::new(what).hint("Gemini CLI's form is made of its own files only"))
        }
        Holds::Sessions(loaded) | Holds::History(loaded) => Ok(*loaded),
        Holds::Nothing(Shape::Empty) => gemini::load(file).map_err(cannot),
        holds => {
            let shape = match holds {
                Holds::Nothing(shape) => shape,
                _ => Shape::PromptLog,
            };
            let what = format!("`{}` holds no conversation", ctx.show(path));
            Err(Failure::new(what).because(format!("the file is: {}", shape.name())))
        }
    }
}

/// What a file that does not say it itself is called and belongs to.
fn fallback(path: &Path) -> Fallback {
    let found = Agents::default().discover_at(path);
    let folder = found.sources.first().and_then(|source| source.folder.as_deref());
    Fallback {
        session_id: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        project_hash: folder.and_then(|folder| folder_project(folder).hash),
    }
}

fn tell_faults(ctx: &Context, printer: &mut Printer, path: &Path, loaded: &Loaded) {
    let shown = ctx.show(path);
    let faults = &loaded.faults.details;
    for fault in faults {
        if let What::Refused(why) = &fault.what {
            let read = plural(loaded.messages.len() as u64, "message", "messages");
            printer.warn(format!(
                "Gemini CLI refuses `{shown}`: {why}. What is there was read: {read}."
            ));
        }
    }
    // What made it refuse the document as a whole is told already.
    let is_told = |what: &What| {
        what.is_pending() || matches!(what, What::Refused(_)) || matches!(what, What::CutOff(_))
    };
    let others = faults.iter().filter(|fault| !is_told(&fault.what)).count() as u64;
    if others > 0 {
        let faults = plural(others, "fault", "faults");
        printer.warn(format!("{faults} in `{shown}`: `backstory doctor --from FILE` tells more."));
    }
}
