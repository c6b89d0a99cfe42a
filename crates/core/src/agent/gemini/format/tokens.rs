//! Reads the token counts of a message as Gemini CLI records them.

use crate::facts::CallFacts;
use crate::model::Usage;
use crate::read::json::{self, Raw};

/// Parses recorded token counts into a call.
pub(crate) fn call(raw: Raw<'_>) -> Option<CallFacts> {
    let tokens = Tokens::new(raw)?;
    Some(CallFacts::new(tokens.usage()).with_problems(tokens.problems()))
}

/// The largest plausible count; no prompt is that long.
const ABSURD: f64 = 1e9;

/// The limit to which counts are cut, so that one damaged number does not spoil all sums.
const MOST: f64 = 1e12;

/// Tokens as recorded.
#[derive(Debug, Clone, Copy, Default)]
struct Tokens {
    input: f64,
    output: f64,
    cached: f64,
    thoughts: f64,
    tool: f64,
    total: Option<f64>,
}

impl Tokens {
    fn new(raw: Raw<'_>) -> Option<Self> {
        if !raw.get().starts_with('{') {
            return None;
        }
        let mut tokens = Self::default();
        json::each_field(raw.get(), |key, value| {
            let number = count(value);
            match &*key {
                b"input" => tokens.input = number.unwrap_or(0.0),
                b"output" => tokens.output = number.unwrap_or(0.0),
                b"cached" => tokens.cached = number.unwrap_or(0.0),
                b"thoughts" => tokens.thoughts = number.unwrap_or(0.0),
                b"tool" => tokens.tool = number.unwrap_or(0.0),
                b"total" => tokens.total = number,
                _ => {}
            }
        })
        .ok()?;
        Some(tokens)
    }

    /// Returns whether the numbers are consistent.
    fn is_plausible(&self) -> bool {
        let named = [self.input, self.output, self.cached, self.thoughts, self.tool];
        let sum = self.input + self.output + self.thoughts + self.tool;
        named.iter().all(|number| (0.0..=ABSURD).contains(number))
            && self.cached <= self.input
            && self.total.is_none_or(|total| total >= sum && total <= ABSURD)
    }

    /// Describes the problems of the numbers.
    fn problems(&self) -> Vec<String> {
        if self.is_plausible() {
            return Vec::new();
        }
        let named = [
            ("input", self.input),
            ("output", self.output),
            ("cached", self.cached),
            ("thoughts", self.thoughts),
            ("tool", self.tool),
            ("total", self.total.unwrap_or(0.0)),
        ];
        let mut out: Vec<String> = named
            .iter()
            .filter(|(_, number)| *number < 0.0)
            .map(|(name, number)| format!("`{name}` is {number}, counted as 0"))
            .collect();
        out.extend(named.iter().filter(|(_, number)| *number > ABSURD).map(|(name, number)| {
            let cut = if *number > MOST { "; counted as 10^12" } else { "" };
            format!("`{name}` is {number}, more than any model takes{cut}")
        }));
        if self.cached > self.input.max(0.0) {
            out.push(format!(
                "`cached` is {}, more than `input` {}; counted as {}",
                self.cached,
                self.input,
                self.input.max(0.0)
            ));
        }
        let sum = self.input + self.output + self.thoughts + self.tool;
        if let Some(total) = self.total.filter(|total| *total < sum) {
            out.push(format!("`total` is {total}, less than its parts, {sum}"));
        }
        out
    }

    /// Returns the usage in our buckets. `cached` is a part of the recorded input, and never
    /// exceeds it.
    fn usage(&self) -> Usage {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates at 0"
        )]
        let whole = |number: f64| number.min(MOST).round() as u64;
        let (prompt, cached) = (whole(self.input), whole(self.cached));
        let cached = cached.min(prompt);
        let mut usage = Usage {
            input: prompt - cached,
            cached,
            output: whole(self.output),
            thoughts: whole(self.thoughts),
            tool: whole(self.tool),
            ..Usage::default()
        };
        usage.other = self.total.map_or(0, whole).saturating_sub(usage.total());
        usage
    }
}

/// Parses a number, which may be written as a string.
fn count(raw: Raw<'_>) -> Option<f64> {
    let number = match json::string(raw) {
        Some(text) => text.trim().parse().ok(),
        None => json::number(raw.get()),
    };
    number.filter(|number: &f64| number.is_finite())
}
