//! Reads only what counting needs of the usual lines: token counts, the model of a turn, and that a line is
//! neither.

use super::record::Kind;
use super::tokens::{self, Count};
use crate::read::scanner::{Invalid, Scanner};
use crate::time;

/// A token count, the settings of a turn, or a line that is not needed to understand a model call. Texts are
/// without their quotes, and have no escapes.
#[derive(Debug, Default)]
pub(crate) struct QuickLine<'a> {
    at: Option<&'a [u8]>,
    ordinal: Option<&'a [u8]>,
    kind: Option<Kind>,
    /// The type of the payload.
    inner: Option<&'a [u8]>,
    role: Option<&'a [u8]>,
    /// The model of a turn.
    model: Option<&'a [u8]>,
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
        if !quick.begin(&mut scanner).ok()? {
            (scanner, quick) = (Scanner::of_bytes(line), Self::default());
            scanner.fields(|scanner, key| quick.field(scanner, &key)).ok()?;
        }
        scanner.end().ok()?;
        let is_text = quick.model.is_none_or(|model| str::from_utf8(model).is_ok());
        (quick.has_payload && is_text).then_some(quick)
    }

    /// Reads a line whose fields are in the order in which Codex CLI writes them, without looking up each. Returns
    /// false if they are not.
    fn begin(&mut self, scanner: &mut Scanner<'a>) -> Result<bool, Invalid> {
        if !scanner.literal(b"{\"timestamp\":") {
            return Ok(false);
        }
        self.at = Some(scanner.plain()?);
        if scanner.literal(b",\"ordinal\":") {
            self.ordinal = Some(scanner.bytes()?);
        }
        if !scanner.literal(b",\"type\":") {
            return Ok(false);
        }
        self.kind = Some(kind(scanner.plain()?)?);
        if scanner.literal(b",\"payload\":{\"type\":") {
            self.inner(scanner)?;
            scanner.more_fields(|scanner, key| self.inner_field(scanner, &key))?;
        } else if scanner.literal(b",\"payload\":") {
            scanner.fields(|scanner, key| self.inner_field(scanner, &key))?;
        } else {
            return Ok(false);
        }
        self.has_payload = true;
        scanner.more_fields(|scanner, key| self.field(scanner, &key))?;
        Ok(true)
    }

    fn field(&mut self, scanner: &mut Scanner<'a>, key: &[u8]) -> Result<(), Invalid> {
        match key {
            b"timestamp" => once(&mut self.at, scanner),
            b"ordinal" if self.ordinal.is_none() => {
                self.ordinal = Some(scanner.bytes()?);
                Ok(())
            }
            b"type" if self.kind.is_none() => {
                self.kind = Some(kind(scanner.plain()?)?);
                Ok(())
            }
            b"payload" if self.kind.is_some() && !self.has_payload => {
                self.has_payload = true;
                scanner.fields(|scanner, key| self.inner_field(scanner, &key))
            }
            b"ordinal" | b"type" | b"payload" => Err(Invalid),
            _ => scanner.pass(),
        }
    }

    fn inner_field(&mut self, scanner: &mut Scanner<'a>, key: &[u8]) -> Result<(), Invalid> {
        match key {
            b"type" => self.inner(scanner),
            b"info" if self.is_count && !self.has_info => {
                self.has_info = true;
                self.count = tokens::count(scanner)?;
                Ok(())
            }
            // It is repeated, or the line may still turn out to be a count.
            b"info" if self.is_count || self.inner.is_none() => Err(Invalid),
            b"role" => once(&mut self.role, scanner),
            b"model" if self.kind == Some(Kind::TurnContext) => once(&mut self.model, scanner),
            _ => scanner.pass(),
        }
    }

    /// Reads the type of the payload.
    fn inner(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Invalid> {
        once(&mut self.inner, scanner)?;
        let is_event = self.kind == Some(Kind::Event);
        let inner = self.inner.unwrap_or_default();
        self.is_count = is_event && inner == b"token_count";
        let is_needed = matches!(inner, b"task_started" | b"thread_settings_applied");
        if is_event && is_needed { Err(Invalid) } else { Ok(()) }
    }

    /// Returns whether it is a token count.
    pub(crate) fn is_count(&self) -> bool {
        self.is_count
    }

    /// Returns the numbers of a token count; `None` if it has no total.
    pub(crate) fn count(&self) -> Option<Count> {
        self.count
    }

    /// Returns whether it has the settings of a turn.
    pub(crate) fn is_context(&self) -> bool {
        self.kind == Some(Kind::TurnContext)
    }

    /// Returns the model of a turn.
    pub(crate) fn model(&self) -> Option<&'a str> {
        str::from_utf8(self.model?).ok()
    }

    /// Returns the time at which the line was written.
    pub(crate) fn at(&self) -> Option<jiff::Timestamp> {
        time::iso_bytes(self.at?)
    }

    /// Returns the position of the line in a history that may be spread over several files.
    pub(crate) fn ordinal(&self) -> Option<u64> {
        str::from_utf8(self.ordinal?).ok()?.parse().ok()
    }

    /// Returns whether it is an output of the model.
    pub(crate) fn is_output(&self) -> bool {
        let text = Option::unwrap_or_default;
        self.kind == Some(Kind::Item) && is_output(text(self.inner), text(self.role))
    }
}

