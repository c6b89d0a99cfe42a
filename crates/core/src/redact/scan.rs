//! Finds secrets in a text.

use std::cmp::Reverse;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::block::Blocks;
use super::cookie::cookies;
use super::form::has_entropy;
use super::known::Known;
use super::manifest::Manifests;
use super::name::Names;
use super::name_class::Class;
use super::rule::{Before, By, MARKER, REACH, Rule, Rules};
use super::table::Tables;
use super::value::fits_in;
use super::view::View;
use super::window::Windows;
use super::work::Work;

/// The length of uninterrupted base64 before a match that places it inside a blob.
const BLOB: usize = 256;

/// The cost of a regex without a match: a constant, and a factor for the text that it examines.
const REGEX: (usize, usize) = (300, 6);

/// The length of the text that most regexes examine before they fail.
const SHORT: usize = 64;

/// The cost of finding the groups of a match and examining a value, per byte.
const GROUPS: usize = 40;

/// The number of matches that are compared with a new one. Rules that match the same text take turns.
const RECENT: usize = 4;

/// A secret and the position of its match.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The position at which the match begins.
    pub(super) at: usize,
    /// The bytes to remove.
    pub(super) range: Range<usize>,
    /// The secret without its disguise, if the text had to be decoded.
    pub(super) decoded: Option<Box<str>>,
    /// The index of the rule that found it.
    pub(super) rule: usize,
}

/// The matches of all rules in a text, and the markers that it contains.
#[derive(Debug, Clone, Default)]
pub(super) struct Scanned {
    /// Whether they are those of the decoded view.
    is_decoded: bool,
    found: Vec<Found>,
    markers: Vec<Range<usize>>,
}

impl Scanned {
    /// Returns whether there is nothing in the text, which is its own view.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_decoded && self.found.is_empty() && self.markers.is_empty()
    }
}

/// Applies the rules to all keywords in the given parts of a text. Returns the decoded view if the text
/// differs from it.
pub(super) fn scan(
    rules: &Rules,
    text: &str,
    parts: &[Range<usize>],
    work: Work,
) -> (Scanned, Option<View>) {
    let Some(view) = View::decoded(text) else {
        return (scan_view(rules, text, parts, work), None);
    };
    let parts: Vec<Range<usize>> = parts.iter().map(|part| view.shown(part)).collect();
    let scanned = scan_view(rules, &view.text, &parts, work);
    (Scanned { is_decoded: true, ..scanned }, Some(view))
}

/// Returns the secrets of a text in order: the matches of the rules and the known values in the given parts,
/// none of them inside or adjacent to a marker. Overlapping secrets are merged, and named after the earliest,
/// then the longest, then the rule that is listed first.
pub(super) fn secrets(
    scanned: &Scanned,
    view: Option<View>,
    known: &Known,
    text: &str,
    parts: &[Range<usize>],
) -> Vec<Found> {
    let view = if scanned.is_decoded { view.or_else(|| View::decoded(text)) } else { None };
    let shown = view.as_ref().map_or(text, |view| view.text.as_str());
    let mut found = scanned.found.clone();
    for part in parts {
        let part = view.as_ref().map_or_else(|| part.clone(), |view| view.shown(part));
        known.find(shown, part, |range, rule| {
            found.push(Found { at: range.start, range, decoded: None, rule });
        });
    }
    if !scanned.markers.is_empty() {
        found.retain(|found| !touches(&scanned.markers, found));
    }
    let mut all = joined(found);
    if let Some(view) = &view {
        for found in &mut all {
            found.decoded = Some(shown[found.range.clone()].into());
            found.at = view.original(&(found.at..found.range.end)).start;
            found.range = view.original(&found.range);
        }
    }
    all
}

