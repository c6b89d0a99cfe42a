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
}

impl Default for Work {
    fn default() -> Self {
        Self { left: MOST, at: 0 }
    }
}

impl Work {
    /// Moves on to a position. Returns whether anything is left there.
    pub(super) fn is_left(&mut self, at: usize) -> bool {
        let bytes = i64::try_from(at.saturating_sub(self.at)).unwrap_or(MOST);
        self.left = self.left.saturating_add(bytes.saturating_mul(PER_BYTE)).min(MOST);
        self.at = self.at.max(at);
        self.left > 0
    }

    /// Uses some of the work.
    pub(super) fn spend(&mut self, work: usize) {
        self.left = self.left.saturating_sub(i64::try_from(work).unwrap_or(MOST));
    }
}
