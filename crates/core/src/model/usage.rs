//! Tokens of a model call, in our buckets.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Disjoint buckets: their sum is the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Fresh input: what came from the cache is taken out.
    pub input: u64,
    pub cached: u64,
    /// Without thoughts.
    pub output: u64,
    pub thoughts: u64,
    /// The prompt side of tool use; priced as input.
    pub tool: u64,
    /// What the agent's own total has beyond the buckets.
    pub other: u64,
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.input + self.cached + self.output + self.thoughts + self.tool + self.other
    }
}

/// The buckets and their sum, as documents have them.
#[derive(Debug, Clone, Serialize)]
pub struct UsageRow {
    #[serde(flatten)]
    usage: Usage,
    total: u64,
}

impl UsageRow {
    pub fn new(usage: &Usage) -> Self {
        Self { usage: *usage, total: usage.total() }
    }
}

impl Add for Usage {
    type Output = Self;
    fn add(self, more: Self) -> Self {
        Self {
            input: self.input.saturating_add(more.input),
            cached: self.cached.saturating_add(more.cached),
            output: self.output.saturating_add(more.output),
            thoughts: self.thoughts.saturating_add(more.thoughts),
            tool: self.tool.saturating_add(more.tool),
            other: self.other.saturating_add(more.other),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
