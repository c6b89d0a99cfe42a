//! Which token counts are model calls.
//!
//! A count is written for display: it repeats, carries estimates, and its total restarts. A call is
//! where the total moved.

use crate::agent::codex::format::Tokens;

/// The running total of a file.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// The last total; none where the file says that there is none.
    total: Option<Tokens>,
    /// The last total there was.
    known: Option<Tokens>,
    /// How often the total fell.
    pub(crate) restarts: u32,
}

impl Counts {
    /// Takes a count and returns what a call used, if there was one.
    pub(crate) fn step(&mut self, count: Option<(Tokens, Tokens)>) -> Option<Tokens> {
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
        // Where the total grew by more than the last call, lines are gone and the growth is right.
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
    use crate::agent::codex::format::Object;

    fn tokens(input: u64, output: u64) -> Tokens {
        let total = input + output;
        let text = format!(
            r#"{{"input_tokens":{input},"output_tokens":{output},"total_tokens":{total}}}"#
        );
        Tokens::read(&Object::read(&text).unwrap())
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
