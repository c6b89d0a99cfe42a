use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use backstory_core::agent::gemini::{self, Loaded, Project, Shape};
use backstory_core::export::gemini::{Fallback, write};
use backstory_core::fault::What;
use clap::ValueEnum;
use tempfile::NamedTempFile;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::interrupt;
use crate::output::Printer;
use crate::output::number::plural;
use crate::survey;
use crate::survey::choose::{Chosen, choose};
use crate::survey::file::{self, FileRead, Opened};

const EXAMPLES: &str = "\
Examples:
  backstory export 3f2a91c7 --format gemini
                        the session whose id begins so, to the screen or a pipe
  backstory export ~/old/session-2026-08-01T10-00-3f2a91c7.jsonl --format gemini -o session.json
                        one file, wherever it is; `gemini --session-file session.json` reads it
  backstory export 3f2a --format gemini | jq '.messages | length'";

/// Write a session in another form
///
/// A session is named by its id, by the beginning of it that is not shared with another, or by the
/// name of one of its files. Where it is spread over several files, the one that Gemini CLI would
/// load is taken. A path is read alone, whatever state the file is in.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// A session, or a file
    #[arg(value_name = "FILE|SESSION")]
    session: OsString,

    /// The form to write
    #[arg(long, value_enum)]
    format: Format,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,

    /// Leave secrets in (nothing is taken out yet; scripts can already say so)
    #[arg(long)]
    no_redact: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Gemini CLI's own document, as `/export-session` writes it and `--session-file` reads it
    Gemini,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Export) -> Result<Exit> {
    let Format::Gemini = args.format;
    // Redaction is not there yet; the flag is, so that scripts need not change when it comes.
    let _ = args.no_redact;
    super::require_given(ctx)?;
    let typed = Path::new(&args.session);
    let is_file = typed.exists() && !typed.is_dir();
    let path = if is_file { typed.to_owned() } else { find(ctx, printer, &args.session)? };
    if let Some(output) = &args.output {
        check_target(ctx, output, args.force)?;
    }
    let mut file = open(&path).map_err(|error| cannot_read(ctx, &path, error))?;
    let loaded = load(ctx, &path, &mut file)?;
    let fallback = fallback(&path);
    match args.output.as_deref().filter(|output| *output != Path::new("-")) {
        None => {
            let mut out = printer.data()?;
            write(&loaded, &fallback, &mut file, &mut out)
                .and_then(|()| out.flush())
                .map_err(|error| cannot_export(ctx, &path, error))?;
        }
        Some(output) => {
            save(output, args.force, |out| write(&loaded, &fallback, &mut file, out))
                .map_err(|error| cannot_write(ctx, output, error))?;
            printer.detail(format!("wrote `{}`", ctx.show(output)));
        }
    }
    tell_faults(ctx, printer, &path, &loaded);
    let is_faulty = !loaded.faults.is_clean();
    Ok(if ctx.strict && is_faulty { Exit::Nothing } else { Exit::Fine })
}

/// The file of a session among all that are found.
fn find(ctx: &Context, printer: &mut Printer, name: &OsStr) -> Result<PathBuf> {
    let name = name.to_string_lossy();
    let survey = super::survey(ctx, printer);
    match choose(&survey.files, &name) {
        Chosen::One(file, all) => {
            if all.len() > 1 {
                printer.detail(format!(
                    "the session is spread over {} files; Gemini CLI would load `{}`",
                    all.len(),
                    ctx.show(&file.source.path)
                ));
            }
            Ok(file.source.path.clone())
        }
        Chosen::Several(sessions) => Err(ambiguous(ctx, &name, &sessions)),
        Chosen::Nothing if Path::new(&*name).is_dir() => {
            Err(Failure::new(format!("`{name}` is a folder"))
                .hint("name a file in it, or a session with `--from FOLDER`"))
        }
        Chosen::Nothing => {
            let failure = Failure::nothing(format!("no file and no session is called `{name}`"));
            Err(if survey.files.is_empty() {
                survey.found.looked.iter().fold(failure, |failure, looked| {
                    failure.hint(format!("nothing was found in `{}`", ctx.show(&looked.path)))
                })
            } else {
                failure
                    .hint("a session is named by its id, the beginning of its id, or a file's name")
            })
        }
    }
}

