//! Lists sessions.

use std::io::Write;
use std::sync::Arc;

use backstory_core::Session;
use backstory_core::export::json::SessionRow;
use backstory_core::export::sessions::{Document, plain};
use backstory_core::model::{AgentId, Bucket, SessionId, SessionKind, State, Usage};
use backstory_core::number::{count, json_time};
use backstory_core::pricing::Bill;
use backstory_core::project::{Project, Proof};
use backstory_core::search::{Form, each_token};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use postgres::Row;

use super::filters::{OWNER, ReportArgs};
use super::form::{Format, print_json, print_lines, print_plain};
use super::table::Table;
use super::{SUMS, open, sum};
use crate::error::Result;
use crate::postgres::connect::failure;

#[derive(Debug, Args)]
pub(crate) struct Sessions {
    #[command(flatten)]
    asking: ReportArgs,

    /// Only sessions with all these words in one message, where text was pushed
    #[arg(long, value_name = "WORDS", help_heading = "Filters")]
    grep: Option<String>,

    /// Only sessions that the agent has deleted
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

    /// List at most N sessions [default: 20; no limit with --json]
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
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

impl Sort {
    fn sql(self) -> &'static str {
        match self {
            Self::Updated => "s.updated DESC NULLS LAST",
            Self::Started => "s.started DESC NULLS LAST",
            Self::Tokens => {
                "input::numeric + cached + cache_write_5m + cache_write_1h + output + thoughts + tool + other
                    DESC NULLS LAST"
            }
            Self::Cost => "cost_pico::numeric DESC NULLS LAST",
            Self::Prompts => "s.prompts DESC",
            Self::Calls => "u.calls DESC NULLS LAST",
            Self::Tools => "t.tool_calls DESC NULLS LAST",
            Self::Project => "lower(s.project)",
        }
    }
}

/// Prints the list.
pub(crate) fn run(args: &Sessions, out: &mut dyn Write) -> Result<()> {
    let mut client = open(&args.asking)?;
    let now = args.asking.now()?;
    let chosen = args.asking.chosen(args.asking.period(&now)?);
    let sql = format!(
        "SELECT s.*, (extract(epoch FROM s.started) * 1000000)::bigint AS start,
            (extract(epoch FROM s.updated) * 1000000)::bigint AS update, u.*, t.tool_calls
         FROM (
            SELECT * FROM backstory.sessions_once
            WHERE CASE WHEN $3::text[] = '{{}}' THEN $10::boolean OR is_listed
                    ELSE kind = ANY($3) AND ($10 OR turns > 0 OR kind <> 'main') END
                AND {OWNER}
                AND ($6::text[] = '{{}}' OR EXISTS (
                    SELECT FROM unnest($6) AS w (word) WHERE strpos(lower(models), word) > 0))
                AND ($1::text IS NULL OR coalesce(updated, started) >= $1::text::timestamptz)
                AND ($2::text IS NULL OR coalesce(started, updated) < $2::text::timestamptz)
                AND (state = 'gone' OR NOT $11::boolean)
                AND ($12::text[] IS NULL OR (org, session) IN (SELECT org, session FROM backstory.search($12)))
         ) AS s
         LEFT JOIN (
            SELECT org AS call_org, session AS call_session, {SUMS} FROM backstory.costs GROUP BY org, session
         ) AS u ON u.call_org = s.org AND u.call_session = s.session
         LEFT JOIN (
            SELECT org, session, count(*) AS tool_calls FROM backstory.tool_calls_once GROUP BY org, session
         ) AS t ON t.org = s.org AND t.session = s.session
         ORDER BY {}, s.updated DESC NULLS LAST, s.session",
        args.sort.sql()
    );
    let words = args.grep.as_deref().map(words);
    let mut parameters = chosen.parameters().to_vec();
    let more: [&(dyn postgres::types::ToSql + Sync); 3] = [&args.all, &args.gone, &words];
    parameters.extend(more);
    let rows = client.query(&sql, &parameters).map_err(|error| failure(&error))?;
    let mut sessions: Vec<(Session, Bill)> = rows.iter().map(session).collect();
    if args.reverse {
        sessions.reverse();
    }
    let format = args.asking.form.format();
    sessions.truncate(args.limit.unwrap_or(if format == Format::Table { 20 } else { usize::MAX }));
    let rows = sessions.iter().map(|(session, bill)| (session, *bill));
    match format {
        Format::Table => table(&sessions).print(out),
        Format::Json => print_json(out, &Document::new(rows)),
        Format::Jsonl => {
            print_lines(out, rows.map(|(session, bill)| SessionRow::new(session, bill)))
        }
        Format::Csv | Format::Md => print_plain(out, &plain(rows), format),
    }
}

