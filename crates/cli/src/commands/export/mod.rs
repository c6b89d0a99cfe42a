mod csv;
mod format;
mod manifest;
mod many;
mod name;
mod native;
mod rows;
pub(crate) mod target;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::PathBuf;

use backstory_core::assemble::SessionFacts;
use backstory_core::export::events::Choice;
use backstory_core::export::{self, Agent, Document, Options, html, json, markdown};
use backstory_core::model::{Message, Session};
use backstory_core::query::usage::Costs;
use clap::ValueEnum;
use jiff::tz::TimeZone;

use self::format::Format;
use self::name::Names;
use super::events::Stream;
use super::redact::Censor;
use super::show::ViewArg;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::Filters;
use crate::library::Library;
use crate::output::Printer;

const EXAMPLES: &str = "\
Examples:
  backstory export latest -o session.html
                        a self-contained page to send to somebody
  backstory export 3f2a --format markdown > session.md
  backstory export --all --format markdown -o sessions/
                        every session in its own file, and an index
  backstory export -p shop --since 7d --format html -o shop/
  backstory export ~/old/session-2026-08-01T10-00-3f2a91c7.jsonl --format gemini -o session.json
                        a single file, wherever it is; `gemini --session-file session.json` reads it
  backstory export --all --format csv --rows tools -o tools.csv
  backstory export 3f2a --format gemini | jq '.messages | length'";

/// Export sessions as Markdown, HTML, JSON, CSV and more
///
/// A session is named by its id or a unique prefix of it, by `latest` or `@N`, or by the name of one of its
/// files. A path is read by itself, whatever state the file is in. `--all`, or filters instead of a
/// session, export many sessions: one file per session in the folder given with `-o`, named by day,
/// project, title and id. `gemini` exports the file that Gemini CLI would load.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// A session, or a file
    #[arg(value_name = "FILE|SESSION")]
    session: Option<OsString>,

    /// Export every session that matches the filters
    #[arg(long, conflicts_with = "session")]
    all: bool,

    #[command(flatten)]
    filters: Filters,

    /// The format to write [default: that of the file's name]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// The messages to include; `gemini` always exports the current ones
    #[arg(long, value_enum, default_value = "full")]
    view: ViewArg,

    /// Include the model's thoughts (`html` has them anyway, folded)
    #[arg(long)]
    thoughts: bool,

    /// Include the whole input and output of tools, which `markdown` and `html` cut
    #[arg(long)]
    tool_output: bool,

    /// Include notices, injected context and summaries
    #[arg(long)]
    info: bool,

    /// Include tokens and cost of each reply
    #[arg(long)]
    tokens: bool,

    /// The rows of `csv`
    #[arg(long, value_enum, default_value = "calls")]
    rows: Rows,

    /// Write to this file instead of standard output; for many sessions, a folder
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Replace existing files
    #[arg(long)]
    force: bool,

    /// Keep secrets; by default they are removed and counted (docs/redaction.md)
    #[arg(long)]
    no_redact: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rows {
    /// Model calls
    Calls,
    /// Tool calls
    Tools,
    /// Sessions
    Sessions,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Export) -> Result<Exit> {
    super::require_given(ctx)?;
    let mut session = args.session.clone();
    if session.is_none() && !args.all && args.filters.is_empty() {
        session = super::browse::choose(ctx, printer)?;
    }
    let session = session.as_deref();
    if session.is_none() && !args.all && args.filters.is_empty() {
        return Err(Failure::new("no session was named")
            .hint("name one: its id, `latest`, `@N`, or a file")
            .hint("or many: `--all`, `--project NAME`, `--since 7d`"));
    }
    let format = format::choose(args.format, args.output.as_deref(), session.is_some())?;
    if args.rows != Rows::Calls && format != Format::Csv {
        return Err(Failure::new("`--rows` works only with `--format csv`"));
    }
    let is_file = format.is_rows() || session.is_some();
    if let Some(output) = args.output.as_deref().filter(|_| is_file) {
        target::check_file(ctx, output, args.force)?;
    }
    let rules = if args.no_redact { None } else { Some(super::redact::rules(ctx)?) };
    let censor = Censor::new(rules.as_ref());
    let exit = match (format, session) {
        (Format::Calls | Format::Csv, session) => {
            rows::run(ctx, printer, args, format, session, &censor)
        }
        (Format::Events, session) => {
            let events = Stream::open(ctx, printer, session, &args.filters, &[])?;
            events.require_some(ctx)?;
            let period = args.filters.period(ctx)?;
            let choice = Choice { period, ..Choice::default() };
            target::put(ctx, printer, args, &censor, |out| {
                events.write(&choice, &censor, out).map(|_| ())
            })?;
            Ok(events.finish(ctx, printer))
        }
        (_, None) => many::run(ctx, printer, args, format, &censor),
        (Format::Gemini, Some(session)) => native::one(ctx, printer, args, session, &censor),
        (_, Some(session)) => one(ctx, printer, args, format, session, &censor),
    }?;
    censor.note_removed(printer);
    Ok(exit)
}

