//! One billed model request, as one source records it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::Usage;

/// A model request and what was billed for it. Its model is that of its message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFacts {
    pub usage: Usage,
    /// The final numbers never reached the file: the usage is a lower bound.
    pub at_least: bool,
    /// The file only repeats a call that another session made.
    pub is_inherited: bool,
    /// What few calls have.
    extra: Option<Box<Extra>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Extra {
    lines: Vec<BilledLine>,
    problems: Vec<String>,
}

/// Identifies a message, and the call that it is the answer to, among all sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallKey {
    /// The message is known within its session only.
    #[default]
    Local,
    /// Its id is the same wherever copies of it are.
    Message,
    /// A key that the agent's reader made; messages of one agent with equal keys are one call.
    Id(Box<str>),
}

/// A further position on the bill of a call: another model or service that took part in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BilledLine {
    pub model: Option<Arc<str>>,
    pub usage: Usage,
}

impl CallFacts {
    /// Returns a call of which nothing but its usage is known.
    pub fn new(usage: Usage) -> Self {
        Self { usage, ..Self::default() }
    }

    /// Returns what was billed beyond the model's own usage.
    pub fn lines(&self) -> &[BilledLine] {
        self.extra.as_ref().map_or(&[], |extra| &extra.lines)
    }

    /// Returns what is wrong with the recorded numbers.
    pub fn problems(&self) -> &[String] {
        self.extra.as_ref().map_or(&[], |extra| &extra.problems)
    }

    /// Adds further positions to the bill.
    #[must_use]
    pub fn with_lines(mut self, lines: Vec<BilledLine>) -> Self {
        if !lines.is_empty() {
            self.extra.get_or_insert_default().lines = lines;
        }
        self
    }

    /// Adds what is wrong with the recorded numbers.
    #[must_use]
    pub fn with_problems(mut self, problems: Vec<String>) -> Self {
        if !problems.is_empty() {
            self.extra.get_or_insert_default().problems = problems;
        }
        self
    }

    /// Merges another record of the same call. The numbers only grow while an answer arrives, so the
    /// largest of each is right; records that are copies of one another agree anyway.
    pub fn merge(&mut self, other: &Self) {
        self.usage = self.usage.max(other.usage);
        self.at_least &= other.at_least;
        self.is_inherited &= other.is_inherited;
        if self.lines().len() < other.lines().len() {
            *self = std::mem::take(self).with_lines(other.lines().to_vec());
        }
    }

    /// Returns all that was billed for the call.
    pub fn total_usage(&self) -> Usage {
        self.usage + self.lines().iter().map(|line| line.usage).sum()
    }
}
