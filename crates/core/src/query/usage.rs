//! Adds up usage and costs by day, session, project, model and more.

use std::collections::{BTreeSet, HashMap};

use rusqlite::Row as SqlRow;

use crate::archive::{Archive, ArchiveError, bill, sums_suffice};
use crate::model::usage::COLUMNS as BUCKETS;
use crate::model::{Bucket, Usage};
use crate::pricing::{Bill, Table};
use crate::time::Period;

/// The grouping of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// By day.
    Daily,
    /// By week.
    Weekly,
    /// By month.
    Monthly,
    /// By hour.
    Hourly,
    /// By session.
    Session,
    /// By the prompt that led to the call.
    Prompt,
    /// By project.
    Project,
    /// By model.
    Model,
    /// By kind of session.
    Kind,
    /// By agent.
    Agent,
    /// By machine.
    Machine,
}

impl Group {
    /// All groupings.
    pub const ALL: [Self; 11] = [
        Self::Daily,
        Self::Weekly,
        Self::Monthly,
        Self::Hourly,
        Self::Session,
        Self::Prompt,
        Self::Project,
        Self::Model,
        Self::Kind,
        Self::Agent,
        Self::Machine,
    ];

    /// Returns the name for the command line and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Daily => "daily",
            Self::Weekly => "weekly",
            Self::Monthly => "monthly",
            Self::Hourly => "hourly",
            Self::Session => "session",
            Self::Prompt => "prompt",
            Self::Project => "project",
            Self::Model => "model",
            Self::Kind => "kind",
            Self::Agent => "agent",
            Self::Machine => "machine",
        }
    }

    /// Returns the grouping with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.name() == name)
    }

    /// Returns whether its keys are periods of time.
    pub fn is_time(self) -> bool {
        matches!(self, Self::Daily | Self::Weekly | Self::Monthly | Self::Hourly)
    }

    fn key(self, rollup: bool) -> &'static str {
        match self {
            Self::Daily => "time_key(at, '%Y-%m-%d')",
            Self::Weekly => "time_key(at, '%G-W%V')",
            Self::Monthly => "time_key(at, '%Y-%m')",
            Self::Hourly => "time_key(at, '%Y-%m-%dT%H')",
            Self::Session if rollup => "coalesce(sessions.parent, sessions.id)",
            Self::Session => "sessions.id",
            Self::Prompt => "coalesce(asked, 'none')",
            Self::Project => "sessions.project",
            Self::Model => "coalesce(model, 'unknown')",
            Self::Kind => "sessions.kind",
            Self::Agent => "sessions.agent",
            Self::Machine => "sessions.machine",
        }
    }
}

/// The calls to add up.
#[derive(Debug, Clone)]
pub struct Question {
    /// The grouping.
    pub group: Group,
    /// The period to count.
    pub period: Period,
    /// The ids of the sessions to count; none for all.
    pub sessions: Option<BTreeSet<String>>,
    /// Parts of model names; one must match.
    pub models: Vec<String>,
    /// Whether each row contains rows by model.
    pub breakdown: bool,
    /// Whether the usage of subagents counts for the session that started them.
    pub rollup: bool,
    /// Whether only calls count that the agent would still load.
    pub current: bool,
    /// Whether saved chats and restore points count, which repeat calls of a session.
    pub checkpoints: bool,
}

impl Question {
    /// Selects everything but saved chats, grouped.
    pub fn new(group: Group) -> Self {
        Self {
            group,
            period: Period::default(),
            sessions: None,
            models: Vec::new(),
            breakdown: false,
            rollup: false,
            current: false,
            checkpoints: false,
        }
    }
}

/// A sum of calls.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    /// The number of calls.
    pub calls: u64,
    /// The number of sessions.
    pub sessions: u64,
    /// The tokens.
    pub usage: Usage,
    /// The costs.
    pub bill: Bill,
    /// The calls without a time of their own.
    pub undated: u64,
}

impl Sum {
    /// Adds another sum, except for sessions, which are counted separately.
    fn plus(mut self, other: &Self) -> Self {
        self.calls += other.calls;
        self.usage += other.usage;
        self.bill.add(&other.bill);
        self.undated += other.undated;
        self
    }
}

