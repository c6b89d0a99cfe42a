use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use backstory_core::agent::gemini::{self, Holds, Loaded, Shape, View, folder_project};
use backstory_core::export::events::Choice;
use backstory_core::export::gemini::{Fallback, write};
use backstory_core::export::json;
use backstory_core::fault::What;
use backstory_core::query::calls::{CallRow, calls};
use clap::ValueEnum;
use tempfile::NamedTempFile;

use super::events::Stream;
use super::show::ViewArg;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::Filters;
use crate::library::Library;
use crate::interrupt;
use crate::output::Printer;
use crate::output::number::plural;
use crate::survey;

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
    #[arg(value_name = "FILE|SESSION", required_unless_present = "all")]
    session: Option<OsString>,

    /// Every session that the filters take (for `calls`, `csv` and `events`)
    #[arg(long, conflicts_with = "session")]
    all: bool,

    #[command(flatten)]
    filters: Filters,

    /// The form to write
    #[arg(long, value_enum)]
    format: Format,

    /// Which messages, for `json` and `jsonl`; `gemini` is always the current ones
    #[arg(long, value_enum, default_value = "full")]
    view: ViewArg,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace the output file if it exists
    #[arg(long)]
    force: bool,

    /// Leave secrets in: without it they are taken out, and their number is told (docs/redaction.md)
    #[arg(long)]
    no_redact: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Our own document, complete: the session and every message (`backstory.session/1`)
    Json,
    /// The same a line each: the session, then its messages
    Jsonl,
    /// One line a model call: tokens, tools, commands, prompt, cost
    Calls,
    /// The same as a table for spreadsheets
    Csv,
    /// What happened, one line an event: prompts, tools and their results (`backstory events`)
    Events,
    /// Gemini CLI's own document, as `/export-session` writes it and `--session-file` reads it
    Gemini,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Export) -> Result<Exit> {
    super::require_given(ctx)?;
    if let Some(output) = &args.output {
        check_target(ctx, output, args.force)?;
    }
    match (args.format, &args.session) {
        (Format::Calls | Format::Csv, session) => call_rows(ctx, printer, args, session.as_deref()),
        (Format::Events, session) => {
            let events = Stream::open(ctx, printer, session.as_deref(), &args.filters, &[])?;
            let period = args.filters.filter(ctx)?.period;
            let choice = Choice { period, ..Choice::default() };
            put(ctx, printer, args, |out| events.write(&choice, out).map(|_| ()))?;
            Ok(events.finish(ctx, printer))
        }
        (Format::Gemini, Some(session)) => gemini_form(ctx, printer, args, session),
        (Format::Json | Format::Jsonl, Some(session)) => own_form(ctx, printer, args, session),
        (_, None) => Err(Failure::new("`--all` goes with `--format calls`, `csv` or `events`")
            .hint("name one session for the other formats")),
    }?;
    if let Some(redactor) = redactor {
        super::redact::tell(printer, &redactor.counts(), "taken out");
    }
    Ok(exit)
}

/// Takes the secrets out of what was read, before any format writes it.
fn redact(redactor: Option<&mut Redactor<'_>>, session: &mut Session, messages: &mut [Message]) {
    if let Some(redactor) = redactor {
        redactor.session(session);
        for message in messages {
            redactor.message(message);
        }
    }
}

/// The messages as the agent holds them.
fn gemini_form(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    session: &OsStr,
    redactor: Option<&mut Redactor<'_>>,
) -> Result<Exit> {
    let typed = Path::new(session);
    let is_file = typed.exists() && !typed.is_dir();
    let path = if is_file { typed.to_owned() } else { find(ctx, printer, session)? };
    let mut file = open(&path).map_err(|error| cannot_read(ctx, &path, error))?;
    let loaded = load(ctx, &path, &mut file)?;
    let fallback = fallback(&path);
    put(ctx, printer, args, |out| write_redacted(&loaded, &fallback, &mut file, redactor, out))?;
    tell_faults(ctx, printer, &path, &loaded);
    let is_faulty = !loaded.faults.is_clean();
    Ok(if ctx.strict && is_faulty { Exit::Nothing } else { Exit::Fine })
}

/// The session in our own form, complete.
fn own_form(ctx: &Context, printer: &mut Printer, args: &Export, session: &OsStr) -> Result<Exit> {
    let (library, assembled) = super::open_session(ctx, printer, session)?;
    let prices = &library.prices;
    let messages = library.messages(ctx, &assembled, args.view.into())?;
    let session = &assembled.session;
    put(ctx, printer, args, |out| match args.format {
        Format::Jsonl => json::write_lines(session, &messages, prices, out),
        _ => json::write(session, &messages, prices, out),
    })?;
    super::tell_faults(printer, &library);
    Ok(super::strictly(ctx, &library))
}

