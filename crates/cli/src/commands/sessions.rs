use std::collections::{HashMap, HashSet};

use backstory_core::collection::{Collection, newest_first};
use backstory_core::export::json::SessionRow;
use backstory_core::export::sessions::{Document, plain};
use backstory_core::model::{Session, SessionId, SessionKind, State};
use backstory_core::query::Filter;
use backstory_core::query::usage::Costs;
use clap::ValueEnum;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::{Filters, Kind};
use crate::library::Library;
use crate::output::number::{count, date, plural};
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory sessions                       the latest conversations, newest first
  backstory sessions --since 7d -p harbor  the last 7 days, in the project harbor
  backstory sessions --grep 'berth calendar'
                                           sessions with both words in one message
  backstory sessions --sort cost --limit 5
  backstory sessions --gone                deleted by the agent, kept in the archive
  backstory sessions --kind subagent       the subagents that sessions started
  backstory sessions --json | jq -r '.sessions[].title'

Open one with `backstory show`: by the number in the first column (`@3`), by a prefix of its
id, or `latest`.";

/// List sessions: titles, times, projects, tokens and cost
///
/// Lists conversations, newest first. Subagents, saved chats and empty sessions are left out unless
/// `--kind` or `--all` asks for them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Sessions {
    #[command(flatten)]
    filters: Filters,

    /// Only sessions of these kinds
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Filters")]
    kind: Vec<Kind>,

    /// Only sessions that contain these words, in the syntax of `search`
    #[arg(long, value_name = "WORDS", help_heading = "Filters")]
    grep: Option<String>,

    /// Only sessions that the agent has deleted and the archive keeps (marked † in the list)
    #[arg(long, help_heading = "Filters")]
    gone: bool,

    /// List every kind, empty sessions, and sessions known only from prompt logs
    #[arg(long, help_heading = "Filters")]
    all: bool,

    /// The sort order
    #[arg(long, value_enum, default_value = "updated")]
    sort: Sort,

    /// Reverse the order
    #[arg(long)]
    reverse: bool,

    /// List at most N sessions [default: 20; no limit with --json and other formats]
    #[arg(long, short = 'n', value_name = "N", value_parser = crate::filters::limit)]
    limit: Option<usize>,

    /// The output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Last update, newest first
    Updated,
    /// Start, newest first
    Started,
    /// Tokens, most first
    Tokens,
    /// Cost, highest first
    Cost,
    /// Prompts, most first
    Prompts,
    /// Model calls, most first
    Calls,
    /// Tool calls, most first
    Tools,
    /// Project name, then newest first
    Project,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Sessions) -> Result<Exit> {
    super::require_given(ctx)?;
    let mut library = Library::open(ctx, printer, &args.filters.project)?;
    let words = match &args.grep {
        Some(words) => Some(super::search::sessions_with(ctx, printer, &mut library, words)?),
        None => None,
    };
    let mut filter = args.filters.filter(ctx, &library.all)?;
    filter.kinds = args.kind.iter().map(|kind| SessionKind::from(*kind)).collect();
    filter.all = args.all;
    let choice = Choice { args, filter, words };
    let format = args.format.or_json(ctx.json);
    let limit = args.limit.or((format == Format::Table).then_some(20)).unwrap_or(usize::MAX);
    let costs = library.costs_of_list(ctx, |all| {
        let mut sessions = choice.sessions(all, &Costs::default());
        // Which sessions are shown depends on the costs of all of them.
        if args.sort != Sort::Cost {
            sessions.truncate(limit);
        }
        sessions
    })?;
    let all = &library.all;
    let mut sessions = choice.sessions(all, &costs);
    let more = sessions.len().saturating_sub(limit);
    sessions.truncate(limit);
    print(ctx, printer, &library, &sessions, &costs, format)?;
    if sessions.is_empty() {
        if format == Format::Table {
            return Err(nothing(ctx, all, &args.filters));
        }
        return Ok(Exit::NoMatch);
    }
    if more > 0 && format == Format::Table {
        printer.note(format!(
            "{} more; `--limit {}` lists them all.",
            count(more as u64),
            sessions.len() + more
        ));
    }
    if format == Format::Table && sessions.iter().any(|session| session.state == State::Gone) {
        printer.note(
            "† deleted by the agent, kept in the archive: `backstory restore` brings it back.",
        );
    }
    super::note_faults(printer, &library);
    Ok(super::exit_code(ctx, &library))
}

/// The sessions that were asked for.
struct Choice<'a> {
    args: &'a Sessions,
    filter: Filter,
    /// The sessions that contain certain words.
    words: Option<HashSet<SessionId>>,
}

impl Choice<'_> {
    /// Returns the sessions in the order of the list.
    fn sessions<'a>(&self, all: &'a Collection, costs: &Costs) -> Vec<&'a Session> {
        let is_chosen = |session: &&Session| {
            self.filter.takes(session)
                && self.words.as_ref().is_none_or(|ids| ids.contains(&session.id))
                && (!self.args.gone || session.state == State::Gone)
        };
        let mut sessions: Vec<&Session> = all.sessions.iter().filter(is_chosen).collect();
        sort(&mut sessions, self.args.sort, costs);
        if self.args.reverse {
            sessions.reverse();
        }
        sessions
    }
}

