//! The list of sessions: its rows, and which of them are shown.

use std::collections::{HashMap, HashSet};

use backstory_core::collection::Collection;
use backstory_core::model::{Session, SessionId, State};
use backstory_core::pricing::Bill;
use backstory_core::query::usage::Costs;
use jiff::Timestamp;

use super::field::Field;
use super::state::Tab;

/// A session that changed within this many seconds counts as running.
const RUNNING: i64 = 120;

/// One session, as far as a list needs it.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) id: SessionId,
    pub(super) short: String,
    pub(super) agent: String,
    pub(super) project: String,
    pub(super) path: Option<String>,
    pub(super) updated: Option<Timestamp>,
    pub(super) cost: Bill,
    pub(super) tokens: u64,
    pub(super) prompts: usize,
    pub(super) title: String,
    pub(super) name: Option<String>,
    pub(super) tags: Vec<String>,
    /// Whether the agent has deleted its files.
    pub(super) is_gone: bool,
    /// The text that the filter searches, in lower case.
    pub(super) text: String,
}

impl Row {
    pub(super) fn new(all: &Collection, session: &Session, costs: &Costs, agent: &str) -> Self {
        let title = session.title().0;
        let first = session.first_prompt.as_deref().unwrap_or_default();
        let mut words = vec![&*title, first, &session.project.name, agent, &session.id];
        words.extend(session.tags.iter().map(String::as_str));
        Self {
            text: words.join("\n").to_lowercase(),
            id: session.id.clone(),
            short: all.short(session),
            agent: agent.to_owned(),
            project: session.project.name.clone(),
            path: session.project.path.clone(),
            updated: session.updated,
            cost: costs.of(&session.id),
            tokens: session.usage.total(),
            prompts: session.prompts,
            title,
            name: session.name.clone(),
            tags: session.tags.clone(),
            is_gone: !matches!(session.state, State::Live),
        }
    }

    /// Returns whether it seems to be in use.
    pub(super) fn is_running(&self, now: Timestamp) -> bool {
        let age = self.updated.map(|at| now.as_second() - at.as_second());
        !self.is_gone && age.is_some_and(|age| (-RUNNING..RUNNING).contains(&age))
    }

    /// Returns whether its project is a folder or contains it.
    fn is_in(&self, folder: &str) -> bool {
        let below = |path: &str| {
            folder.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.path.as_deref().is_some_and(below)
    }
}

/// The order of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Time,
    Cost,
    Tokens,
}

impl Sort {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Time => "newest first",
            Self::Cost => "by cost",
            Self::Tokens => "by tokens",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Time => Self::Cost,
            Self::Cost => Self::Tokens,
            Self::Tokens => Self::Time,
        }
    }
}

/// A set of sessions that another screen selected.
#[derive(Debug, Clone)]
pub(super) struct Chip {
    pub(super) label: String,
    /// The cost of each session within it.
    pub(super) costs: HashMap<SessionId, Bill>,
    /// The number of subagents that are not listed; the session that started them has their cost.
    pub(super) subagents: u64,
    /// The tab that it leads back to.
    pub(super) from: Tab,
}

/// The result of searching the text of all sessions.
#[derive(Debug, Clone)]
pub(super) struct InText {
    pub(super) sessions: HashSet<SessionId>,
    /// Similar words that occur, if nothing was found.
    pub(super) meant: Option<String>,
}

/// The list of sessions and its conditions.
#[derive(Debug)]
pub(super) struct List {
    pub(super) field: Field,
    /// The id of the selected session, which stays selected when rows move.
    pub(super) selected: Option<SessionId>,
    /// Whether the user selected it. Otherwise the first row stays selected, except in the order of time.
    pub(super) is_chosen: bool,
    pub(super) scroll: usize,
    /// Whether only the sessions of this folder are listed.
    pub(super) is_here: bool,
    pub(super) agent: Option<String>,
    pub(super) sort: Sort,
    pub(super) only_gone: bool,
    pub(super) has_preview: bool,
    pub(super) preview_scroll: usize,
    pub(super) chip: Option<Chip>,
    /// The places of the rows that match.
    pub(super) shown: Vec<usize>,
    /// The number of those at the beginning whose title or first prompt matches; the text of the others does.
    pub(super) titles: usize,
    /// What the text of sessions contains of the field; `None` until it was searched.
    pub(super) in_text: Option<InText>,
}

impl List {
    pub(super) fn new() -> Self {
        Self {
            field: Field::default(),
            selected: None,
            is_chosen: false,
            scroll: 0,
            is_here: false,
            agent: None,
            sort: Sort::Time,
            only_gone: false,
            has_preview: true,
            preview_scroll: 0,
            chip: None,
            shown: Vec::new(),
            titles: 0,
            in_text: None,
        }
    }

