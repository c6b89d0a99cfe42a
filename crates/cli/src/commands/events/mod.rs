mod follow;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};

use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::export::events::{Choice, EventCursor, write_new};
use backstory_core::model::{EventType, Session, SessionId, SessionKind, State};
use backstory_core::query::Filter;
use backstory_core::time::Period;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::redact::Censor;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::{Filters, Kind};
use crate::library::Library;
use crate::output::Printer;

const EXAMPLES: &str = "\
Examples:
  backstory events latest                   the events of the newest conversation
  backstory events --since today --types all
                                            all events of today, replies and costs included
  backstory events --types tool_use | jq -r .canonical | sort | uniq -c
  backstory events ~/old/checkpoint-plan.json
  backstory events --follow                 new events, in any session
  backstory events --follow --since today   the events of today first

docs/events.md describes each type.";

/// Print sessions as a stream of events, one JSON object per line
///
/// Prints prompts, tool uses and their results in the same form for every kind of file: old and new
/// sessions, saved chats, shared histories. `seq` counts within a session without gaps, and `at` never goes
/// back. Without a session, all sessions are printed, oldest first.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Events {
    /// A session, or a file
    #[arg(value_name = "SESSION")]
    session: Option<OsString>,

    #[command(flatten)]
    filters: Filters,

    /// Only sessions of these kinds; saved chats only when asked for
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Filters")]
    kind: Vec<Kind>,

    /// The types of events, or `all` [default: start, end, prompts, tools and their results]
    #[arg(long, value_delimiter = ',', value_name = "TYPE", value_parser = types())]
    types: Vec<Types>,

    /// Follow sessions until Ctrl-C; earlier events are printed only with `--since`
    #[arg(long, short)]
    follow: bool,

    /// Keep secrets; by default they are removed and counted (docs/redaction.md)
    #[arg(long)]
    no_redact: bool,
}

/// Parses one type, or `all`.
#[derive(Debug, Clone, Copy)]
enum Types {
    All,
    One(EventType),
}

fn types() -> impl TypedValueParser<Value = Types> {
    const ALL: &str = "all";
    let names = EventType::ALL.map(EventType::name).into_iter().chain([ALL]);
    PossibleValuesParser::new(names).try_map(|name| match EventType::named(&name) {
        Some(one) => Ok(Types::One(one)),
        None if name == ALL => Ok(Types::All),
        None => Err("unknown type"),
    })
}

impl Events {
    fn choice(&self, period: Period) -> Choice {
        let types: Vec<EventType> = self
            .types
            .iter()
            .flat_map(|types| match types {
                Types::All => EventType::ALL.to_vec(),
                Types::One(one) => vec![*one],
            })
            .collect();
        let types = if types.is_empty() { Choice::default().types } else { types };
        Choice { types, period }
    }
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Events) -> Result<Exit> {
    super::require_given(ctx)?;
    let rules = if args.no_redact { None } else { Some(super::redact::rules(ctx)?) };
    let censor = Censor::new(rules.as_ref());
    let choice = args.choice(args.filters.period(ctx)?);
    let events = Stream::open(ctx, printer, args.session.as_deref(), &args.filters, &args.kind)?;
    if args.follow {
        follow::run(ctx, printer, args.session.as_deref(), choice, events, &censor)?;
        censor.note_removed(printer);
        return Ok(Exit::Success);
    }
    events.require_some(ctx)?;
    let mut out = printer.data()?;
    let written = events
        .write(&choice, &censor, &mut out)
        .and_then(|written| out.flush().map(|()| written))
        .map_err(|error| Failure::new("cannot read the events").because(error))?;
    drop(out);
    censor.note_removed(printer);
    let exit = events.finish(ctx, printer);
    Ok(if written == 0 { Exit::NoMatch } else { exit })
}

/// The sessions whose events are printed.
pub(super) struct Stream {
    library: Library,
    wanted: Wanted,
}

enum Wanted {
    /// A session by its id.
    One(SessionId),
    Fitting(Box<Filter>),
}

impl Stream {
    /// Opens one session, or without a name all sessions that match.
    pub(super) fn open(
        ctx: &Context,
        printer: &mut Printer,
        session: Option<&OsStr>,
        filters: &Filters,
        kinds: &[Kind],
    ) -> Result<Self> {
        if let Some(session) = session {
            let (library, assembled) = super::open_session(ctx, printer, session)?;
            return Ok(Self { library, wanted: Wanted::One(assembled.session.id) });
        }
        let library = Library::open(ctx, printer, &filters.project)?;
        let mut filter = filters.filter(ctx, &library.all)?;
        // Saved chats repeat the content of a session.
        filter.kinds = match kinds {
            [] => vec![SessionKind::Main, SessionKind::Subagent, SessionKind::Background],
            kinds => kinds.iter().map(|kind| (*kind).into()).collect(),
        };
        Ok(Self { library, wanted: Wanted::Fitting(Box::new(filter)) })
    }

    /// Fails if there are no sessions at all.
    pub(super) fn require_some(&self, ctx: &Context) -> Result<()> {
        let all = &self.library.all;
        if all.sessions.is_empty() { Err(super::empty(ctx, &all.found)) } else { Ok(()) }
    }

    /// Returns the ids of the chosen sessions, the oldest first.
    fn chosen(&self) -> Vec<SessionId> {
        let filter = match &self.wanted {
            Wanted::One(id) => return vec![id.clone()],
            Wanted::Fitting(filter) => filter,
        };
        // Sessions that are known only from a prompt log have no events, and are not listed by default
        // either.
        let fits = |session: &&Session| session.state != State::LogOnly && filter.takes(session);
        let mut fitting: Vec<&Session> = self.library.all.sessions.iter().filter(fits).collect();
        fitting.sort_by_key(|session| (session.started.is_none(), session.started));
        fitting.into_iter().map(|session| session.id.clone()).collect()
    }

    /// Writes the chosen events of each session; returns their number.
    pub(super) fn write(
        &self,
        choice: &Choice,
        censor: &Censor<'_>,
        out: &mut dyn Write,
    ) -> io::Result<u64> {
        let mut written = 0;
        self.library.each(&self.chosen(), |assembled| {
            written +=
                self.write_new(assembled, choice, censor, &mut EventCursor::default(), out)?;
            Ok(())
        })?;
        Ok(written)
    }

    /// Writes the chosen events of a session that were not written before.
    fn write_new(
        &self,
        mut assembled: SessionFacts,
        choice: &Choice,
        censor: &Censor<'_>,
        cursor: &mut EventCursor,
        out: &mut dyn Write,
    ) -> io::Result<u64> {
        let Library { archive, prices, .. } = &self.library;
        let mut messages = archive.reader().transcript(&assembled, View::Full, &|_| None)?;
        censor.clean(&mut assembled.session, &mut messages);
        censor.clean_files(&mut assembled.files);
        write_new(&assembled, &messages, prices, choice, cursor, out)
    }

    pub(super) fn finish(&self, ctx: &Context, printer: &mut Printer) -> Exit {
        super::note_faults(printer, &self.library);
        super::exit_code(ctx, &self.library)
    }
}
