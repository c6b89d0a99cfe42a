//! Counts the tokens of a model call in disjoint buckets.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// Tokens in disjoint buckets, whose sum is the total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Fresh input: neither read from the cache nor written to it.
    pub input: u64,
    /// Input that was read from the cache.
    pub cached: u64,
    /// Input that was written to the cache for five minutes, or for as long as the vendor keeps it.
    #[serde(default)]
    pub cache_write_5m: u64,
    /// Input that was written to the cache for an hour.
    #[serde(default)]
    pub cache_write_1h: u64,
    /// Output without thoughts.
    pub output: u64,
    /// The tokens of thoughts.
    pub thoughts: u64,
    /// The prompt side of tool use; priced as input.
    pub tool: u64,
    /// The excess of the agent's own total over the buckets.
    pub other: u64,
}

/// One of the buckets. Names in documents, columns and prices follow this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// See [`Usage::input`].
    Input,
    /// See [`Usage::cached`].
    Cached,
    /// See [`Usage::cache_write_5m`].
    CacheWrite5m,
    /// See [`Usage::cache_write_1h`].
    CacheWrite1h,
    /// See [`Usage::output`].
    Output,
    /// See [`Usage::thoughts`].
    Thoughts,
    /// See [`Usage::tool`].
    Tool,
    /// See [`Usage::other`].
    Other,
}

impl Bucket {
    /// All buckets in order.
    pub const ALL: [Self; 8] = [
        Self::Input,
        Self::Cached,
        Self::CacheWrite5m,
        Self::CacheWrite1h,
        Self::Output,
        Self::Thoughts,
        Self::Tool,
        Self::Other,
    ];

    /// Returns its name in documents and in the archive.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Cached => "cached",
            Self::CacheWrite5m => "cache_write_5m",
            Self::CacheWrite1h => "cache_write_1h",
            Self::Output => "output",
            Self::Thoughts => "thoughts",
            Self::Tool => "tool",
            Self::Other => "other",
        }
    }
}

/// The buckets as columns of a table, in their order.
#[doc(hidden)]
pub const COLUMNS: &str =
    "input, cached, cache_write_5m, cache_write_1h, output, thoughts, tool, other";

impl Usage {
    /// Returns the number of tokens in a bucket.
    pub fn get(&self, bucket: Bucket) -> u64 {
        match bucket {
            Bucket::Input => self.input,
            Bucket::Cached => self.cached,
            Bucket::CacheWrite5m => self.cache_write_5m,
            Bucket::CacheWrite1h => self.cache_write_1h,
            Bucket::Output => self.output,
            Bucket::Thoughts => self.thoughts,
            Bucket::Tool => self.tool,
            Bucket::Other => self.other,
        }
    }

    /// Returns a mutable bucket.
    pub fn get_mut(&mut self, bucket: Bucket) -> &mut u64 {
        match bucket {
            Bucket::Input => &mut self.input,
            Bucket::Cached => &mut self.cached,
            Bucket::CacheWrite5m => &mut self.cache_write_5m,
            Bucket::CacheWrite1h => &mut self.cache_write_1h,
            Bucket::Output => &mut self.output,
            Bucket::Thoughts => &mut self.thoughts,
            Bucket::Tool => &mut self.tool,
            Bucket::Other => &mut self.other,
        }
    }

    /// Builds a usage from the number that `tokens` returns for each bucket.
    pub fn try_from_buckets<E>(
        mut tokens: impl FnMut(Bucket) -> Result<u64, E>,
    ) -> Result<Self, E> {
        let mut usage = Self::default();
        for bucket in Bucket::ALL {
            *usage.get_mut(bucket) = tokens(bucket)?;
        }
        Ok(usage)
    }

    /// Returns the sum of all buckets.
    pub fn total(&self) -> u64 {
        Bucket::ALL.iter().fold(0, |sum: u64, bucket| sum.saturating_add(self.get(*bucket)))
    }

    /// Returns the tokens of the buckets that have the same label, in the order of the first of them.
    pub fn by_label<L: PartialEq>(&self, label: impl Fn(Bucket) -> L) -> Vec<(L, u64)> {
        let mut sums: Vec<(L, u64)> = Vec::new();
        for bucket in Bucket::ALL {
            let (label, tokens) = (label(bucket), self.get(bucket));
            match sums.iter_mut().find(|(known, _)| *known == label) {
                Some((_, sum)) => *sum = sum.saturating_add(tokens),
                None => sums.push((label, tokens)),
            }
        }
        sums
    }

    /// Returns the tokens that exceed those of another usage. Tokens that one of the two assigns to a part
    /// of the output or of the cache writes, and the other does not, exceed nothing.
    #[must_use]
    pub fn beyond(&self, other: &Self) -> Self {
        let more = |own: u64, others: u64| own.saturating_sub(others);
        let output = more(
            self.output.saturating_add(self.thoughts),
            other.output.saturating_add(other.thoughts),
        );
        let thoughts = more(self.thoughts, other.thoughts).min(output);
        let written = more(self.cache_writes(), other.cache_writes());
        let cache_write_1h = more(self.cache_write_1h, other.cache_write_1h).min(written);
        Self {
            input: more(self.input, other.input),
            cached: more(self.cached, other.cached),
            cache_write_5m: written - cache_write_1h,
            cache_write_1h,
            output: output - thoughts,
            thoughts,
            tool: more(self.tool, other.tool),
            other: more(self.other, other.other),
        }
    }

    /// Returns the number of tokens written to the cache, for any time.
    pub fn cache_writes(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }

    /// Returns the number of tokens in the prompt.
    pub fn prompt(&self) -> u64 {
        [self.cached, self.cache_write_5m, self.cache_write_1h]
            .iter()
            .fold(self.input, |sum, part| sum.saturating_add(*part))
    }

    /// Returns the larger number of each bucket. The two kinds of cache writes are one number that
    /// is split, so both come from the side that wrote more, or more for an hour. So are the output and
    /// the thoughts in it.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let writes =
            |usage: &Self| (usage.cache_write_5m + usage.cache_write_1h, usage.cache_write_1h);
        let writer = if writes(&self) >= writes(&other) { self } else { other };
        let words = |usage: &Self| (usage.output.saturating_add(usage.thoughts), usage.thoughts);
        let speaker = if words(&self) >= words(&other) { self } else { other };
        let mut out = self;
        for bucket in Bucket::ALL {
            let most = self.get(bucket).max(other.get(bucket));
            *out.get_mut(bucket) = match bucket {
                Bucket::CacheWrite5m | Bucket::CacheWrite1h => writer.get(bucket),
                Bucket::Output | Bucket::Thoughts => speaker.get(bucket),
                _ => most,
            };
        }
        out
    }
}

/// The buckets and their sum, as written in documents.
#[derive(Debug, Clone, Serialize)]
pub struct UsageRow {
    #[serde(flatten)]
    usage: Usage,
    total: u64,
}

impl UsageRow {
    /// Creates the row of a usage.
    pub fn new(usage: &Usage) -> Self {
        Self { usage: *usage, total: usage.total() }
    }
}

impl Add for Usage {
    type Output = Self;
    fn add(mut self, more: Self) -> Self {
        for bucket in Bucket::ALL {
            let sum = self.get(bucket).saturating_add(more.get(bucket));
            *self.get_mut(bucket) = sum;
        }
        self
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        *self = *self + more;
    }
}

impl Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
