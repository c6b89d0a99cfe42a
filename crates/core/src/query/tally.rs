//! Groups the calls that a question selects and adds them up.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::tz::TimeZone;
use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_128;

use super::usage::{Answer, Group, Question, Row, Sum, UNKNOWN, bill, unrecorded};
use crate::archive::{
    Archive, ArchiveError, CallRow, SessionKey, SessionKeys, Windows, rollup_answers,
};
use crate::model::{AgentId, Service, Session, SessionKind, Usage};
use crate::money::Usd;
use crate::pricing::{Bill, Table};

/// Answers a question; `list` contains all sessions, if they are loaded.
pub(super) fn usage(
    archive: &Archive,
    question: &Question,
    zone: &TimeZone,
    prices: &Table,
    list: Option<&[Session]>,
) -> Result<Answer, ArchiveError> {
    let mut answer = recorded(archive, question, zone, prices)?;
    if question.group == Group::Branch {
        let read = if list.is_none() { archive.session_list()? } else { Vec::new() };
        answer.rows = by_branch(answer.rows, list.unwrap_or(&read));
    }
    answer.unrecorded = unrecorded(archive, question)?;
    Ok(answer)
}

/// Answers a question without the calls that no file records. Sessions of a branch are not added up.
pub(super) fn recorded(
    archive: &Archive,
    question: &Question,
    zone: &TimeZone,
    prices: &Table,
) -> Result<Answer, ArchiveError> {
    let sessions = archive.session_keys()?;
    let mut tally = Tally::new(question, zone, prices, &sessions);
    if question.group == Group::Blocks {
        tally.windows = archive.windows()?;
    }
    // Most questions need only sums. Prompts and the current view need single calls.
    let needs_calls = question.group == Group::Prompt || question.current;
    if needs_calls || !rollup_answers(&question.period, prices) {
        archive.each_call(&question.period, |call| tally.add(call))?;
    } else {
        archive.each_sum(&question.period, |sum| tally.add(sum))?;
    }
    let mut answer = tally.answer();
    if question.group == Group::Machine {
        let labels = archive.machine_labels()?;
        for row in &mut answer.rows {
            row.key = labels.get(&row.key).cloned().unwrap_or_else(|| std::mem::take(&mut row.key));
        }
    }
    Ok(answer)
}

/// Returns the cost of each prompt that led to calls which a question selects; none for one without a price.
pub(super) fn prompt_costs(
    archive: &Archive,
    question: &Question,
    zone: &TimeZone,
    prices: &Table,
) -> Result<Vec<Option<Usd>>, ArchiveError> {
    let question = &Question { group: Group::Prompt, ..question.clone() };
    if question.current || !rollup_answers(&question.period, prices) {
        let prompts = recorded(archive, question, zone, prices)?.rows.into_iter();
        return Ok(prompts.filter(|row| row.text.is_some()).map(|row| row.sum.bill.usd).collect());
    }
    let sessions = archive.session_keys()?;
    let mut tally = Tally::new(question, zone, prices, &sessions);
    // Sessions may repeat a prompt of another one. Of its id a hash is enough.
    let mut costs: FxHashMap<u128, Option<Usd>> = FxHashMap::default();
    archive.each_prompt_sum(&question.period, |row, prompt| {
        let Some((_, _, bill)) = tally.select(row) else { return };
        let cost = costs.entry(xxh3_128(prompt.as_bytes())).or_default();
        *cost = (*cost).into_iter().chain(bill.usd).reduce(|a, b| a + b);
    })?;
    Ok(costs.into_values().collect())
}

