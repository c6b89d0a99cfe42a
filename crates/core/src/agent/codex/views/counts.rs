//! Determines which token counts are model calls.
//!
//! Counts are written for display: they repeat, may be estimates, and their total may restart. A change of
//! the total is a model call.

use serde::{Deserialize, Serialize};

use super::lost::Lost;
use crate::agent::codex::format::{Count, Tokens};

/// The running total of a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// The last total; `None` after a count without a total.
    total: Option<Tokens>,
    /// The last total that was recorded.
    known: Option<Tokens>,
    /// The number of times that the total decreased.
    pub(crate) restarts: u32,
}

/// The calls that a count reveals.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Revealed {
    /// The calls before the last one whose lines are missing.
    pub(crate) lost: Option<Lost>,
    /// The last call.
    pub(crate) call: Option<Tokens>,
}

impl Counts {
    /// Adds a count and returns the calls that it reveals.
    pub(crate) fn step(&mut self, count: Option<Count>) -> Revealed {
        let Some((total, last)) = count else {
            self.total = None;
            return Revealed::default();
        };
        let (before, known) = (self.total.replace(total), self.known.replace(total));
        if known.is_some_and(|known| !total.covers(&known)) {
            self.restarts += 1;
        }
        // It may also be repeated after a count without a total.
        if before.or(known) == Some(total) {
            return Revealed::default();
        }
        let call = Some(last).filter(Tokens::is_call);
        // If the total grew by more than the last call, lines are missing.
        let until = call.map_or(Some(total), |call| total.growth(&call));
        let lost = before.zip(until).and_then(|(before, until)| Lost::between(before, until));
        Revealed { lost, call }
    }

    /// Lets what the total grows by until the next count be of no importance.
    pub(crate) fn skip(&mut self) {
        self.total = None;
    }

    /// Returns whether the total before the next count is not known.
    pub(crate) fn is_skipped(&self) -> bool {
        self.total.is_none()
    }

    /// Returns whether no total has been seen.
    pub(crate) fn is_unknown(&self) -> bool {
        self.known.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::json::Raw;

    fn tokens(input: u64, output: u64) -> Tokens {
        let total = input + output;
        let text = format!(
            r#"{{"input_tokens":{input},"output_tokens":{output},"total_tokens":{total}}}"#
        );
        Tokens::of(Raw::new(&text))
    }

    #[test]
    fn a_call_is_where_the_total_moved() {
        let mut counts = Counts::default();
        let mut step = |total: Option<(u64, u64)>, last: (u64, u64)| {
            let last = tokens(last.0, last.1);
            counts.step(total.map(|(input, output)| (tokens(input, output), last)))
        };
        let none = Revealed::default;
        let call = |input, output| Revealed { lost: None, call: Some(tokens(input, output)) };
        assert_eq!(step(None, (0, 0)), none());
        assert_eq!(step(Some((10, 1)), (10, 1)), call(10, 1));
        assert_eq!(step(Some((10, 1)), (10, 1)), none(), "a repeat");
        assert_eq!(step(Some((30, 3)), (20, 2)), call(20, 2));
        assert_eq!(step(Some((30, 3)), (0, 0)), none(), "an estimate");
        let lost = Lost::between(tokens(30, 3), tokens(50, 5));
        let gone = Revealed { lost, ..call(40, 4) };
        assert_eq!(step(Some((90, 9)), (40, 4)), gone, "lines are gone");
        let lost = Lost::between(tokens(90, 9), tokens(95, 10));
        let gone = Revealed { lost, call: None };
        assert_eq!(step(Some((95, 10)), (0, 0)), gone, "all lines are gone");
        assert_eq!(step(Some((0, 0)), (0, 0)), none(), "the context was full");
        assert_eq!(step(Some((5, 1)), (5, 1)), call(5, 1));
        assert_eq!(step(None, (0, 0)), none());
        assert_eq!(step(Some((7, 2)), (7, 2)), call(7, 2), "a resume");
        assert_eq!(step(None, (0, 0)), none());
        assert_eq!(step(Some((7, 2)), (7, 2)), none(), "a repeat after a count without a total");
    }
}
