//! Identifies messages, most of which have no id.

use rustc_hash::FxHashMap;

use crate::id::hex_digit;
use crate::model::MessageId;

/// The number of hexadecimal digits of a mark.
const DIGITS: usize = 16;

/// The ids of a file's messages. They are made of the time and the content of a message, so they remain the same
/// when the agent rewrites the file without some of its lines.
#[derive(Debug, Default)]
pub(crate) struct Ids(FxHashMap<u64, u32>);

impl Ids {
    /// Returns the id of the next message with a mark. The first one with that mark has no number.
    pub(crate) fn next(&mut self, prefix: &str, mark: u64) -> MessageId {
        let mut id = String::with_capacity(prefix.len() + 1 + DIGITS);
        id.push_str(prefix);
        id.push('-');
        let bytes = mark.to_be_bytes();
        let digit = |n: usize| hex_digit(bytes[n / 2] >> if n.is_multiple_of(2) { 4 } else { 0 });
        let digits: [u8; DIGITS] = std::array::from_fn(digit);
        id.push_str(str::from_utf8(&digits).unwrap_or_default());
        match self.add(mark) {
            0 => id.into(),
            others => format!("{id}.{others}").into(),
        }
    }

    /// Adds a message that has an id, and returns the number of earlier ones with the same mark.
    pub(crate) fn add(&mut self, mark: u64) -> u32 {
        let count = self.0.entry(mark).or_default();
        *count += 1;
        *count - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_mark_and_how_often_it_was_seen() {
        let mut ids = Ids::default();
        let mut next = |mark| ids.next("a", mark).as_str().to_owned();
        assert_eq!(next(0xFEDC_BA98_7654_3210), "a-fedcba9876543210");
        assert_eq!(next(1), "a-0000000000000001");
        assert_eq!(next(1), "a-0000000000000001.1");
    }
}