/// Adds up rows of sessions by the project and the branch that a session worked on last. An agent that was started
/// by another one worked on its branch.
fn by_branch(rows: Vec<Row>, sessions: &[Session]) -> Vec<Row> {
    let by_id: HashMap<&str, &Session> = sessions.iter().map(|s| (s.id.as_str(), s)).collect();
    let mut out: BTreeMap<String, Row> = BTreeMap::new();
    for row in rows {
        let session = by_id.get(row.key.as_str());
        let parent = session.and_then(|session| by_id.get(session.parent.as_deref()?));
        let on = session.into_iter().chain(parent).find(|session| session.branch.is_some());
        let branch = on.and_then(|on| Some((&on.project.name, on.branch.as_ref()?)));
        let key = branch.map_or(NO_BRANCH.to_owned(), |(name, branch)| format!("{name}:{branch}"));
        match out.entry(key) {
            Entry::Vacant(place) => {
                let key = place.key().clone();
                place.insert(Row { key, ..row });
            }
            Entry::Occupied(mut known) => merge(known.get_mut(), row),
        }
    }
    let mut rows: Vec<Row> = out.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.sum.usage.total()));
    rows
}

/// Adds a row of other sessions to a row.
fn merge(into: &mut Row, row: Row) {
    into.sum.absorb(&row.sum);
    for part in row.models {
        match into.models.iter_mut().find(|known| known.key == part.key) {
            Some(known) => known.sum.absorb(&part.sum),
            None => into.models.push(part),
        }
    }
    into.models.sort_by_key(|row| Reverse(row.sum.usage.input + row.sum.usage.cached));
}

/// The key of sessions whose agent recorded no branch.
const NO_BRANCH: &str = "(no branch)";

struct Tally<'a> {
    question: &'a Question,
    zone: &'a TimeZone,
    prices: &'a Table,
    sessions: &'a SessionKeys,
    /// The windows of plans, if calls are grouped by them.
    windows: Windows,
    /// The models of calls, and of those that another provider answered.
    models: [FxHashMap<String, Model>; 2],
    groups: BTreeMap<String, Calls>,
    total: Counted,
}

/// A model that calls name.
#[derive(Clone, Copy)]
struct Model {
    is_selected: bool,
    has_price: bool,
}

/// The calls of one group.
#[derive(Default)]
struct Calls {
    all: Counted,
    /// The typed text of a prompt.
    text: Option<String>,
    by_model: BTreeMap<String, Counted>,
}

/// A sum, and the sessions that its calls are from.
#[derive(Default)]
struct Counted {
    sum: Sum,
    sessions: FxHashSet<i64>,
}

impl Counted {
    fn finish(mut self) -> Sum {
        self.sum.sessions = self.sessions.len() as u64;
        self.sum
    }
}

impl<'a> Tally<'a> {
    fn new(
        question: &'a Question,
        zone: &'a TimeZone,
        prices: &'a Table,
        sessions: &'a SessionKeys,
    ) -> Self {
        let (windows, groups) = (Windows::default(), BTreeMap::new());
        let models = [FxHashMap::default(), FxHashMap::default()];
        let total = Counted::default();
        Self { question, zone, prices, sessions, windows, models, groups, total }
    }

