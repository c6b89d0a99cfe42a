//! Passes over the lines that cannot contain a model call, which are most of all bytes.

use super::record::Kind;
use crate::read::json::Raw;
use crate::read::scanner::{Invalid, Scanner};
use crate::time;

/// A line that is neither a model call nor needed to understand one.
#[derive(Debug, Default)]
pub(crate) struct QuickLine<'a> {
    at: Option<Raw<'a>>,
    ordinal: Option<Raw<'a>>,
    kind: Option<Kind>,
    /// The type of the payload, with its quotes.
    inner: Option<Raw<'a>>,
    role: Option<Raw<'a>>,
    has_payload: bool,
}

impl<'a> QuickLine<'a> {
    /// Parses a line. Returns `None` if it may matter or is unusual in any way; the whole record must then be
    /// parsed.
    pub(crate) fn new(line: &'a [u8]) -> Option<Self> {
        let mut scanner = Scanner::of_bytes(line);
        let mut quick = Self::default();
        scanner.fields(|scanner, key| quick.field(scanner, &key)).ok()?;
        scanner.end().ok()?;
        let is_plain = |raw: Option<Raw<'_>>| {
            raw.is_none_or(|raw| raw.get().starts_with('"') && !raw.get().contains('\\'))
        };
        (quick.has_payload && is_plain(quick.inner) && is_plain(quick.role)).then_some(quick)
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
                let is_needed = matches!(
                    self.inner(),
                    "\"token_count\"" | "\"task_started\"" | "\"thread_settings_applied\""
                );
                if is_needed && self.kind == Some(Kind::Event) { Err(Invalid) } else { Ok(()) }
            }
            b"role" => once(&mut self.role, scanner),
            _ => scanner.pass(),
        }
    }

    fn inner(&self) -> &'a str {
        self.inner.map_or("", Raw::get)
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
        assert_eq!(
            quick(r#"{"type":"event_msg","payload":{"type":"token_count","info":null}}"#),
            None
        );
        assert_eq!(quick(r#"{"type":"event_msg","payload":{"type":"user_message"}}"#), Some(false));
        assert_eq!(quick(r#"{"type":"turn_context","payload":{}}"#), None);
        assert_eq!(quick(r#"{"type":"event_msg","payload":{"type":"user_message"}"#), None);
        assert_eq!(quick(r#"{"payload":{"type":"reasoning"},"type":"response_item"}"#), None);
    }
}
