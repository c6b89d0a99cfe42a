//! Finds the group of a match without the engine that tracks groups, which takes many times longer.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

/// The two parts of a pattern that ends with its only group, compiled when first needed.
#[derive(Debug)]
pub(super) struct Ending {
    head: Part,
    group: Part,
}

#[derive(Debug)]
struct Part {
    source: String,
    regex: OnceLock<Option<Regex>>,
}

impl Ending {
    /// Splits a pattern, if it is a sequence whose last element is its only group.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        let (mut depth, mut is_class, mut start) = (0, false, None);
        let bytes = pattern.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'\\' => at += 1,
                b'[' if !is_class => {
                    is_class = true;
                    // A bracket that comes first is part of the class.
                    at += usize::from(bytes.get(at + 1) == Some(&b'^'));
                    at += usize::from(bytes.get(at + 1) == Some(&b']'));
                }
                b'[' => return None,
                b']' => is_class = false,
                _ if is_class => {}
                b'(' => {
                    let is_group = bytes.get(at + 1) != Some(&b'?');
                    // A flag that is not confined to a group would be lost.
                    let is_flag = !is_group && !is_confined(&pattern[at + 2..]);
                    if is_flag || is_group && (depth > 0 || start.replace(at).is_some()) {
                        return None;
                    }
                    depth += 1;
                }
                b')' => depth -= 1,
                b'|' if depth == 0 => return None,
                _ => {}
            }
            at += 1;
            if depth == 0 && start.is_some() {
                break;
            }
        }
        let (head, group) = pattern.split_at(start.filter(|_| at == bytes.len())?);
        Some(Self { head: Part::new(head), group: Part::new(group) })
    }

    /// Returns the group of a match that is a whole text. `None` means that only the engine can tell.
    ///
    /// Of all ways to match, a regex prefers the one whose beginning it prefers. So if the rest of the text can follow the
    /// beginning that `head` prefers, this is how the whole pattern matches.
    pub(super) fn find(&self, text: &str) -> Option<Range<usize>> {
        let start = self.head.regex()?.find(text)?.end();
        let end = start + self.group.regex()?.find(&text[start..])?.end();
        (end == text.len()).then_some(start..end)
    }
}

impl Part {
    fn new(source: &str) -> Self {
        Self { source: format!(r"\A(?:{source})"), regex: OnceLock::new() }
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&self.source).ok()).as_ref()
    }
}

/// Returns whether the text behind `(?` is that of a group, with or without flags.
fn is_confined(rest: &str) -> bool {
    rest.find([':', ')']).is_some_and(|end| rest[end..].starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_last_group_is_split_off() {
        let parts = |pattern| {
            let ending = Ending::of(pattern)?;
            Some((ending.head.source, ending.group.source))
        };
        let split =
            |head: &str, group: &str| Some((format!(r"\A(?:{head})"), format!(r"\A(?:{group})")));
        assert_eq!(parts(r"(?i:a|b)\([)(|]([^]()]+)"), split(r"(?i:a|b)\([)(|]", "([^]()]+)"));
        assert_eq!(parts("a((?:b|c)d)"), split("a", "((?:b|c)d)"));
        for pattern in [
            "ab",
            "a(b)c",
            "(a)(b)",
            "a|(b)",
            "(a|(b))",
            "(?:a(b))",
            "(?i)a(b)",
            "a(b)+",
            "[a[b]](c)",
        ] {
            assert!(parts(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn the_group_is_that_of_the_whole_pattern() {
        for (pattern, text, want) in [
            ("a{1,3}([ab]{2,})", "aaab", None),
            ("a{1,3}([ab]{2,})", "aaaabb", Some(3..6)),
            ("a{1,3}?([ab]{2,})", "aaaab", Some(1..5)),
            ("(?:ab|a)(b?c)", "abc", Some(2..3)),
        ] {
            let group = Ending::of(pattern).unwrap().find(text);
            assert_eq!(group, want, "{pattern}");
            let captures = Regex::new(pattern).unwrap().captures(text).unwrap();
            assert!(group.is_none_or(|group| group == captures.get(1).unwrap().range()));
        }
    }
}
