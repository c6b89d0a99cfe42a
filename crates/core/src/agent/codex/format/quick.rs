//! Reads only what counting needs of the usual lines: token counts, and that a line is none.

use super::record::Kind;
use super::tokens::{self, Count};
use crate::read::json::Raw;
use crate::read::scanner::{Invalid, Scanner};
use crate::time;

/// A token count, or a line that is neither a model call nor needed to understand one.
#[derive(Debug, Default)]
pub(crate) struct QuickLine<'a> {
    at: Option<Raw<'a>>,
    ordinal: Option<Raw<'a>>,
    kind: Option<Kind>,
    /// The type of the payload, with its quotes.
    inner: Option<Raw<'a>>,
    role: Option<Raw<'a>>,
    has_payload: bool,
    is_count: bool,
    has_info: bool,
    count: Option<Count>,
}

impl<'a> QuickLine<'a> {
    /// Parses a line. Returns `None` if it may matter or is unusual in any way; the whole record must then be
    /// parsed.
    pub(crate) fn new(line: &'a [u8]) -> Option<Self> {
        let mut scanner = Scanner::of_bytes(line);
        let mut quick = Self::default();
        scanner.fields(|scanner, key| quick.field(scanner, &key)).ok()?;
        scanner.end().ok()?;
        let is_plain = |raw: &Option<Raw<'_>>| {
            raw.is_none_or(|raw| raw.get().starts_with('"') && !raw.get().contains('\\'))
        };
        let texts = [quick.at, quick.inner, quick.role];
        (quick.has_payload && texts.iter().all(is_plain)).then_some(quick)
    }

    fn field(&mut self, scanner: &mut Scanner<'a>, key: &[u8]) -> Result<(), Invalid> {
        match key {
            b"timestamp" => once(&mut self.at, scanner),
            b"ordinal" => once(&mut self.ordinal, scanner),
            b"type" if self.kind.is_none() => {
                self.kind = match scanner.value()?.get() {
                    "\"response_item\"" => Some(Kind::Item),
                    "\"event_msg\"" => Some(Kind::Event),
                    _ => return Err(Invalid),
                };
                Ok(())
            }
            b"payload" if self.kind.is_some() && !self.has_payload => {
                self.has_payload = true;
                scanner.fields(|scanner, key| self.inner_field(scanner, &key))
            }
            b"type" | b"payload" => Err(Invalid),
            _ => scanner.pass(),
        }
    }

    fn inner_field(&mut self, scanner: &mut Scanner<'a>, key: &[u8]) -> Result<(), Invalid> {
        match key {
            b"type" => {
                once(&mut self.inner, scanner)?;
                let is_event = self.kind == Some(Kind::Event);
                self.is_count = is_event && self.inner() == "\"token_count\"";
                let is_needed =
                    matches!(self.inner(), "\"task_started\"" | "\"thread_settings_applied\"");
                if is_event && is_needed { Err(Invalid) } else { Ok(()) }
            }
            b"info" if self.is_count && !self.has_info => {
                self.has_info = true;
                self.count = tokens::count(scanner)?;
                Ok(())
            }
            // It is repeated, or the line may still turn out to be a count.
            b"info" if self.is_count || self.inner.is_none() => Err(Invalid),
            b"role" => once(&mut self.role, scanner),
            _ => scanner.pass(),
        }
    }

    fn inner(&self) -> &'a str {
        self.inner.map_or("", Raw::get)
    }

    /// Returns whether it is a token count.
    pub(crate) fn is_count(&self) -> bool {
        self.is_count
    }

    /// Returns the numbers of a token count; `None` if it has no total.
    pub(crate) fn count(&self) -> Option<Count> {
        self.count
    }

    /// Returns the time at which the line was written.
    pub(crate) fn at(&self) -> Option<jiff::Timestamp> {
        time::iso(self.at?.get().strip_prefix('"')?.strip_suffix('"')?)
    }

    /// Returns the position of the line in a history that may be spread over several files.
    pub(crate) fn ordinal(&self) -> Option<u64> {
        self.ordinal?.get().parse().ok()
    }

    /// Returns whether it is an output of the model.
    pub(crate) fn is_output(&self) -> bool {
        let role = self.role.map_or("", Raw::get);
        self.kind == Some(Kind::Item) && is_output(unquoted(self.inner()), unquoted(role))
    }
}