/// Scans a text as it is.
fn scan_view(rules: &Rules, text: &str, parts: &[Range<usize>], work: Work) -> Scanned {
    let mut search = Search::new(rules, text, work);
    let mut markers: Vec<Range<usize>> = Vec::new();
    let mut woken: Vec<usize> = rules.always.clone();
    let mut look = |keyword: usize, hit: Range<usize>| {
        if markers.last().is_some_and(|marker: &Range<usize>| hit.start < marker.end) {
            return;
        }
        if keyword == 0 {
            markers.extend(marker_at(text, hit.start));
        }
        for at in &rules.wakes[keyword] {
            match rules.list[*at].by {
                By::Search if !woken.contains(at) => woken.push(*at),
                By::Search => {}
                _ => search.look(*at, &hit),
            }
        }
    };
    for part in parts {
        rules.keywords.find(text, part.clone(), &mut look);
    }
    for rule in woken {
        search.everywhere(rule);
    }
    markers.sort_by_key(|marker| marker.start);
    Scanned { is_decoded: false, found: search.found, markers }
}

/// Returns whether a match is inside a marker, overlaps one or ends at one.
fn touches(markers: &[Range<usize>], found: &Found) -> bool {
    let from = found.at.min(found.range.start);
    let first = markers.partition_point(|marker| marker.end <= from);
    markers[first..].first().is_some_and(|marker| {
        marker.contains(&found.at)
            || marker.start <= found.range.end && found.range.start < marker.end
    }) || {
        let first = markers.partition_point(|marker| marker.end <= found.range.start);
        markers[first..].first().is_some_and(|marker| marker.start <= found.range.end)
    }
}

/// Sorts matches and merges those that overlap.
fn joined(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|found| (found.range.start, Reverse(found.range.end), found.rule));
    let mut out: Vec<Found> = Vec::with_capacity(found.len());
    for next in found {
        match out.last_mut() {
            Some(last) if next.range.start < last.range.end => {
                last.range.end = last.range.end.max(next.range.end);
            }
            _ => out.push(next),
        }
    }
    out
}

struct Search<'a> {
    rules: &'a Rules,
    text: &'a str,
    names: [Names; 2],
    blocks: Blocks,
    tables: Tables,
    manifests: Manifests,
    /// The end of the last cookies read.
    cookies: usize,
    windows: Windows,
    /// The groups of rules in the texts that they match. The same texts occur over and over.
    groups: FxHashMap<(usize, &'a str), Option<Range<usize>>>,
    /// The work that is left for the rules of tokens, whose regexes end with a word, and for all others.
    works: [Work; 2],
    found: Vec<Found>,
}

impl<'a> Search<'a> {
    fn new(rules: &'a Rules, text: &'a str, work: Work) -> Self {
        Self {
            rules,
            text,
            names: [Names::default(), Names::default()],
            blocks: Blocks::default(),
            tables: Tables::default(),
            manifests: Manifests::default(),
            cookies: 0,
            windows: Windows::default(),
            groups: FxHashMap::default(),
            works: [work; 2],
            found: Vec::new(),
        }
    }

    /// Tries a rule at one of its keywords, if any work is left for it.
    fn look(&mut self, at: usize, hit: &Range<usize>) {
        let rule = &self.rules.list[at];
        let which = usize::from(rule.by != By::Regex || rule.is_spaced);
        if !self.works[which].is_left(hit.start) {
            return;
        }
        let (works, found) = (self.works, self.found.len());
        self.examine(at, hit);
        if self.found.len() > found {
            self.works = works;
        }
    }

    fn examine(&mut self, at: usize, hit: &Range<usize>) {
        match self.rules.list[at].by {
            By::Password => self.name(at, hit, Class::Password),
            By::Secret => self.name(at, hit, Class::Secret),
            By::Block => {
                if let Some(range) = self.blocks.look(self.text, hit.start) {
                    self.push(at, range.start, range);
                }
            }
            By::Column => {
                if let Some((start, values)) = self.tables.look(self.text, hit) {
                    self.push_all(at, start, values);
                }
            }
            By::Cookie if hit.start >= self.cookies => {
                let (values, end) = cookies(self.text, hit.end);
                self.cookies = end;
                self.push_all(at, hit.start, values);
            }
            By::Cookie => {}
            By::Manifest => {
                let values = self.manifests.look(self.text, hit);
                for value in values {
                    self.push_all(at, value.start, vec![value]);
                }
            }
            By::Regex | By::Search => self.regex(at, hit.start),
        }
    }

