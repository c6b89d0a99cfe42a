//! Adds up usage and costs by day, session, project, model and more.

use std::collections::BTreeSet;

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use crate::archive::{Archive, ArchiveError, CallRow};
use crate::model::{AgentId, Session, SessionId, Usage};
use crate::pricing::{Bill, Table};
use crate::time::Period;

/// The name of the model of calls that name none.
pub(super) const UNKNOWN: &str = "unknown";

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
    /// By window of five hours, as plans limit usage.
    Blocks,
    /// By session.
    Session,
    /// By the prompt that led to the call.
    Prompt,
    /// By project.
    Project,
    /// By project and git branch.
    Branch,
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
    pub const ALL: [Self; 13] = [
        Self::Daily,
        Self::Weekly,
        Self::Monthly,
        Self::Hourly,
        Self::Blocks,
        Self::Session,
        Self::Prompt,
        Self::Project,
        Self::Branch,
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
            Self::Blocks => "blocks",
            Self::Session => "session",
            Self::Prompt => "prompt",
            Self::Project => "project",
            Self::Branch => "branch",
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
        matches!(self, Self::Daily | Self::Weekly | Self::Monthly | Self::Hourly | Self::Blocks)
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
    pub sessions: Option<BTreeSet<SessionId>>,
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
    /// Selects all calls but those of saved chats and restore points, grouped, with every option off.
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
    /// The number of sessions of any kind that made one of the calls.
    pub sessions: u64,
    /// The tokens.
    pub usage: Usage,
    /// The costs.
    pub bill: Bill,
    /// The calls without a time of their own.
    pub undated: u64,
    /// The time of the first call, or the beginning of its quarter of an hour if sums were enough.
    pub first: Option<Timestamp>,
}

impl Sum {
    /// Adds calls and their cost. Sessions are counted separately.
    pub(super) fn add(&mut self, row: &CallRow<'_>, bill: &Bill) {
        self.calls += row.calls.count;
        self.usage += row.calls.usage;
        self.bill.add(bill);
        self.undated += row.undated;
        self.first = self.first.into_iter().chain(row.at).min();
    }
}

impl Sum {
    /// Adds the sum of calls of other sessions.
    pub(super) fn absorb(&mut self, other: &Self) {
        self.calls += other.calls;
        self.sessions += other.sessions;
        self.usage += other.usage;
        self.bill.add(&other.bill);
        self.undated += other.undated;
        self.first = self.first.into_iter().chain(other.first).min();
    }
}

/// One row of an answer.
#[derive(Debug, Clone)]
pub struct Row {
    /// The key of the group: a date, a model, an id; for a project its path, or its name if no path is known.
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
    /// The rows: periods in order, other groups with the most tokens first.
    pub rows: Vec<Row>,
    /// The sum of all rows.
    pub total: Sum,
    /// Models of the counted calls that have no price.
    pub unpriced_models: Vec<String>,
    /// The agents that made the calls.
    pub agents: Vec<AgentId>,
    /// The tokens of calls that no file records, as far as agents report them; not part of any sum.
    pub unrecorded: Usage,
}

/// Returns the tokens of calls that no file records. Their times and models are unknown: they belong to the
/// last call of their session.
pub(super) fn unrecorded(archive: &Archive, question: &Question) -> Result<Usage, ArchiveError> {
    if question.current || !question.models.is_empty() {
        return Ok(Usage::default());
    }
    let is_chosen = |id: &SessionId| question.sessions.as_ref().is_none_or(|ids| ids.contains(id));
    let is_within = |last: Option<i64>| {
        let at = last.and_then(|last| Timestamp::from_millisecond(last).ok());
        at.map_or(question.period.is_everything(), |at| question.period.contains(at))
    };
    let found = archive.unrecorded()?.into_iter();
    let found = found.filter(|(id, surplus)| is_chosen(id) && is_within(surplus.last));
    Ok(found.map(|(_, surplus)| surplus.usage).sum())
}

/// The costs of sessions, by their ids.
#[derive(Debug, Clone, Default)]
pub struct Costs(FxHashMap<SessionId, Bill>);

impl Costs {
    /// Returns the cost of a session; one without calls costs nothing.
    pub fn of(&self, session: &str) -> Bill {
        self.0.get(session).copied().unwrap_or_default()
    }
}

/// Returns the cost of each session.
pub(super) fn session_costs(archive: &Archive, prices: &Table) -> Result<Costs, ArchiveError> {
    let mut bills: FxHashMap<i64, Bill> = FxHashMap::default();
    archive.each_sum(&Period::default(), |row| {
        bills.entry(row.session).or_default().add(&bill(row, prices));
    })?;
    let sessions = archive.session_keys()?;
    let ids = bills.into_iter().filter_map(|(n, bill)| Some((sessions.get(&n)?.id.clone(), bill)));
    Ok(Costs(ids.collect()))
}

/// Returns the costs of some sessions.
pub(super) fn costs_of<'a>(
    archive: &Archive,
    prices: &Table,
    sessions: impl IntoIterator<Item = &'a Session>,
) -> Result<Costs, ArchiveError> {
    let mut costs = FxHashMap::default();
    for session in sessions {
        let mut sum = Bill::default();
        archive.each_sum_of(&session.id, |row| sum.add(&bill(row, prices)))?;
        costs.insert(session.id.clone(), sum);
    }
    Ok(Costs(costs))
}

/// Prices the calls of a row.
pub(super) fn bill(row: &CallRow<'_>, prices: &Table) -> Bill {
    let bill = prices.bill_calls(row.model, row.at, &row.calls);
    Bill { at_least: row.at_least, ..bill }
}

/// Returns the models that calls name, with `unknown` for calls that name none.
pub fn models(archive: &Archive) -> Result<Vec<String>, ArchiveError> {
    let named = archive.called_models()?.into_iter();
    let mut models: Vec<String> = named.map(|model| model.unwrap_or(UNKNOWN.to_owned())).collect();
    models.sort();
    models.dedup();
    Ok(models)
}
