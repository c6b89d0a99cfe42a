//! Which sources must be put together at once: those of one group, and those that hold the same call.
//! Most stand alone.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap as HashMap;

use super::assemble::{Named, memberships};
use super::owners::keys;
use super::projects::Projects;
use super::scan::Scanned;

/// Sorts sources into lots; sessions of one never depend on another.
pub fn together(
    scanned: Vec<Scanned>,
    projects: &mut Projects,
    named: &Named<'_>,
) -> Vec<Vec<Scanned>> {
    let mut lots = Lots { of: (0..scanned.len()).collect() };
    let mut groups: HashMap<String, usize> = HashMap::default();
    let mut calls: HashMap<i64, usize> = HashMap::default();
    for (n, scanned) in scanned.iter().enumerate() {
        for member in memberships(scanned, projects, named) {
            let other = *groups.entry(member.group).or_insert(n);
            lots.join(n, other);
        }
        for key in keys(scanned) {
            let other = *calls.entry(key).or_insert(n);
            lots.join(n, other);
        }
    }
    let mut out: BTreeMap<usize, Vec<Scanned>> = BTreeMap::new();
    for (n, scanned) in scanned.into_iter().enumerate() {
        out.entry(lots.first(n)).or_default().push(scanned);
    }
    out.into_values().collect()
}

/// For each source another one of its lot, or itself if it is the first.
struct Lots {
    of: Vec<usize>,
}

impl Lots {
    fn first(&mut self, n: usize) -> usize {
        let mut first = n;
        while self.of[first] != first {
            // Halves the way for the next time.
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