    fn name(&mut self, at: usize, hit: &Range<usize>, class: Class) {
        let names = &mut self.names[usize::from(class == Class::Secret)];
        let place = names.look(self.text, hit, class, &mut self.works[1]);
        let Some(place) = place else { return };
        if !in_blob(self.text, place.start) {
            self.push_all(at, place.start, place.values);
        }
    }

    fn regex(&mut self, at: usize, hit: usize) {
        let rule = &self.rules.list[at];
        let Some(start) = hit.checked_sub(rule.lead) else { return };
        // A match that begins inside a secret of the same rule is part of it.
        let is_inside = |found: &Found| found.rule == at && found.range.contains(&start);
        let has = |(at, byte): &(usize, char)| {
            self.text.as_bytes().get(start + at).copied().map(char::from) == Some(*byte)
        };
        if !rule.marks.iter().all(has)
            || !may_begin(rule.before, self.text, start)
            || self.found.iter().rev().take(RECENT).any(is_inside)
        {
            return;
        }
        let window = match rule {
            // A rule that reaches this far is about blocks of lines.
            _ if rule.reach == REACH => self.text.get(start..floor(self.text, start + REACH)),
            _ if rule.is_spaced => self.windows.lines(self.text, start, rule.reach),
            _ => self.windows.word(self.text, start, rule.reach),
        };
        let (Some(window), Some(regex)) = (window, rule.regex()) else { return };
        let work = &mut self.works[usize::from(rule.is_spaced)];
        // Finding a match is many times cheaper than finding its groups.
        let Some(whole) = regex.find(window) else {
            // Most regexes fail at the end of the word, if not before.
            let word = self.windows.word(self.text, start, rule.reach).map_or(0, str::len);
            let most = if rule.is_long { window.len() } else { word.max(SHORT) };
            return work.spend(REGEX.0 + REGEX.1 * window.len().min(most));
        };
        let examined = if rule.is_long { window.len() } else { 0 };
        work.spend(REGEX.0 + REGEX.1 * examined + GROUPS * whole.end());
        let secret = if regex.captures_len() == 1 {
            whole.range()
        } else if let Some(group) =
            rule.ending.as_ref().and_then(|ending| ending.find(whole.as_str()))
        {
            group
        } else {
            // The text behind the match does not slow down finding the match, but finding its groups.
            let near = &window[..floor(window, whole.end() + 1)];
            let find = || {
                let captures = regex.captures(near);
                captures.and_then(|captures| captures.iter().skip(1).flatten().next())
            };
            let group = || find().map(|group| group.range());
            let found = self.groups.entry((at, near)).or_insert_with(group);
            found.clone().unwrap_or(whole.range())
        };
        let mut range = start + secret.start..start + secret.end;
        let is_last = secret.end == whole.end();
        // A value that is longer than the text that was examined is removed as a whole.
        if is_last && whole.end() == window.len() && window.len() + 4 > rule.reach {
            let word = self.windows.word(self.text, range.start, REACH).map_or(0, str::len);
            range.end = range.end.max(range.start + word);
            work.spend(GROUPS * word);
        }
        let end = range.end.max(start + whole.end());
        self.take(at, start..end, range, is_last);
    }

    fn everywhere(&mut self, at: usize) {
        let rule = &self.rules.list[at];
        let Some(regex) = rule.regex() else { return };
        for captures in regex.captures_iter(self.text) {
            let Some(whole) = captures.get(0) else { continue };
            let secret = captures.iter().skip(1).flatten().next().unwrap_or(whole);
            if whole.len() <= rule.reach {
                self.take(at, whole.range(), secret.range(), false);
            }
        }
    }