/// Returns the kind of a line that may be read quickly.
fn kind(name: &[u8]) -> Result<Kind, Invalid> {
    match name {
        b"response_item" => Ok(Kind::Item),
        b"event_msg" => Ok(Kind::Event),
        b"turn_context" => Ok(Kind::TurnContext),
        _ => Err(Invalid),
    }
}

/// Returns whether an item of this type and role is an output of the model.
pub(crate) fn is_output(kind: &[u8], role: &[u8]) -> bool {
    (kind == b"message" && role == b"assistant") || kind == b"reasoning" || kind.ends_with(b"_call")
}

/// Reads a text that must not be repeated.
fn once<'a>(field: &mut Option<&'a [u8]>, scanner: &mut Scanner<'a>) -> Result<(), Invalid> {
    if field.replace(scanner.plain()?).is_some() { Err(Invalid) } else { Ok(()) }
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
        assert_eq!(quick(r#"{"type":"turn_context","payload":{}}"#), Some(false));
        assert_eq!(quick(r#"{"type":"session_meta","payload":{}}"#), None);
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
    fn the_model_of_a_turn_is_the_same_read_either_way() {
        for (payload, is_quick) in [
            (r#"{"cwd":"/a","model":"gpt-6"}"#, true),
            (r#"{"type":"x","model":"gpt-6","n":{"model":"b"}}"#, true),
            (r#"{"cwd":"/a"}"#, true),
            (r#"{"model":""}"#, true),
            (r#"{"model":"gpt\u002d6"}"#, false),
            (r#"{"model":null}"#, false),
            (r#"{"model":["a"]}"#, false),
            (r#"{"model":"a","model":"b"}"#, false),
        ] {
            for head in ["", r#""timestamp":"2026-01-01T00:00:00Z","#, r#""ordinal":3,"#] {
                let line = format!(r#"{{{head}"type":"turn_context","payload":{payload}}}"#);
                let quick = QuickLine::new(line.as_bytes());
                assert_eq!(quick.is_some(), is_quick, "{line}");
                let record = Record::read(&line).unwrap();
                let (want, at) = (record.body.text("model"), record.at);
                let is_same = |quick: QuickLine<'_>| {
                    quick.is_context() && quick.model() == want.as_deref() && quick.at() == at
                };
                assert!(quick.is_none_or(is_same), "{line}");
            }
        }
    }

    #[test]
    fn a_model_that_is_not_text_is_left_to_the_whole_record() {
        let line = b"{\"type\":\"turn_context\",\"payload\":{\"model\":\"a\xFF\"}}";
        assert!(QuickLine::new(line).is_none());
    }

    #[test]
    fn fields_in_the_usual_order_are_read_like_any_others() {
        let payloads = [
            r#"{"type":"message","role":"assistant","content":[{"type":"x"}]}"#,
            r#"{"type":"function_call","name":"a"}"#,
            r#"{"type":"reasoning"}"#,
            r#"{"type":"message","type":"reasoning"}"#,
            r#"{"type":"message","role":"user","role":"assistant"}"#,
            r#"{"type":"task_started"}"#,
            r#"{"type":"token_count","info":{"total_token_usage":{"input_tokens":5}}}"#,
            r#"{"type":7}"#,
            r#"{"type":"a","b":}"#,
            r#"{"type":"a""#,
            "[]",
        ];
        for payload in payloads {
            for kind in ["response_item", "event_msg", "turn_context", "session_meta"] {
                for rest in [
                    "",
                    r#","metadata":{"a":[1]}"#,
                    r#","type":"event_msg""#,
                    r#","payload":{}"#,
                    "}",
                ] {
                    let (at, ordinal) =
                        (r#""timestamp":"2026-01-01T00:00:00.5Z""#, r#""ordinal":12"#);
                    let kind = format!(r#""type":"{kind}""#);
                    let usual = format!(r#"{{{at},{ordinal},{kind},"payload":{payload}{rest}}}"#);
                    let other = format!(r#"{{{ordinal},{at} ,{kind},"payload":{payload}{rest}}}"#);
                    let read = |line: &str| {
                        let quick = QuickLine::new(line.as_bytes())?;
                        let count = quick.count().map(|count| format!("{count:?}"));
                        Some((
                            quick.at(),
                            quick.ordinal(),
                            quick.is_output(),
                            quick.is_count(),
                            count,
                        ))
                    };
                    assert_eq!(read(&usual), read(&other), "{usual}");
                }
            }
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