/// Model calls one by one, of one session or of many.
fn call_rows(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    session: Option<&OsStr>,
    mut redactor: Option<&mut Redactor<'_>>,
) -> Result<Exit> {
    let filter = args.filters.filter(ctx)?;
    let (library, ids) = if let Some(session) = session {
        let (library, assembled) = super::open_session(ctx, printer, session)?;
        (library, vec![assembled.session.id])
    } else {
        let library = Library::open(ctx, printer, &args.filters.project)?;
        let wanted = super::wanted_sessions(&library.all, &filter, &[]);
        let ids = super::counted(&library.all, wanted.as_ref(), &[]);
        (library, ids)
    };
    let is_csv = matches!(args.format, Format::Csv);
    put(ctx, printer, args, |out| {
        if is_csv {
            writeln!(out, "{}", csv::HEADER.join(","))?;
        }
        let mut row = |row: CallRow| {
            if is_csv {
                return writeln!(out, "{}", csv::line(&row));
            }
            serde_json::to_writer(&mut *out, &row)?;
            out.write_all(b"\n")
        };
        library.each(&ids, |assembled| {
            let messages = gemini::transcript(&assembled, View::Full, &library.archive, &|_| None)?;
            calls(&assembled, &messages, &library.prices, &filter, &mut row)
        })
    })?;
    super::tell_faults(printer, &library);
    Ok(super::strictly(ctx, &library))
}

/// A call as a line of comma-separated values.
mod csv {
    use backstory_core::query::calls::CallRow;

    pub(super) const HEADER: [&str; 14] = [
        "dedup_key",
        "agent",
        "session",
        "project",
        "timestamp",
        "model",
        "input_tokens",
        "output_tokens",
        "cached_input_tokens",
        "reasoning_tokens",
        "tools",
        "bash_commands",
        "user_message",
        "cost_usd",
    ];

    pub(super) fn line(row: &CallRow) -> String {
        let numbers =
            [row.input_tokens, row.output_tokens, row.cached_input_tokens, row.reasoning_tokens];
        let mut fields = vec![
            row.dedup_key.clone(),
            row.agent.to_owned(),
            row.session.clone(),
            row.project.clone(),
            row.timestamp.clone().unwrap_or_default(),
            row.model.clone().unwrap_or_default(),
        ];
        fields.extend(numbers.iter().map(u64::to_string));
        fields.push(row.tools.join(" "));
        fields.push(row.bash_commands.join("; "));
        fields.push(row.user_message.clone());
        fields.push(row.cost_usd.clone().unwrap_or_default());
        let fields: Vec<String> =
            fields.iter().map(|field| crate::output::rows::csv_field(field)).collect();
        fields.join(",")
    }
}

/// Writes to standard output, or to the file that was named.
fn put(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    match args.output.as_deref().filter(|output| *output != Path::new("-")) {
        None => {
            let mut out = printer.data()?;
            content(&mut out)
                .and_then(|()| out.flush())
                .map_err(|error| Failure::new("cannot export").because(error))
        }
        Some(output) => {
            save(output, args.force, content).map_err(|error| cannot_write(ctx, output, error))?;
            printer.detail(format!("wrote `{}`", ctx.show(output)));
            Ok(())
        }
    }
}

/// The file that Gemini CLI would load for a session.
fn find(ctx: &Context, printer: &mut Printer, name: &OsStr) -> Result<PathBuf> {
    let (_, assembled) = super::open_session(ctx, printer, name)?;
    let file = assembled.true_file.map(|at| &assembled.files[at].path).ok_or_else(|| {
        Failure::nothing(format!("the files of session `{}` are gone", assembled.session.id))
            .hint("only what was typed is left of it: `backstory show` has that")
    })?;
    if assembled.files.len() > 1 {
        printer.detail(format!(
            "the session is spread over {} files; Gemini CLI would load `{}`",
            assembled.files.len(),
            ctx.show(file)
        ));
    }
    Ok(file.clone())
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
    match gemini::read_conversation(file).map_err(cannot)? {
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
    let found = gemini::discover_given(path);
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
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
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

fn cannot_write(ctx: &Context, path: &Path, error: io::Error) -> Failure {
    Failure::new(format!("cannot write `{}`", ctx.show(path))).because(error)
}