/// One row of an answer.
#[derive(Debug, Clone)]
pub struct Row {
    /// The key of the group.
    pub key: String,
    /// The typed text of a prompt.
    pub text: Option<String>,
    /// The sum of its calls.
    pub sum: Sum,
    /// The rows by model, if requested.
    pub models: Vec<Row>,
}

/// The answer to a question.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The rows.
    pub rows: Vec<Row>,
    /// The sum of all rows.
    pub total: Sum,
    /// Models of the counted calls that have no price.
    pub unpriced_models: Vec<String>,
}

/// Returns the columns of a sum.
fn columns() -> String {
    let buckets: String = Bucket::ALL.map(|bucket| format!(", sum({})", bucket.name())).concat();
    format!("sum(calls), count(DISTINCT session), sum(undated), {}{buckets}", bill_column())
}

/// Returns the column that contains the cost of calls.
fn bill_column() -> String {
    format!("bill(model, at, prompt, calls, caching, at_least, {BUCKETS})")
}

/// The number of columns of a sum.
const WIDTH: usize = 4 + Bucket::ALL.len();

/// Answers a question.
pub(super) fn usage(
    archive: &Archive,
    question: &Question,
    prices: &Table,
) -> Result<Answer, ArchiveError> {
    let is_prompt = question.group == Group::Prompt;
    // Most questions need only sums. Prompts and the current view need single calls.
    let by_call = is_prompt || question.current || !sums_suffice(&question.period, prices);
    if by_call {
        archive.spread_calls(&question.period)?;
    }
    let table = if by_call { "temp.calls" } else { "rollup" };
    let chosen = choose(archive, question)?;
    let from = format!("FROM {table} JOIN sessions ON number = session WHERE {chosen}");
    let key = question.group.key(question.rollup);
    let text = if is_prompt { "min(asked_text)" } else { "NULL" };
    let sql =
        format!("SELECT {}, {key} AS key, {text} {from} GROUP BY key ORDER BY key", columns());
    let mut statement = archive.db.prepare(&sql)?;
    let rows = statement.query_map([], |row| {
        Ok(Row {
            key: row.get(WIDTH)?,
            text: row.get(WIDTH + 1)?,
            sum: sum(row)?,
            models: Vec::new(),
        })
    })?;
    let mut rows = rows.collect::<Result<Vec<Row>, _>>()?;
    if !question.group.is_time() {
        rows.sort_by_key(|row| (std::cmp::Reverse(row.sum.usage.total()), row.key.clone()));
    }
    if question.breakdown {
        break_down(archive, key, &from, &mut rows)?;
    }
    if question.group == Group::Machine {
        let labels = archive.machine_labels()?;
        for row in &mut rows {
            row.key = labels.get(&row.key).cloned().unwrap_or_else(|| std::mem::take(&mut row.key));
        }
    }
    // The rows add up to the total, but a session may be in several of them.
    let mut total = rows.iter().fold(Sum::default(), |total, row| total.plus(&row.sum));
    let sessions = format!("SELECT count(DISTINCT session) {from}");
    total.sessions =
        archive.db.query_row(&sessions, [], |row| row.get::<_, i64>(0))?.cast_unsigned();
    Ok(Answer { rows, total, unpriced_models: unpriced(archive, &from, prices)? })
}

