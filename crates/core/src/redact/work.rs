//! Limits the work on a text, so that none takes more than a fixed time per byte.
//!
//! A text may repeat a keyword over and over without a secret behind it. Each byte of a text pays for some
//! work, unused work is saved up to a limit, and a keyword is only examined while something is left. Ordinary
//! texts use a small part of it. A secret that is found costs nothing.

/// The work that each byte pays for, about one instruction.
const PER_BYTE: i64 = 100;

/// The maximum that is saved, and available at the beginning of a text.
const MOST: i64 = 4 << 20;

/// The work that is left at a position of a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work {
    /// Negative if more was used than there was.
    left: i64,
    at: usize,
    per_byte: i64,
    most: i64,
}

impl Work {
    /// Returns the work for the given pass over a text. Each pass has a quarter of the one before it, so that
    /// all of them together take no more than a fixed time per byte either.
    pub(super) fn for_pass(pass: usize) -> Self {
        let (per_byte, most) = (PER_BYTE >> (2 * pass), MOST >> (2 * pass));
        Self { left: most, at: 0, per_byte, most }
    }

    /// Moves on to a position. Returns whether anything is left there.
    pub(super) fn is_left(&mut self, at: usize) -> bool {
        let bytes = i64::try_from(at.saturating_sub(self.at)).unwrap_or(MOST);
        self.left = self.left.saturating_add(bytes.saturating_mul(self.per_byte)).min(self.most);
        self.at = self.at.max(at);
        self.left > 0
    }

    /// Uses some of the work.
    pub(super) fn spend(&mut self, work: usize) {
        self.left = self.left.saturating_sub(i64::try_from(work).unwrap_or(MOST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_passes_together_have_little_more_work_than_the_first() {
        let granted = |pass| {
            let mut work = Work::for_pass(pass);
            let mut units = 0;
            for at in 0..100_000 {
                while work.is_left(at) {
                    work.spend(1000);
                    units += 1;
                }
            }
            units
        };
        let first: i32 = granted(0);
        let rest: i32 = (1..8).map(granted).sum();
        assert!(first > 10_000, "{first}");
        assert!(rest * 2 < first, "{rest} of {first}");
    }
}