/// Returns the tokens of words, as they are indexed.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    each_token(text, &mut |token| {
        if matches!(token.form, Form::Word | Form::Pair) {
            words.push(token.text.to_owned());
        }
    });
    words
}

/// Returns a session as far as it left its machine.
fn session(row: &Row) -> (Session, Bill) {
    let text = |name: &str| row.get::<_, Option<String>>(name);
    let number = |name: &str| {
        let number: Option<i64> = row.get(name);
        number.and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
    };
    let time = |name: &str| {
        row.get::<_, Option<i64>>(name).and_then(|at| Timestamp::from_microsecond(at).ok())
    };
    let project = Project {
        name: text("project").unwrap_or_default(),
        path: None,
        proof: Proof::None,
        hash: None,
        dir: None,
    };
    let sum = sum(row);
    let agent = AgentId::new(&text("agent").unwrap_or_default());
    let id = text("session").unwrap_or_default().into();
    let mut session = Session::new(id, agent, Arc::new(project));
    let named = |name: String| move |kind: &SessionKind| kind.name() == name;
    if let Some(kind) = SessionKind::ALL.into_iter().find(named(text("kind").unwrap_or_default())) {
        session.kind = kind;
    }
    let state = text("state").unwrap_or_default();
    if let Some(state) =
        [State::Live, State::Gone, State::LogOnly].into_iter().find(|known| known.name() == state)
    {
        session.state = state;
    }
    session.parent = text("parent").map(SessionId::from);
    session.forked_from = text("forked_from").map(SessionId::from);
    session.branch = text("branch");
    session.started = time("start");
    session.updated = time("update");
    session.summary = text("title");
    session.prompts = number("prompts");
    session.turns = number("turns");
    session.messages_full = number("messages");
    session.calls = usize::try_from(sum.calls).unwrap_or(usize::MAX);
    session.tool_calls = number("tool_calls");
    session.subagents = number("subagents");
    session.faults = number("faults");
    let models = text("models").unwrap_or_default();
    session.models = models.split_whitespace().map(str::to_owned).collect();
    session.usage = sum.usage;
    session.unrecorded = unrecorded(row);
    session.machine = text("machine").unwrap_or_default();
    (session, sum.bill)
}

fn unrecorded(row: &Row) -> Option<Usage> {
    let mut usage = Usage::default();
    for bucket in Bucket::ALL {
        let tokens: Option<i64> = row.get(&*format!("unrecorded_{}", bucket.name()));
        *usage.get_mut(bucket) = tokens?.cast_unsigned();
    }
    Some(usage)
}

fn table(sessions: &[(Session, Bill)]) -> Table {
    let headings = ["SESSION", "UPDATED", "AGENT", "PROJECT", "TITLE", "PROMPTS", "TOKENS", "COST"];
    let mut table = Table::new(headings, 5);
    for (session, bill) in sessions {
        table.row(&[
            session.id.to_string(),
            session.updated.map(json_time).unwrap_or_default(),
            session.agent.to_string(),
            session.project.name.clone(),
            session.summary.clone().unwrap_or_default(),
            count(session.prompts as u64),
            count(session.usage.total()),
            bill.short().unwrap_or_default(),
        ]);
    }
    table
}
