//! Splits sources into lots that can be assembled independently: sources of one group belong
//! together, and so do sources that contain the same call. Most sources are a lot of their own.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap as HashMap;

use super::{FindByPrefix, ScannedSource, keys, memberships};
use crate::projects::Projects;

/// Splits sources into lots. Sessions of one lot never depend on another.
pub fn partition(
    scanned: Vec<ScannedSource>,
    projects: &mut Projects,
    find: &FindByPrefix<'_>,
) -> Vec<Vec<ScannedSource>> {
    let mut lots = Lots { of: (0..scanned.len()).collect() };
    let mut groups: HashMap<String, usize> = HashMap::default();
    let mut calls: HashMap<i64, usize> = HashMap::default();
    for (n, scanned) in scanned.iter().enumerate() {
        for member in memberships(scanned, projects, find) {
            let other = *groups.entry(member.group).or_insert(n);
            lots.join(n, other);
        }
        for key in keys(scanned) {
            let other = *calls.entry(key).or_insert(n);
            lots.join(n, other);
        }
    }
    let mut out: BTreeMap<usize, Vec<ScannedSource>> = BTreeMap::new();
    for (n, scanned) in scanned.into_iter().enumerate() {
        out.entry(lots.first(n)).or_default().push(scanned);
    }
    out.into_values().collect()
}

/// A union-find forest: for each source another one of its lot, or itself if it is the first.
struct Lots {
    of: Vec<usize>,
}

impl Lots {
    fn first(&mut self, n: usize) -> usize {
        let mut first = n;
        while self.of[first] != first {
            // Halves the path for later lookups.
            self.of[first] = self.of[self.of[first]];
            first = self.of[first];
        }
        first
    }

    fn join(&mut self, a: usize, b: usize) {
        if a != b {
            let (a, b) = (self.first(a), self.first(b));
            self.of[a.max(b)] = a.min(b);
        }
    }
}