    /// Adds a match if it passes the final checks.
    fn take(&mut self, at: usize, whole: Range<usize>, secret: Range<usize>, is_last: bool) {
        let rule = &self.rules.list[at];
        let (text, rest) = (&self.text[secret.clone()], &self.text[secret.end..]);
        let next = rest.chars().next();
        // If the word continues, it is another word.
        if is_last && next.is_some_and(|c| c.is_ascii_alphanumeric()) && is_whole(rule) {
            return;
        }
        let start = whole.start;
        let is_secret = !text.is_empty()
            && fits_in(rule.value, &self.text[whole], text, next)
            && (rule.entropy == 0.0 || has_entropy(text, rule.entropy))
            && !in_blob(self.text, start)
            && !self.rules.is_allowed(text);
        if is_secret {
            self.push(at, start, secret);
        }
    }

    /// Adds the values, except those that the user allows.
    fn push_all(&mut self, rule: usize, at: usize, values: Vec<Range<usize>>) {
        for value in values {
            if !self.rules.is_allowed(&self.text[value.clone()]) {
                self.push(rule, at, value);
            }
        }
    }

    fn push(&mut self, rule: usize, at: usize, range: Range<usize>) {
        self.found.push(Found { at, range, decoded: None, rule });
    }
}

/// Returns whether a match must end at the end of a word.
fn is_whole(rule: &Rule) -> bool {
    rule.by != By::Search && rule.before != Before::Any
}

/// Returns whether a match may begin here.
fn may_begin(before: Before, text: &str, at: usize) -> bool {
    let head = &text.as_bytes()[..at];
    let Some(&last) = head.last() else { return true };
    match before {
        Before::Any => true,
        Before::Word => !last.is_ascii_alphanumeric() || ends_in_escape(head),
        Before::Name => {
            !(last.is_ascii_alphanumeric() || matches!(last, b'_' | b'-')) || ends_in_escape(head)
        }
        Before::Flag => {
            let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
            // Options are short; a longer run is something else.
            let name = head.iter().rev().take(40).take_while(|byte| is_name(byte)).count();
            let (head, name) = head.split_at(head.len() - name);
            let is_alone =
                head.last().is_none_or(|byte| !matches!(byte, b'_' | b'.' | b'/' | b':'));
            is_alone && (name.is_empty() || name.starts_with(b"-"))
        }
    }
}

/// Returns whether the preceding letters are not part of a word, but of `\n`, `%3D` or a colour code whose
/// escape character was lost.
fn ends_in_escape(head: &[u8]) -> bool {
    match head {
        [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f'] => true,
        [.., b'%', a, b] => a.is_ascii_hexdigit() && b.is_ascii_hexdigit(),
        [head @ .., b'm'] => {
            let is_code = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
            let code = head.iter().rev().take(16).take_while(is_code).count();
            head[..head.len() - code].ends_with(b"[")
        }
        _ => false,
    }
}

fn in_blob(text: &str, at: usize) -> bool {
    let is_base64 = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'+' | b'/');
    let head = &text.as_bytes()[..at];
    head.iter().rev().take(BLOB).take_while(is_base64).count() == BLOB
}

/// Returns the complete marker that begins at a position.
fn marker_at(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[at + MARKER.len()..];
    let is_kind = |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-';
    let kind = rest.iter().take(41).take_while(is_kind).count();
    let digits = rest.get(kind + 1..)?.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
    let end = kind + 1 + digits;
    let is_marker = (1..=40).contains(&kind)
        && rest.get(kind) == Some(&b':')
        && (1..10).contains(&digits)
        && rest.get(end) == Some(&b']');
    is_marker.then(|| at..at + MARKER.len() + end + 1)
}

/// Returns the last character boundary that is not behind `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