fn ambiguous(ctx: &Context, name: &str, sessions: &[(&str, &FileRead)]) -> Failure {
    const SHOWN: usize = 10;
    let mut failure = Failure::new(format!("`{name}` can mean {} sessions", sessions.len()));
    for (id, file) in sessions.iter().take(SHOWN) {
        failure = failure.hint(format!("`{id}` in `{}`", ctx.show(&file.source.path)));
    }
    match sessions.len().saturating_sub(SHOWN) {
        0 => failure,
        more => failure.hint(format!("and {more} more")),
    }
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

fn load(ctx: &Context, path: &Path, file: &mut File) -> Result<Loaded> {
    let cannot = |error| cannot_read(ctx, path, error);
    match file::open(file).map_err(cannot)? {
        Opened::Session(loaded) => Ok(loaded),
        Opened::Other(shape) if shape.is_conversation() || shape == Shape::Empty => {
            gemini::load(file).map_err(cannot)
        }
        Opened::Other(shape) => {
            let what = format!("`{}` holds no conversation", ctx.show(path));
            Err(Failure::new(what).because(format!("the file is: {}", shape.name())))
        }
    }
}

/// What a file that does not say it itself is called and belongs to.
fn fallback(path: &Path) -> Fallback {
    let found = gemini::discover_given(path);
    let folder = found.sources.first().and_then(|source| source.folder.as_deref());
    Fallback {
        session_id: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        project_hash: folder.and_then(|folder| Project::of_folder(folder).hash),
    }
}

fn tell_faults(ctx: &Context, printer: &mut Printer, path: &Path, loaded: &Loaded) {
    let shown = ctx.show(path);
    let faults = &loaded.faults.details;
    for fault in faults {
        if let What::Refused(why) = fault.what {
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

/// Refuses what must not be written over.
fn check_target(ctx: &Context, output: &Path, force: bool) -> Result<()> {
    let shown = ctx.show(output);
    if output == Path::new("-") {
        return Ok(());
    }
    if output.is_dir() {
        return Err(
            Failure::new(format!("`{shown}` is a folder")).hint("name the file to write with `-o`")
        );
    }
    if output.exists() && !force {
        return Err(Failure::new(format!("`{shown}` exists already")).hint("`--force` replaces it"));
    }
    // Towards the agent's own folders backstory only reads.
    let folder = folder_of(output).canonicalize().unwrap_or_default();
    let found = survey::discover(&ctx.env, &[], &ctx.roots);
    let is_root = |root: &PathBuf| root.canonicalize().is_ok_and(|root| folder.starts_with(root));
    if found.roots.iter().any(is_root) {
        return Err(Failure::new(format!("`{shown}` is inside Gemini CLI's own folder"))
            .hint("choose a place outside of it"));
    }
    Ok(())
}

/// All of it or nothing: a file beside the target is written, then takes its place.
fn save(
    output: &Path,
    force: bool,
    content: impl FnOnce(&mut io::BufWriter<&mut File>) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = interrupt::make(|| new_file(folder_of(output)), NamedTempFile::path)?;
    let mut out = io::BufWriter::new(file.as_file_mut());
    content(&mut out)?;
    out.flush()?;
    drop(out);
    if force { file.persist(output) } else { file.persist_noclobber(output) }
        .map(|_| ())
        .map_err(|error| error.error)
}

/// A new file with the rights any new file has, not those of a private temporary one.
fn new_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".backstory-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn cannot_read(ctx: &Context, path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("cannot read `{}`", ctx.show(path))).because(error)
}

fn cannot_export(ctx: &Context, path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("cannot export `{}`", ctx.show(path))).because(error)
}

fn cannot_write(ctx: &Context, path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("cannot write `{}`", ctx.show(path))).because(error)
}