/// Returns whether an item of this type and role is an output of the model.
pub(crate) fn is_output(kind: &str, role: &str) -> bool {
    (kind == "message" && role == "assistant") || kind == "reasoning" || kind.ends_with("_call")
}

fn unquoted(text: &str) -> &str {
    text.trim_matches('"')
}

/// Reads a field that must not be repeated.
fn once<'a>(field: &mut Option<Raw<'a>>, scanner: &mut Scanner<'a>) -> Result<(), Invalid> {
    if field.replace(scanner.value()?).is_some() { Err(Invalid) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::codex::format::Record;

    #[test]
    fn only_lines_without_calls_are_passed_over() {
        let quick = |line: &str| QuickLine::new(line.as_bytes()).map(|quick| quick.is_output());
        let item = |payload: &str| {
            quick(&format!(
                r#"{{"timestamp":"2026-01-01T00:00:00.000Z","type":"response_item","payload":{payload}}}"#
            ))
        };
        assert_eq!(item(r#"{"type":"message","role":"assistant","content":[]}"#), Some(true));
        assert_eq!(
            item(r#"{"type":"message","role":"user","content":[{"type":"x"}]}"#),
            Some(false)
        );
        assert_eq!(item(r#"{"type":"function_call","name":"token_count"}"#), Some(true));
        assert_eq!(item(r#"{"type":"function_call_output"}"#), Some(false));
        assert_eq!(item(r#"{"type":"reasoning","type":"message"}"#), None);
        assert_eq!(item(r#"{"type":"reason\u0069ng"}"#), None);
        assert_eq!(item("null"), None);
        let started = r#"{"type":"event_msg","payload":{"type":"task_started"}}"#;
        assert_eq!(quick(started), None);
        assert_eq!(quick(r#"{"type":"event_msg","payload":{"type":"user_message"}}"#), Some(false));
        assert_eq!(quick(r#"{"type":"turn_context","payload":{}}"#), None);
        assert_eq!(quick(r#"{"type":"event_msg","payload":{"type":"user_message"}"#), None);
        assert_eq!(quick(r#"{"payload":{"type":"reasoning"},"type":"response_item"}"#), None);
    }
    #[test]
    fn a_count_is_the_same_read_either_way() {
        let totals = r#"{"total_token_usage":{"input_tokens":5,"output_tokens":2},"x":[{}]}"#;
        let escaped = totals.replace("total_t", "total\\u005ft");
        let event = |payload: &str| format!(r#"{{"type":"event_msg","payload":{{{payload}}}}}"#);
        for (payload, is_quick) in [
            (format!(r#""type":"token_count","info":{totals},"rate_limits":null"#), true),
            (format!(r#""type":"token_count","info":{escaped}"#), true),
            (r#""type":"token_count","info":null"#.to_owned(), true),
            (r#""type":"token_count""#.to_owned(), true),
            (format!(r#""type":"token_count","info":{totals},"info":null"#), false),
            (format!(r#""info":{totals},"type":"token_count""#), false),
            (format!(r#""type":"token\u005fcount","info":{totals}"#), false),
        ] {
            let line = event(&payload);
            let quick = QuickLine::new(line.as_bytes());
            assert_eq!(quick.is_some(), is_quick, "{line}");
            let want = Record::read(&line).unwrap().body.count();
            let is_same = |quick: QuickLine<'_>| quick.is_count() && quick.count() == want;
            assert!(quick.is_none_or(is_same), "{line}");
        }
    }

    #[test]
    fn an_escaped_time_is_left_to_the_whole_record() {
        let line =
            r#"{"timestamp":"2026-01-01T00:00:00.000\u005a","type":"event_msg","payload":{}}"#;
        assert!(QuickLine::new(line.as_bytes()).is_none());
        assert!(Record::read(line).unwrap().at.is_some());
    }
}
