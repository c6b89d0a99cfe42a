//! Determines which token counts are model calls.
//!
//! Counts are written for display: they repeat, may be estimates, and their total may restart. A change of
//! the total is a model call.

use serde::{Deserialize, Serialize};

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

impl Counts {
    /// Adds a count and returns the usage of the call that it reveals, if any.
    pub(crate) fn step(&mut self, count: Option<Count>) -> Option<Tokens> {
        let Some((total, last)) = count else {
            self.total = None;
            return None;
        };
        let before = self.total.replace(total);
        if self.known.replace(total).is_some_and(|known| !total.covers(&known)) {
            self.restarts += 1;
        }
        if before == Some(total) {
            return None;
        }
        // If the total grew by more than the last call, lines are missing and the growth is right.
        let growth = before.and_then(|before| total.growth(&before));
        let growth = growth.filter(|growth| !last.is_call() || growth.covers(&last));
        let step = growth.unwrap_or(last);
        step.is_call().then_some(step)
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
        assert_eq!(step(None, (0, 0)), None);
        assert_eq!(step(Some((10, 1)), (10, 1)), Some(tokens(10, 1)));
        assert_eq!(step(Some((10, 1)), (10, 1)), None, "a repeat");
        assert_eq!(step(Some((30, 3)), (20, 2)), Some(tokens(20, 2)));
        assert_eq!(step(Some((30, 3)), (0, 0)), None, "an estimate");
        assert_eq!(step(Some((90, 9)), (40, 4)), Some(tokens(60, 6)), "lines are gone");
        assert_eq!(step(Some((0, 0)), (0, 0)), None, "the context was full");
        assert_eq!(step(Some((5, 1)), (5, 1)), Some(tokens(5, 1)));
        assert_eq!(step(None, (0, 0)), None);
        assert_eq!(step(Some((7, 2)), (7, 2)), Some(tokens(7, 2)), "a resume");
    }
}