/// Exports one session, with its subagents at the calls that started them.
fn one(
    ctx: &Context,
    printer: &mut Printer,
    args: &Export,
    format: Format,
    session: &OsStr,
    censor: &Censor<'_>,
) -> Result<Exit> {
    let (library, assembled) = super::open_session(ctx, printer, session)?;
    let names = Names::new();
    let writer = Writer::new(ctx, args, format, &library, &names, censor)?;
    target::put(ctx, printer, args, censor, |out| writer.session(&assembled, out))?;
    super::note_faults(printer, &library);
    Ok(super::exit_code(ctx, &library))
}

/// Exports a session to a new file, redacted, in the format of its name, or as Markdown.
pub(super) fn to_file(
    ctx: &Context,
    library: &Library,
    assembled: &SessionFacts,
    path: &std::path::Path,
) -> Result<()> {
    let format = document_format(path)?;
    target::check_file(ctx, path, false)?;
    let rules = super::redact::rules(ctx)?;
    let censor = Censor::new(Some(&rules));
    let writer = Writer {
        library,
        costs: library.costs()?,
        format,
        view: ViewArg::Full,
        options: Options::default(),
        zone: &ctx.zone,
        names: &Names::new(),
        censor: &censor,
    };
    target::put_file(ctx, path, false, &censor, |out| writer.session(assembled, out))
}

/// Returns the format of a document that a person reads or keeps, by the ending of its name.
pub(super) fn document_format(path: &std::path::Path) -> Result<Format> {
    use Format::{Html, Json, Jsonl, Markdown};
    let usual = Format::of_file(path).first().copied();
    usual.filter(|format| matches!(format, Markdown | Html | Json | Jsonl)).ok_or_else(|| {
        let name = path.display();
        Failure::new(format!("`{name}` does not end in `.md`, `.html`, `.json` or `.jsonl`"))
    })
}

/// Writes sessions in the requested format.
struct Writer<'a, 'r> {
    library: &'a Library,
    costs: Costs,
    format: Format,
    view: ViewArg,
    options: Options,
    zone: &'a TimeZone,
    /// The sessions that are exported to files of their own.
    names: &'a Names,
    censor: &'a Censor<'r>,
}

impl<'a, 'r> Writer<'a, 'r> {
    fn new(
        ctx: &'a Context,
        args: &Export,
        format: Format,
        library: &'a Library,
        names: &'a Names,
        censor: &'a Censor<'r>,
    ) -> Result<Self> {
        let Export { view, thoughts, tool_output, info, tokens, .. } = *args;
        let options = Options { thoughts, tool_output, info, tokens };
        let costs = library.costs()?;
        Ok(Self { library, costs, format, view, options, zone: &ctx.zone, names, censor })
    }

    fn session(&self, assembled: &SessionFacts, out: &mut dyn Write) -> io::Result<()> {
        if self.format == Format::Gemini {
            return native::of(assembled, self.library, self.censor, out);
        }
        let (session, messages) = self.read(assembled)?;
        if self.censor.is_rehearsing() {
            return self.read_agents(&messages, 0);
        }
        let prices = &self.library.prices;
        let cost = self.costs.of(&session.id);
        let agents = |id: &str| self.agent(id);
        let document = Document {
            session: &session,
            messages: &messages,
            cost,
            options: &self.options,
            prices,
            zone: self.zone,
            agents: &agents,
        };
        match self.format {
            Format::Markdown => markdown::write(&document, out),
            Format::Html => html::write(&document, out),
            Format::Jsonl => json::write_lines(&session, cost, &messages, prices, out),
            Format::Json => json::write(&session, cost, &messages, prices, out),
            Format::Calls | Format::Csv | Format::Events | Format::Gemini => {
                Err(io::Error::other("this format is not written session by session"))
            }
        }
    }

    /// Reads a session and its messages, redacted.
    fn read(&self, assembled: &SessionFacts) -> io::Result<(Session, Vec<Message>)> {
        let Library { archive, all, .. } = self.library;
        let agents = |agent: &str| all.agent_session(agent);
        let mut messages = archive.reader().transcript(assembled, self.view.into(), &agents)?;
        all.tie_agents(&assembled.session, &mut messages);
        let mut session = assembled.session.clone();
        self.censor.clean(&mut session, &mut messages);
        Ok((session, messages))
    }

    /// Reads the subagents that would be written with these messages.
    fn read_agents(&self, messages: &[Message], depth: usize) -> io::Result<()> {
        if depth == export::DEEPEST || !matches!(self.format, Format::Markdown | Format::Html) {
            return Ok(());
        }
        let calls = messages.iter().flat_map(|message| &message.tool_calls);
        for id in calls.filter_map(|call| call.agent_session.as_deref()) {
            if let Some(Agent::Here(agent)) = self.agent(id)? {
                self.read_agents(&agent.1, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Returns a link if the subagent's session has a file of its own, and its whole session otherwise.
    fn agent(&self, id: &str) -> io::Result<Option<export::Agent>> {
        if let Some(name) = self.names.get(id) {
            return Ok(Some(Agent::Elsewhere(name.clone())));
        }
        let mut found = None;
        self.library.each(&[id.into()], |assembled| {
            found = Some(Agent::Here(Box::new(self.read(&assembled)?)));
            Ok(())
        })?;
        Ok(found)
    }
}