    /// Lists the sessions behind something else, whatever was listed before.
    pub(super) fn show_only(&mut self, chip: Chip) {
        self.field.clear();
        self.in_text = None;
        (self.is_here, self.only_gone, self.agent) = (false, false, None);
        (self.selected, self.is_chosen, self.scroll) = (None, false, 0);
        self.chip = Some(chip);
    }

    /// Returns what a session cost, within the set of sessions that is listed if there is one.
    pub(super) fn cost(&self, row: &Row) -> Bill {
        let within = self.chip.as_ref().and_then(|chip| chip.costs.get(&row.id));
        within.copied().unwrap_or(row.cost)
    }

    /// Returns whether something other than words narrows the list.
    pub(super) fn is_narrowed(&self) -> bool {
        self.is_here || self.only_gone || self.agent.is_some() || self.chip.is_some()
    }

    /// Removes the last condition. Returns the screen that it came from, if it did.
    pub(super) fn widen(&mut self) -> Option<Tab> {
        if std::mem::take(&mut self.only_gone)
            || self.agent.take().is_some()
            || std::mem::take(&mut self.is_here)
        {
            return None;
        }
        self.chip.take().map(|chip| chip.from)
    }

    /// Chooses and sorts the rows to show, and keeps the selection.
    pub(super) fn update(&mut self, rows: &[Row], here: Option<&str>) {
        let words: Vec<String> =
            self.field.text().split_whitespace().map(str::to_lowercase).collect();
        let passes = |row: &Row| {
            (!self.is_here || here.is_some_and(|here| row.is_in(here)))
                && self.agent.as_ref().is_none_or(|agent| row.agent == *agent)
                && (!self.only_gone || row.is_gone)
                && self.chip.as_ref().is_none_or(|chip| chip.costs.contains_key(&row.id))
        };
        let in_text =
            |row: &Row| self.in_text.as_ref().is_some_and(|found| found.sessions.contains(&row.id));
        let matches = |row: &Row| words.iter().all(|word| row.text.contains(word.as_str()));
        let (mut titles, mut texts) = (Vec::new(), Vec::new());
        for (place, row) in rows.iter().enumerate().filter(|(_, row)| passes(row)) {
            if matches(row) {
                titles.push(place);
            } else if in_text(row) {
                texts.push(place);
            }
        }
        let usd = |row: &Row| self.cost(row).usd.unwrap_or_default();
        for places in [&mut titles, &mut texts] {
            match self.sort {
                Sort::Time => {}
                Sort::Cost => places.sort_by_key(|at| std::cmp::Reverse(usd(&rows[*at]))),
                Sort::Tokens => places.sort_by_key(|at| std::cmp::Reverse(rows[*at].tokens)),
            }
        }
        self.titles = titles.len();
        titles.append(&mut texts);
        self.shown = titles;
        // The newest session stays under the cursor when there is a newer one.
        let is_first = !self.is_chosen && self.sort != Sort::Time;
        if is_first || self.place(rows).is_none() {
            self.selected = self.shown.first().map(|at| rows[*at].id.clone());
        }
    }

    /// Returns the place of the selected session among the shown rows.
    pub(super) fn place(&self, rows: &[Row]) -> Option<usize> {
        let id = self.selected.as_ref()?;
        self.shown.iter().position(|at| rows[*at].id == *id)
    }

    /// Returns the words if the selected session is listed because of its text, not its title.
    pub(super) fn words_in_text(&self, rows: &[Row]) -> Option<String> {
        let is_in_text = self.place(rows).is_some_and(|place| place >= self.titles);
        is_in_text.then(|| self.field.text().trim().to_owned())
    }

    /// Moves the selection.
    pub(super) fn step(&mut self, rows: &[Row], by: isize) {
        let Some(last) = self.shown.len().checked_sub(1) else { return };
        let place = self.place(rows).unwrap_or(0).saturating_add_signed(by).min(last);
        self.selected = Some(rows[self.shown[place]].id.clone());
        self.is_chosen = true;
        self.preview_scroll = 0;
    }

    pub(super) fn next_sort(&mut self) {
        self.sort = self.sort.next();
    }

    /// Chooses the next of the agents that have sessions, or all after the last.
    pub(super) fn next_agent(&mut self, rows: &[Row]) {
        let mut agents: Vec<&str> = rows.iter().map(|row| row.agent.as_str()).collect();
        agents.sort_unstable();
        agents.dedup();
        let next = match &self.agent {
            None => agents.first(),
            Some(agent) => agents.iter().find(|other| ***other > **agent),
        };
        self.agent = next.map(|agent| (*agent).to_owned());
    }
}
