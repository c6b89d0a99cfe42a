//! Defines the conditions on messages besides their words: `project:shop role:user since:7d`.

use std::borrow::Cow;

use jiff::{Timestamp, Zoned};

use super::field::Where;
use crate::model::{Fate, MessageKind, Role, Session, SessionKind};
use crate::time::{self, Period};
use crate::tools::tool_name;

/// Conditions that must all hold; for one key, any of its values is enough.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    conditions: Vec<Condition>,
    /// The period in which messages must lie.
    pub period: Period,
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// The key, such as `project`.
    pub key: &'static str,
    /// The value it is compared with.
    pub value: String,
    /// Whether it must not hold.
    pub negated: bool,
}

/// The keys of conditions.
const KEYS: [&str; 11] = [
    "project", "model", "tool", "role", "kind", "where", "session", "tag", "fate", "since", "until",
];

/// The key of a condition on the session's kind: `kind:` applies to messages or to sessions.
const SESSION_KIND: &str = "session kind";

impl Condition {
    /// Returns the key that a word begins with, and its length including the colon.
    pub(super) fn key(word: &str) -> Option<(&'static str, usize)> {
        let (key, _) = word.split_once(':')?;
        let known = KEYS.into_iter().find(|known| *known == key)?;
        Some((known, known.len() + 1))
    }
}

/// The traits of a message without its text.
#[derive(Debug, Clone)]
pub struct MessageTraits<'a> {
    /// The time of the message.
    pub at: Option<Timestamp>,
    /// The key of its kind.
    pub kind: Cow<'a, str>,
    /// The key of its fate.
    pub fate: Cow<'a, str>,
    /// The model that wrote it.
    pub model: Option<Cow<'a, str>>,
    /// The names of the tools it called.
    pub tools: Cow<'a, str>,
}

impl Filters {
    /// Adds a condition. Returns an explanation if it can never hold.
    pub fn add(
        &mut self,
        key: &'static str,
        value: &str,
        negated: bool,
        now: &Zoned,
    ) -> Result<(), String> {
        if matches!(key, "since" | "until") {
            let period = time::parse_period(value, now);
            let Some((start, end)) = period.filter(|_| !negated) else {
                return Err(if negated {
                    format!("`{key}:` cannot be turned round")
                } else {
                    format!("`{value}` is not a time; write {}", time::FORMS)
                });
            };
            if key == "since" {
                self.period.since = Some(start);
            } else {
                self.period.until = Some(end);
            }
            return Ok(());
        }
        let known = known_values(key);
        let value = value.to_lowercase();
        if !known.is_empty() && !known.contains(&value.as_str()) {
            return Err(format!("`{key}:` is one of {}", known.join(", ")));
        }
        let key = if key == "kind" && is_session_kind(&value) { SESSION_KIND } else { key };
        self.conditions.push(Condition { key, value, negated });
        Ok(())
    }

    /// Returns the number of conditions.
    pub fn len(&self) -> usize {
        self.conditions.len()
            + usize::from(self.period.since.is_some())
            + usize::from(self.period.until.is_some())
    }

    /// Returns whether there are no conditions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether the conditions with a key hold: any of the values, and none of the negated
    /// ones.
    fn holds(&self, key: &str, mut is: impl FnMut(&str) -> bool) -> bool {
        let (mut asked, mut any) = (false, false);
        for condition in self.conditions.iter().filter(|condition| condition.key == key) {
            let fits = is(&condition.value);
            if condition.negated && fits {
                return false;
            }
            asked |= !condition.negated;
            any |= !condition.negated && fits;
        }
        any || !asked
    }

    /// Returns the conditions on session names, which the caller must resolve.
    pub fn sessions(&self) -> impl Iterator<Item = &Condition> {
        self.conditions.iter().filter(|condition| condition.key == "session")
    }

    /// Returns the fields to search.
    pub fn fields(&self) -> Vec<Where> {
        Where::ALL
            .into_iter()
            .filter(|field| self.holds("where", |name| name == field.name()))
            .collect()
    }

    /// Returns whether a session is selected, regardless of its text; `session:` is not checked.
    pub fn takes_session(&self, session: &Session) -> bool {
        let project = |wanted: &str| session.project.matches(wanted);
        let overlaps =
            match (session.started.or(session.updated), session.updated.or(session.started)) {
                (Some(from), Some(to)) => self.period.overlaps(from, to.max(from)),
                _ => true,
            };
        overlaps
            && self.holds("project", project)
            && self.holds("tag", |tag| session.tags.iter().any(|has| has.to_lowercase() == tag))
            && self.holds(SESSION_KIND, |name| name == session.kind.name())
    }

    /// Returns whether any condition depends on the message.
    pub fn asks_messages(&self) -> bool {
        let of_message =
            |c: &Condition| matches!(c.key, "model" | "tool" | "role" | "fate" | "kind");
        !self.period.is_everything() || self.conditions.iter().any(of_message)
    }

    /// Returns whether a condition asks for a tool.
    pub fn asks_for_tool(&self, tool: &str) -> bool {
        let mut asked = self.conditions.iter().filter(|c| c.key == "tool" && !c.negated);
        asked.any(|condition| is_called(tool, &condition.value.to_lowercase()))
    }

    /// Returns whether a message is selected. A message without a model uses those of its session.
    pub fn takes(&self, about: &MessageTraits<'_>, session: &Session) -> bool {
        let role = MessageKind::ALL
            .into_iter()
            .find(|kind| kind.name() == about.kind)
            .map(MessageKind::role);
        let has = |text: &str, wanted: &str| text.to_lowercase().contains(wanted);
        let model = |wanted: &str| match &about.model {
            Some(model) => has(model, wanted),
            None => session.models.iter().any(|model| has(model, wanted)),
        };
        let tool =
            |wanted: &str| about.tools.split_whitespace().any(|name| is_called(name, wanted));
        about.at.map_or(self.period.is_everything(), |at| self.period.contains(at))
            && self.holds("role", |wanted| role.is_some_and(|role| role.name() == wanted))
            && self.holds("kind", |wanted| about.kind == wanted)
            && self.holds("fate", |wanted| about.fate == wanted)
            && self.holds("model", model)
            && self.holds("tool", tool)
    }
}

/// Returns whether a tool has a name, in lower case: its own, its label, its canonical name or its category.
fn is_called(tool: &str, wanted: &str) -> bool {
    let name = tool_name(tool, None);
    let known = [name.name.as_str(), &name.label, name.canonical, name.category];
    known.iter().any(|known| known.to_lowercase() == wanted)
}

fn is_session_kind(name: &str) -> bool {
    SessionKind::ALL.into_iter().any(|kind| kind.name() == name)
}

/// Returns the possible values of a condition; empty if it accepts any.
fn known_values(key: &str) -> Vec<&'static str> {
    match key {
        "role" => [Role::User, Role::Assistant, Role::Tool, Role::System].map(Role::name).to_vec(),
        "fate" => Fate::ALL.map(Fate::name).to_vec(),
        "where" => Where::ALL.map(Where::name).to_vec(),
        "kind" => MessageKind::ALL
            .map(MessageKind::name)
            .into_iter()
            .chain(SessionKind::ALL.map(SessionKind::name))
            .collect(),
        _ => Vec::new(),
    }
}
