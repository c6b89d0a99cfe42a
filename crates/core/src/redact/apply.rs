//! Replaces secrets with markers.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::known::Known;
use super::memo::Memo;
use super::rule::{MARKER, Rules};
use super::scan::{Found, scan, secrets};
use super::work::Work;

/// The maximum number of passes over a text, which is scanned until nothing more is found.
const PASSES: usize = 8;

/// The distance from a new marker up to which the text is scanned again.
const NEAR: usize = 4096;

/// Removes secrets from the texts of one export. Equal secrets get equal markers.
#[derive(Debug)]
pub struct Redactor<'r> {
    /// The rules that secrets are found by.
    pub(super) rules: &'r Rules,
    /// The marker of each secret.
    markers: FxHashMap<Arc<str>, Marker>,
    /// The values that are removed wherever they occur.
    known: Known,
    /// The matches of the texts that were redacted.
    memo: Memo,
    /// For each kind, the number of removed secrets, and the number of distinct ones.
    counts: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Marker {
    kind: usize,
    rule: usize,
    number: u64,
}

/// The number of secrets of a kind that were removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// The name of the kind.
    pub kind: String,
    /// The number of occurrences.
    pub found: u64,
    /// The number of distinct secrets.
    pub distinct: u64,
}

impl<'r> Redactor<'r> {
    /// Creates a redactor that has not found anything yet.
    pub fn new(rules: &'r Rules) -> Self {
        let counts = vec![(0, 0); rules.kinds().len()];
        let (known, memo) = (Known::default(), Memo::default());
        Self { rules, markers: FxHashMap::default(), known, memo, counts }
    }

    /// Returns the text without its secrets.
    pub fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let found = self.scan(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(self.replace(text, &found))
    }

    /// Returns the secrets of a text.
    pub(super) fn scan(&mut self, text: &str) -> Vec<Found> {
        self.scan_parts(text, std::slice::from_ref(&(0..text.len())), 0)
    }

    /// Returns the secrets of parts of a text, which a pass before this one has changed.
    fn scan_parts(&mut self, text: &str, parts: &[Range<usize>], pass: usize) -> Vec<Found> {
        let work = Work::for_pass(pass);
        let (scanned, view) =
            self.memo.get(text, parts, pass, || scan(self.rules, text, parts, work));
        secrets(&scanned, view, &self.known, text, parts)
    }

    /// Returns whether nothing has been found yet.
    pub fn is_empty(&self) -> bool {
        self.markers.is_empty()
    }

    /// Ends the first pass: from now on, every secret found so far is removed wherever it occurs. Resets the
    /// counts.
    ///
    /// A value may be next to a name that gives it away in one place, and without a name in another.
    /// Redacting everything twice, and keeping the second result, removes both.
    pub fn learn(&mut self) {
        for (secret, marker) in &self.markers {
            self.known.add(secret, marker.rule);
        }
        for count in &mut self.counts {
            count.0 = 0;
        }
    }

    /// Returns the numbers of removed secrets, the most frequent kind first.
    pub fn counts(&self) -> Vec<Count> {
        let kinds = self.rules.kinds().iter().zip(&self.counts);
        let mut counts: Vec<Count> = kinds
            .filter(|(_, count)| count.0 > 0)
            .map(|(kind, (found, distinct))| Count {
                kind: kind.name.clone(),
                found: *found,
                distinct: *distinct,
            })
            .collect();
        counts.sort_by(|a, b| b.found.cmp(&a.found).then_with(|| a.kind.cmp(&b.kind)));
        counts
    }

    /// Replaces the given matches with their markers, and the matches that there are then.
    pub(super) fn replace(&mut self, text: &str, found: &[Found]) -> String {
        let (mut text, mut parts) = self.replace_once(text, found);
        // A marker is shorter than its secret and can bring the beginning of another match within reach, so
        // the text around it is scanned again until nothing changes.
        for pass in 1..PASSES {
            let found = self.scan_parts(&text, &parts, pass);
            if found.is_empty() {
                break;
            }
            (text, parts) = self.replace_once(&text, &found);
        }
        text
    }

    /// Replaces the given matches with their markers. Returns the new text, and its parts that are near a
    /// marker.
    pub(super) fn replace_once(
        &mut self,
        text: &str,
        found: &[Found],
    ) -> (String, Vec<Range<usize>>) {
        let mut out = String::with_capacity(text.len());
        let mut parts: Vec<Range<usize>> = Vec::new();
        let mut from = 0;
        for found in found {
            out.push_str(&text[from..found.range.start]);
            let start = out.len().saturating_sub(NEAR);
            let secret = found.decoded.as_deref().unwrap_or(&text[found.range.clone()]);
            self.mark(secret, found.rule, &mut out);
            let part = start..out.len() + NEAR;
            match parts.last_mut() {
                Some(last) if part.start <= last.end => last.end = part.end,
                _ => parts.push(part),
            }
            from = found.range.end;
        }
        out.push_str(&text[from..]);
        if let Some(last) = parts.last_mut() {
            last.end = last.end.min(out.len());
        }
        (out, parts)
    }

    fn mark(&mut self, secret: &str, rule: usize, out: &mut String) {
        let marker = if let Some(marker) = self.markers.get(secret) {
            *marker
        } else {
            let kind = self.rules.list[rule].kind;
            self.counts[kind].1 += 1;
            let marker = Marker { kind, rule, number: self.counts[kind].1 };
            self.markers.insert(secret.into(), marker);
            marker
        };
        self.counts[marker.kind].0 += 1;
        let kind = &self.rules.kinds()[marker.kind].name;
        out.extend([MARKER, kind, ":", &marker.number.to_string(), "]"]);
    }
}
