//! Remembers the matches of texts, which are redacted twice.

use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxBuildHasher, FxHashMap};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use super::scan::Scanned;

/// The maximum number of texts to remember.
const MOST: usize = 1 << 19;

/// The minimum length of a text that is worth remembering.
const LEAST: usize = 64;

/// The matches of texts, by the hash of the text, the pass over it and the parts of the text. Those without any
/// take up almost no memory.
#[derive(Debug, Default)]
pub(super) struct Memo {
    texts: FxHashMap<u128, Option<Arc<Scanned>>>,
}

impl Memo {
    /// Returns the matches of a pass over parts of a text; computes them if they are not remembered.
    pub(super) fn get<T: Default>(
        &mut self,
        text: &str,
        parts: &[Range<usize>],
        pass: usize,
        scan: impl FnOnce() -> (Scanned, T),
    ) -> (Arc<Scanned>, T) {
        if text.len() < LEAST {
            let (scanned, rest) = scan();
            return (Arc::new(scanned), rest);
        }
        let key = xxh3_128_with_seed(text.as_bytes(), FxBuildHasher.hash_one((parts, pass)));
        if let Some(known) = self.texts.get(&key) {
            return (known.clone().unwrap_or_default(), T::default());
        }
        let (scanned, rest) = scan();
        let scanned = Arc::new(scanned);
        if self.texts.len() < MOST {
            self.texts.insert(key, (!scanned.is_empty()).then(|| scanned.clone()));
        }
        (scanned, rest)
    }
}
