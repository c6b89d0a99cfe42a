//! Finds secrets in a text.

use std::cmp::Reverse;
use std::ops::Range;

use super::rule::{Before, MARKER, Rule, Rules};
use super::value::{entropy, fits};

/// So much base64 without a break before a match means that it stands inside a blob.
const BLOB: usize = 256;

/// A secret and where its match began.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) at: usize,
    pub(super) secret: Range<usize>,
    pub(super) rule: usize,
}

/// The secrets of a text in order, none inside or beside a marker. Of those that overlap the earliest
/// counts, then the longest, then the rule that is listed first.
pub(super) fn scan(rules: &Rules, text: &str) -> Vec<Found> {
    let mut search = Search { rules, text, found: Vec::new() };
    let mut markers: Vec<Range<usize>> = Vec::new();
    let mut woken: Vec<usize> = rules.always.clone();
    for hit in rules.keywords.find_overlapping_iter(text) {
        let keyword = hit.pattern().as_usize();
        if keyword == 0 {
            markers.extend(marker_at(text, hit.start()));
            continue;
        }
        for at in &rules.wakes[keyword] {
            if rules.list[*at].search {
                if !woken.contains(at) {
                    woken.push(*at);
                }
            } else {
                search.look(*at, hit.start());
            }
        }
    }
    for rule in woken {
        search.everywhere(rule);
    }
    let mut found = search.found;
    if !markers.is_empty() {
        found.retain(|found| {
            let touches = |marker: &Range<usize>| {
                found.secret.start < marker.end && marker.start <= found.secret.end
                    || marker.contains(&found.at)
            };
            !markers.iter().any(touches)
        });
    }
    found.sort_by_key(|found| (found.secret.start, Reverse(found.secret.end), found.rule));
    let mut end = 0;
    found.retain(|found| {
        let is_first = found.secret.start >= end;
        if is_first {
            end = found.secret.end;
        }
        is_first
    });
    found
}

struct Search<'a> {
    rules: &'a Rules,
    text: &'a str,
    found: Vec<Found>,
}

impl Search<'_> {
    /// Tries a rule at a place where its keyword stands.
    fn look(&mut self, at: usize, hit: usize) {
        let rule = &self.rules.list[at];
        let Some(start) = hit.checked_sub(rule.lead) else { return };
        // What begins inside a secret of the same rule would lose to it anyway.
        let is_inside = |found: &Found| found.rule == at && found.secret.contains(&start);
        if !may_begin(rule.before, self.text, start) || self.found.last().is_some_and(is_inside) {
            return;
        }
        let end = floor(self.text, start + rule.reach);
        let Some(window) = self.text.get(start..end) else { return };
        let Some(regex) = rule.regex() else { return };
        // To find a match is many times cheaper than to find its groups.
        let (secret, end) = if regex.captures_len() == 1 {
            let Some(whole) = regex.find(window) else { return };
            (whole, whole.end())
        } else {
            let Some(captures) = regex.captures(window) else { return };
            let Some(whole) = captures.get(0) else { return };
            (captures.iter().skip(1).flatten().next().unwrap_or(whole), whole.end())
        };
        let range = start + secret.start()..start + secret.end();
        self.take(at, start, range, secret.end() == end);
    }

    fn everywhere(&mut self, at: usize) {
        let rule = &self.rules.list[at];
        let Some(regex) = rule.regex() else { return };
        for captures in regex.captures_iter(self.text) {
            let Some(whole) = captures.get(0) else { continue };
            let secret = captures.iter().skip(1).flatten().next().unwrap_or(whole);
            if whole.len() <= rule.reach {
                self.take(at, whole.start(), secret.range(), false);
            }
        }
    }

    /// Keeps what passes the last checks.
    fn take(&mut self, at: usize, start: usize, secret: Range<usize>, is_last: bool) {
        let rule = &self.rules.list[at];
        let (text, rest) = (&self.text[secret.clone()], &self.text[secret.end..]);
        let next = rest.chars().next();
        // A word that goes on is another word.
        if is_last && next.is_some_and(|c| c.is_ascii_alphanumeric()) && is_whole(rule) {
            return;
        }
        let is_secret = !text.is_empty()
            && fits(rule.value, text, next)
            && (rule.entropy == 0.0 || entropy(text) >= rule.entropy)
            && !in_blob(self.text, start)
            && !self.rules.is_allowed(text);
        if is_secret {
            self.found.push(Found { at: start, secret, rule: at });
        }
    }
}

/// Whether its end must be the end of a word.
fn is_whole(rule: &Rule) -> bool {
    !rule.search && rule.before != Before::Any
}

/// Whether a match may begin here.
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
            // An option is short; a longer run is something else.
            let name = head.iter().rev().take(40).take_while(|byte| is_name(byte)).count();
            let (head, name) = head.split_at(head.len() - name);
            let is_alone =
                head.last().is_none_or(|byte| !matches!(byte, b'_' | b'.' | b'/' | b':'));
            is_alone && (name.is_empty() || name.starts_with(b"-"))
        }
    }
}

/// The letters before are not of a word but of `\n`, `\u003d`, `%3D` or a colour of the terminal.
fn ends_in_escape(head: &[u8]) -> bool {
    match head {
        [.., b'\\', b'n' | b't' | b'r' | b'b' | b'f'] => true,
        [.., b'\\', b'u', a, b, c, d] => [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()),
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

/// The whole marker that begins here.
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

/// The end of the last whole character before `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}