fn sort(sessions: &mut [&Session], by: Sort, costs: &Costs) {
    newest_first(sessions);
    let most = |number: usize| std::cmp::Reverse(number);
    match by {
        Sort::Updated => {}
        Sort::Started => sessions.sort_by_key(|s| std::cmp::Reverse(s.started)),
        Sort::Tokens => sessions.sort_by_key(|s| std::cmp::Reverse(s.usage.total())),
        Sort::Cost => sessions.sort_by_key(|s| std::cmp::Reverse(costs.of(&s.id).usd)),
        Sort::Prompts => sessions.sort_by_key(|s| most(s.prompts)),
        Sort::Calls => sessions.sort_by_key(|s| most(s.calls)),
        Sort::Tools => sessions.sort_by_key(|s| most(s.tool_calls)),
        Sort::Project => sessions.sort_by_key(|s| s.project.name.to_lowercase()),
    }
}

fn print(
    ctx: &Context,
    printer: &mut Printer,
    library: &Library,
    sessions: &[&Session],
    costs: &Costs,
    format: Format,
) -> Result<()> {
    match format {
        Format::Json => {
            let sessions = library.with_prompts(sessions)?;
            printer.json(&Document::new(sessions.iter().map(|s| (s, costs.of(&s.id)))))?;
        }
        Format::Jsonl => {
            let sessions = library.with_prompts(sessions)?;
            printer.json_lines(sessions.iter().map(|s| SessionRow::new(s, costs.of(&s.id))))?;
        }
        Format::Csv | Format::Md => {
            printer.plain(&plain(sessions.iter().map(|s| (*s, costs.of(&s.id)))), format)?;
        }
        Format::Table if sessions.is_empty() => {}
        Format::Table => printer.rows(&table(ctx, &library.all, sessions, costs), format)?,
    }
    Ok(())
}

/// Builds the table for people: short ids, ages, and the numbers that `show @N` takes.
fn table(ctx: &Context, all: &Collection, sessions: &[&Session], costs: &Costs) -> Rows {
    let places: HashMap<&str, usize> =
        all.listed().iter().enumerate().map(|(n, session)| (session.id.as_str(), n)).collect();
    // Most people use one agent; its name on every line says nothing.
    let has_agents = all.sessions.windows(2).any(|pair| pair[0].agent != pair[1].agent);
    // A project that every row names is the first to go.
    let one_project = sessions.windows(2).all(|pair| pair[0].project.name == pair[1].project.name);
    let mut columns =
        vec![Column::number(""), Column::text("ID").spare(3), Column::text("UPDATED")];
    columns.extend(has_agents.then(|| Column::text("AGENT").spare(5)));
    columns.extend([
        Column::text("PROJECT").spare(if one_project { 7 } else { 2 }),
        Column::number("PROMPTS").spare(6),
        Column::number("TOKENS").spare(4),
        Column::number("COST").spare(1),
        Column::main("TITLE"),
    ]);
    let mut rows = Rows::new(columns);
    for session in sessions {
        let place = places.get(session.id.as_str());
        let (title, _) = session.title();
        let title = match session.kind {
            SessionKind::Main => title,
            kind => format!("[{}] {title}", kind.name()),
        };
        let mark = if session.state == State::Gone { "† " } else { "" };
        let tags: Vec<String> = session.tags.iter().map(|tag| format!("#{tag} ")).collect();
        let title = format!("{mark}{}{title}", tags.concat());
        let mut cells = vec![
            Cell::styled(style::DIM, place.map(|n| format!("@{}", n + 1)).unwrap_or_default()),
            Cell::styled(style::NAME, all.short(session)),
            Cell::age(session.updated, ctx.now),
        ];
        cells.extend(has_agents.then(|| session.agent.as_str().into()));
        cells.extend([
            session.project.name.as_str().into(),
            count(session.prompts as u64).into(),
            Cell::count(session.usage.total()),
            costs.of(&session.id).short().unwrap_or_else(|| "–".to_owned()).into(),
            title.into(),
        ]);
        rows.row(cells);
    }
    rows
}

/// Explains that nothing matches, and what would.
fn nothing(ctx: &Context, all: &Collection, filters: &Filters) -> Failure {
    let failure = super::nothing(ctx, all, filters, "no sessions match");
    if all.sessions.is_empty() || !failure.hints.is_empty() {
        return failure;
    }
    let listed = all.listed();
    let Some(newest) = listed.first() else {
        return failure.hint(format!(
            "`--all` also lists {} without a conversation",
            plural(all.sessions.len() as u64, "session", "sessions")
        ));
    };
    let when = newest.updated.map(|at| date(at, &ctx.zone)).unwrap_or_default();
    failure.hint(format!(
        "there are {}, the newest from {when}; `backstory sessions` lists them, `backstory projects` \
         the projects",
        plural(listed.len() as u64, "session", "sessions")
    ))
}