    /// Returns the session of calls, the name of their model and their cost, if the question selects them.
    fn select<'r>(&mut self, row: &CallRow<'r>) -> Option<(&'a SessionKey, &'r str, Bill)> {
        let session = self.sessions.get(&row.session)?;
        if !self.selects(session) || (self.question.current && !row.current) {
            return None;
        }
        let name = row.model.unwrap_or(UNKNOWN);
        let model = self.model(name, row.calls.service);
        if !model.is_selected {
            return None;
        }
        // An unpriced routing name is looked up only once.
        let row = CallRow { model: row.model.filter(|_| model.has_price), ..*row };
        Some((session, name, bill(&row, self.prices)))
    }

    fn add(&mut self, row: &CallRow<'_>) {
        let Some((session, name, bill)) = self.select(row) else { return };
        let key = self.key(row, session);
        let group = match self.groups.get_mut(key.as_ref()) {
            Some(group) => group,
            None => self.groups.entry(key.into_owned()).or_default(),
        };
        if let Some((_, text)) = row.prompt.filter(|_| self.question.group == Group::Prompt)
            && group.text.as_deref().is_none_or(|known| text < known)
        {
            group.text = Some(text.to_owned());
        }
        if self.question.breakdown {
            let part = match group.by_model.get_mut(name) {
                Some(part) => part,
                None => group.by_model.entry(name.to_owned()).or_default(),
            };
            part.sum.add(row, &bill);
            part.sessions.insert(row.session);
        }
        for counted in [&mut group.all, &mut self.total] {
            counted.sum.add(row, &bill);
            counted.sessions.insert(row.session);
        }
    }

    /// Returns the key of the group that calls belong to.
    fn key<'r>(&self, row: &CallRow<'r>, session: &'r SessionKey) -> Cow<'r, str> {
        let time = |pattern: &str| match row.at.map(|at| at.to_zoned(self.zone.clone())) {
            // Days are requested most often.
            Some(at) if pattern == DAY => Cow::Owned(at.date().to_string()),
            Some(at) => Cow::Owned(at.strftime(pattern).to_string()),
            None => Cow::Borrowed("undated"),
        };
        Cow::Borrowed(match self.question.group {
            Group::Daily => return time(DAY),
            Group::Weekly => return time("%G-W%V"),
            Group::Monthly => return time("%Y-%m"),
            Group::Hourly => return time("%Y-%m-%dT%H"),
            Group::Blocks => {
                let start = row.at.and_then(|at| self.windows.start(&session.agent, at));
                return start.map_or(Cow::Borrowed("undated"), |start| start.to_string().into());
            }
            Group::Session if self.question.rollup => {
                session.parent.as_deref().unwrap_or(&session.id)
            }
            Group::Session | Group::Branch => &session.id,
            Group::Prompt => row.prompt.map_or("none", |(id, _)| id),
            Group::Project => &session.project,
            Group::Model => row.model.unwrap_or(UNKNOWN),
            Group::Kind => session.kind.name(),
            Group::Agent => &session.agent,
            Group::Machine => &session.machine,
        })
    }

    fn selects(&self, session: &SessionKey) -> bool {
        let Question { sessions, checkpoints, .. } = self.question;
        (*checkpoints || session.kind != SessionKind::Checkpoint)
            && sessions.as_ref().is_none_or(|wanted| wanted.contains(&session.id))
    }

    /// Returns the properties of a model, which are looked up once.
    fn model(&mut self, name: &str, service: Service) -> Model {
        let models = &mut self.models[usize::from(service.is_elsewhere)];
        if let Some(model) = models.get(name) {
            return *model;
        }
        let service = Service { is_elsewhere: service.is_elsewhere, ..Service::default() };
        let wanted = &self.question.models;
        let lower = name.to_ascii_lowercase();
        let is_selected = wanted.is_empty()
            || wanted.iter().any(|wanted| lower.contains(&wanted.to_ascii_lowercase()));
        let has_price = self.prices.lookup_served(name, None, service).is_some();
        let model = Model { is_selected, has_price };
        models.insert(name.to_owned(), model);
        model
    }

    fn answer(self) -> Answer {
        let mut rows: Vec<Row> = self.groups.into_iter().map(row).collect();
        if !self.question.group.is_time() {
            // They are in the order of their keys.
            rows.sort_by_key(|row| Reverse(row.sum.usage.total()));
        }
        let models = self.models.into_iter().flatten();
        let unpriced = models.filter(|(_, model)| model.is_selected && !model.has_price);
        let mut unpriced_models: Vec<String> = unpriced.map(|(name, _)| name).collect();
        unpriced_models.sort();
        unpriced_models.dedup();
        let sessions = self.total.sessions.iter().filter_map(|number| self.sessions.get(number));
        let agents: BTreeSet<&str> = sessions.map(|session| &*session.agent).collect();
        let agents = agents.into_iter().map(AgentId::new).collect();
        let total = self.total.finish();
        Answer { rows, total, unpriced_models, agents, unrecorded: Usage::default() }
    }
}

fn row((key, calls): (String, Calls)) -> Row {
    let part = |(key, counted): (String, Counted)| Row {
        key,
        text: None,
        sum: counted.finish(),
        models: Vec::new(),
    };
    let mut models: Vec<Row> = calls.by_model.into_iter().map(part).collect();
    models.sort_by_key(|row| Reverse(row.sum.usage.input + row.sum.usage.cached));
    Row { key, text: calls.text, sum: calls.all.finish(), models }
}

/// The format of a day.
const DAY: &str = "%Y-%m-%d";
