//! Computes the hash that is stored in rows: the first 8 bytes of SHA-256, little-endian.
//!
//! Stored numbers outlive the program that wrote them, so the algorithm must not depend on the
//! standard library, whose hashers may change with any release. Each field is preceded by its length,
//! so that no two lists of fields look alike.

use sha2::{Digest, Sha256};

/// A hash that is being computed.
#[derive(Default)]
pub(super) struct Stamp(Sha256);

impl Stamp {
    /// Adds a field.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(super) fn number(&mut self, number: i128) -> &mut Self {
        self.bytes(&number.to_le_bytes())
    }

    /// Adds the presence of a value as a number, followed by the value itself.
    pub(super) fn maybe<T>(
        &mut self,
        value: Option<T>,
        add: impl FnOnce(&mut Self, T) -> &mut Self,
    ) -> &mut Self {
        self.number(value.is_some().into());
        match value {
            Some(value) => add(self, value),
            None => self,
        }
    }

    pub(super) fn finish(self) -> i64 {
        let hash = self.0.finalize();
        let (first, _) = hash.as_chunks::<8>();
        first.first().map_or(0, |first| i64::from_le_bytes(*first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(fields: &[&str]) -> i64 {
        let mut stamp = Stamp::default();
        for field in fields {
            stamp.text(field);
        }
        stamp.finish()
    }

    /// Computed with Python: `int.from_bytes(sha256(b"".join(len(f).to_bytes(8, "little") + f for f in fields)).digest()[:8], "little", signed=True)`.
    #[test]
    fn the_hash_is_the_same_for_ever() {
        assert_eq!(stamp(&[]), 1_449_310_910_991_872_227);
        assert_eq!(stamp(&[""]), 8_794_265_229_978_523_055);
        assert_eq!(stamp(&["a", "bc"]), -4_701_539_523_273_913_702);
        assert_eq!(stamp(&["ab", "c"]), -3_890_583_990_366_245_309);
        let mut odd = Stamp::default();
        odd.number(-1).maybe(Some("x"), Stamp::text).maybe(None::<&str>, Stamp::text);
        assert_eq!(odd.finish(), 5_056_889_653_691_932_650);
    }
}