/// Returns the condition that selects the calls to count.
fn choose(archive: &Archive, question: &Question) -> Result<String, ArchiveError> {
    let mut conditions = vec!["1".to_owned()];
    if !question.checkpoints {
        conditions.push("sessions.kind != 'checkpoint'".to_owned());
    }
    if let Some(sessions) = &question.sessions {
        archive.db.execute_batch(
            "DROP TABLE IF EXISTS temp.chosen;
             CREATE TEMP TABLE chosen (id TEXT PRIMARY KEY) WITHOUT ROWID;",
        )?;
        let mut insert = archive.db.prepare("INSERT INTO chosen VALUES (?1)")?;
        for id in sessions {
            insert.execute([id])?;
        }
        conditions.push("sessions.id IN chosen".to_owned());
    }
    // Part of the name, ignoring case; `%` and `_` in it are literal.
    let like = |model: &String| {
        let model = model.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let quoted = format!("%{model}%").replace('\'', "''");
        format!("coalesce(model, 'unknown') LIKE '{quoted}' ESCAPE '\\'")
    };
    if !question.models.is_empty() {
        let models: Vec<String> = question.models.iter().map(like).collect();
        conditions.push(format!("({})", models.join(" OR ")));
    }
    if let Some(since) = question.period.since {
        conditions.push(format!("at >= {}", since.as_millisecond()));
    }
    if let Some(until) = question.period.until {
        conditions.push(format!("at < {}", until.as_millisecond()));
    }
    if question.current {
        conditions.push("current".to_owned());
    }
    Ok(conditions.join(" AND "))
}

fn break_down(
    archive: &Archive,
    key: &str,
    from: &str,
    rows: &mut [Row],
) -> Result<(), ArchiveError> {
    let model = Group::Model.key(false);
    let sql = format!(
        "SELECT {}, {model} AS model_key, {key} AS key {from} \
         GROUP BY key, model_key ORDER BY key, sum(input + cached) DESC, model_key",
        columns()
    );
    let mut statement = archive.db.prepare(&sql)?;
    let parts = statement.query_map([], |row| {
        let part = Row { key: row.get(WIDTH)?, text: None, sum: sum(row)?, models: Vec::new() };
        Ok((row.get::<_, String>(WIDTH + 1)?, part))
    })?;
    let places: HashMap<String, usize> =
        rows.iter().enumerate().map(|(at, row)| (row.key.clone(), at)).collect();
    for part in parts {
        let (key, part) = part?;
        if let Some(at) = places.get(&key) {
            rows[*at].models.push(part);
        }
    }
    Ok(())
}

fn sum(row: &SqlRow<'_>) -> rusqlite::Result<Sum> {
    let number = |n: usize| {
        let number = row.get::<_, Option<i64>>(n)?.unwrap_or(0);
        Ok::<u64, rusqlite::Error>(u64::try_from(number).unwrap_or(0))
    };
    let mut column = 4..;
    Ok(Sum {
        calls: number(0)?,
        sessions: number(1)?,
        undated: number(2)?,
        bill: bill(row, 3)?,
        usage: Usage::try_from_buckets(|_| column.next().map_or(Ok(0), number))?,
    })
}

fn unpriced(archive: &Archive, from: &str, prices: &Table) -> Result<Vec<String>, ArchiveError> {
    let sql = format!("SELECT DISTINCT coalesce(model, 'unknown') {from} ORDER BY 1");
    let mut statement = archive.db.prepare(&sql)?;
    let models = statement.query_map([], |row| row.get::<_, String>(0))?;
    let models = models.collect::<Result<Vec<String>, _>>()?;
    Ok(models.into_iter().filter(|model| prices.lookup(model, None).is_none()).collect())
}

/// The costs of sessions, by their ids.
#[derive(Debug, Clone, Default)]
pub struct Costs(HashMap<String, Bill>);

impl Costs {
    /// Returns the cost of a session; one without calls costs nothing.
    pub fn of(&self, session: &str) -> Bill {
        self.0.get(session).copied().unwrap_or_default()
    }
}

/// Returns the cost of each session.
pub(super) fn session_costs(archive: &Archive) -> Result<Costs, ArchiveError> {
    let mut statement = archive.db.prepare(&format!(
        "SELECT id, {} FROM rollup JOIN sessions ON number = session GROUP BY session",
        bill_column()
    ))?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, bill(row, 1)?)))?;
    Ok(Costs(rows.collect::<Result<_, _>>()?))
}

/// Returns the models that calls name, with `unknown` for calls that name none.
pub fn models(archive: &Archive) -> Result<Vec<String>, ArchiveError> {
    let mut statement = archive.db.prepare(
        "SELECT DISTINCT coalesce(model, 'unknown') FROM rollup JOIN sessions ON number = session
         WHERE kind != 'checkpoint' ORDER BY 1",
    )?;
    Ok(statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}
