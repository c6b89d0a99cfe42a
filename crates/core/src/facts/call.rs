//! One billed model request, as one source records it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{Service, Usage};

/// A model request and its billed usage. Its model is that of its message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFacts {
    /// The billed tokens of the message's own model.
    pub usage: Usage,
    /// The conditions under which it was served.
    pub service: Service,
    /// Whether the usage is a lower bound, because the final numbers never reached the file.
    pub at_least: bool,
    /// Whether the file only repeats a call that another session made.
    pub is_inherited: bool,
    /// Whether the file has a later line above it, so that it may only repeat a call of another session at the
    /// same time.
    pub is_outdated: bool,
    /// Whether it is an additional line item of another call, and does not count as one.
    pub is_extra: bool,
    /// Rare data, boxed to keep the struct small.
    extra: Option<Box<Extra>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Extra {
    lines: Vec<BilledLine>,
    problems: Vec<String>,
    other_keys: Vec<Box<str>>,
    aliases: Vec<Box<str>>,
}

/// Identifies a message, and the call that it answers, among all sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallKey {
    /// The message is only known within its session.
    #[default]
    Local,
    /// All copies of the message have its id.
    Message,
    /// A key made by the agent's reader; messages of one agent with equal keys are one call.
    Id(Box<str>),
}

/// Another item on the bill of a call: another model or service that took part in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BilledLine {
    /// The model, if it is known.
    pub model: Option<Arc<str>>,
    /// The billed tokens.
    pub usage: Usage,
}

impl CallFacts {
    /// Returns a call with only its usage.
    pub fn new(usage: Usage) -> Self {
        Self { usage, ..Self::default() }
    }

    /// Returns the items billed beyond the model's own usage.
    pub fn lines(&self) -> &[BilledLine] {
        self.extra.as_ref().map_or(&[], |extra| &extra.lines)
    }

    /// Returns the problems of the recorded numbers.
    pub fn problems(&self) -> &[String] {
        self.extra.as_ref().map_or(&[], |extra| &extra.problems)
    }

    /// Returns the keys under which the sessions that it may be copied from would have it, the nearest first.
    pub fn other_keys(&self) -> &[Box<str>] {
        self.extra.as_ref().map_or(&[], |extra| &extra.other_keys)
    }

    /// Adds the keys under which other sessions may have it.
    #[must_use]
    pub fn with_other_keys(mut self, keys: Vec<Box<str>>) -> Self {
        if !keys.is_empty() {
            self.extra.get_or_insert_default().other_keys = keys;
        }
        self
    }

    /// Returns the further keys of the call: copies of it may have one of them instead of its own.
    pub fn aliases(&self) -> &[Box<str>] {
        self.extra.as_ref().map_or(&[], |extra| &extra.aliases)
    }

    /// Adds a further key of the call.
    pub fn add_alias(&mut self, key: Box<str>) {
        self.extra.get_or_insert_default().aliases.push(key);
    }

    /// Sets the conditions under which it was served.
    #[must_use]
    pub fn with_service(mut self, service: Service) -> Self {
        self.service = service;
        self
    }

    /// Adds further items to the bill.
    #[must_use]
    pub fn with_lines(mut self, lines: Vec<BilledLine>) -> Self {
        if !lines.is_empty() {
            self.extra.get_or_insert_default().lines = lines;
        }
        self
    }

    /// Adds problems of the recorded numbers.
    #[must_use]
    pub fn with_problems(mut self, problems: Vec<String>) -> Self {
        if !problems.is_empty() {
            self.extra.get_or_insert_default().problems = problems;
        }
        self
    }

    /// Merges another record of the same call. Numbers only grow while an answer arrives, so the
    /// largest of each is right; records that are copies of one another agree anyway.
    pub fn merge(&mut self, other: &Self) {
        self.usage = self.usage.max(other.usage);
        self.service = self.service.max(other.service);
        self.at_least &= other.at_least;
        self.is_inherited &= other.is_inherited;
        self.is_outdated &= other.is_outdated;
        self.is_extra &= other.is_extra;
        if self.lines().len() < other.lines().len() {
            *self = std::mem::take(self).with_lines(other.lines().to_vec());
        }
    }

    /// Returns the total usage billed for the call.
    pub fn total_usage(&self) -> Usage {
        self.usage + self.lines().iter().map(|line| line.usage).sum()
    }
}
