//! Reads token counts as Codex CLI records them.

use serde::{Deserialize, Serialize};

use super::object::Object;
use crate::model::Usage;

/// The recorded numbers. Input includes tokens read from or written to the cache; output includes reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tokens {
    input: u64,
    cached: u64,
    cache_write: u64,
    output: u64,
    reasoning: u64,
    total: u64,
}

impl Tokens {
    /// Reads the numbers of a usage object. Missing numbers count as 0.
    pub(crate) fn read(object: &Object<'_>) -> Self {
        let number = |name: &str| object.number(name).unwrap_or(0);
        Self {
            input: number("input_tokens"),
            cached: number("cached_input_tokens"),
            cache_write: number("cache_write_input_tokens"),
            output: number("output_tokens"),
            reasoning: number("reasoning_output_tokens"),
            total: number("total_tokens"),
        }
    }

    fn numbers(&self) -> [u64; 6] {
        [self.input, self.cached, self.cache_write, self.output, self.reasoning, self.total]
    }

    /// Returns whether the numbers are those of a model call rather than an estimate.
    pub(crate) fn is_call(&self) -> bool {
        self.input > 0 || self.output > 0
    }

    /// Returns the difference to earlier numbers; `None` if any number is smaller.
    pub(crate) fn growth(&self, before: &Self) -> Option<Self> {
        Some(Self {
            input: self.input.checked_sub(before.input)?,
            cached: self.cached.checked_sub(before.cached)?,
            cache_write: self.cache_write.checked_sub(before.cache_write)?,
            output: self.output.checked_sub(before.output)?,
            reasoning: self.reasoning.checked_sub(before.reasoning)?,
            total: self.total.checked_sub(before.total)?,
        })
    }

    /// Returns whether each number is at least as large as its counterpart.
    pub(crate) fn covers(&self, others: &Self) -> bool {
        self.numbers().iter().zip(others.numbers()).all(|(own, other)| *own >= other)
    }

    /// Returns the numbers in disjoint buckets.
    pub(crate) fn usage(&self) -> Usage {
        let cached = self.cached.min(self.input);
        let cache_write_5m = self.cache_write.min(self.input - cached);
        let thoughts = self.reasoning.min(self.output);
        Usage {
            input: self.input - cached - cache_write_5m,
            cached,
            cache_write_5m,
            output: self.output - thoughts,
            thoughts,
            ..Usage::default()
        }
    }

    /// Returns a key that is equal for equal numbers.
    pub(crate) fn key(&self) -> String {
        self.numbers().map(|number| number.to_string()).join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_disjoint() {
        let text = r#"{"input_tokens":100,"cached_input_tokens":60,"cache_write_input_tokens":10,
            "output_tokens":50,"reasoning_output_tokens":20,"total_tokens":150}"#;
        let usage = Tokens::read(&Object::read(text).unwrap()).usage();
        assert_eq!((usage.input, usage.cached, usage.cache_write_5m), (30, 60, 10));
        assert_eq!((usage.output, usage.thoughts, usage.total()), (30, 20, 150));
    }

    #[test]
    fn numbers_that_cannot_be_right_never_underflow() {
        let text = r#"{"input_tokens":5,"cached_input_tokens":60,"output_tokens":1,"reasoning_output_tokens":9}"#;
        assert_eq!(Tokens::read(&Object::read(text).unwrap()).usage().total(), 6);
    }
}
