//! Converts a message's `content` as Gemini CLI's loader does, including its exceptions.
//!
//! Before the loader stores a message, it converts the content to a string to check whether there
//! is anything worth resuming. For odd content that conversion throws, and the message is dropped.
//! To get the same list, this code must throw in the same places, so it follows JavaScript's rules
//! for converting values to strings (upstream: `partToString` in `utils/partUtils.ts`, verbose,
//! 0.61).

mod js;

use serde::{Deserialize, Serialize};

use self::js::{Step, member, to_number, to_string, walk};
use crate::read::json::{self, Raw};
use crate::read::scanner::{Invalid, Scanner};

/// The loader's conversion threw an exception.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Throws;

/// The outcome of the conversion.
enum Shown<'a> {
    /// A JSON string.
    Text(Raw<'a>),
    /// Upstream's label for a part that is not text. Only its beginning, because nothing reads
    /// further.
    Label(&'static str),
    /// A bare part whose `text` is not a string, which is returned unchanged.
    Other(Raw<'a>),
}

/// Identifies a part of a content, whatever record contains it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Key {
    /// A hash of the beginning of a text, ignoring white space.
    Text(u64),
    /// A function call: its id, or its name if it has none.
    Call(Box<str>),
    /// The id of the call that a function response answers.
    Response(Box<str>),
    /// The function of a response without such an id, which answers some call of it.
    ResponseOf(Box<str>),
}

/// The data needed from a content without reading all of it.
#[derive(Debug, Default)]
pub(crate) struct Glance {
    /// The beginning of the loader's string, from the first character that is not white space; just
    /// enough to distinguish the kinds of content.
    pub(crate) lead: String,
    pub(crate) keys: Vec<Key>,
}

/// Returns the first character of a text that is not white space.
pub(crate) fn first_letter(text: Raw<'_>) -> Option<char> {
    json::chars(text)?.find(|c| !is_js_space(*c))
}

/// Evaluates a content as the loader does: `content ? partToString(content) : ''`, then trimmed.
///
/// `trims` is whether the caller goes on to trim the result, which throws unless it is a string.
///
/// `parts` are the content's parts, if they are already known.
pub(crate) fn glance(
    content: Option<Raw<'_>>,
    parts: Option<&[Part<'_>]>,
    trims: bool,
) -> (Glance, Result<(), Throws>) {
    let mut out = Glance::default();
    let result = look(content, parts, trims, &mut out);
    (out, result)
}

fn look(
    content: Option<Raw<'_>>,
    parts: Option<&[Part<'_>]>,
    trims: bool,
    out: &mut Glance,
) -> Result<(), Throws> {
    let Some(content) = content.filter(|raw| json::is_truthy(*raw)) else { return Ok(()) };
    let mut text = Prefix(&mut out.lead);
    let keys = &mut out.keys;
    if let Some(parts) = parts {
        return parts.iter().try_for_each(|part| text.show_part(part, keys));
    }
    if content.get().starts_with('[') {
        return walk(content.get(), |step| match step {
            Step::Leaf(leaf) => text.show_part(&Part::new(leaf), keys),
            Step::Comma => Ok(()),
        });
    }
    match Part::new(content).shown(keys)? {
        Shown::Other(_) if trims => Err(Throws),
        shown => {
            text.show(&shown);
            Ok(())
        }
    }
}

fn text_key(raw: Raw<'_>) -> Option<Key> {
    // FNV-1a, because this runs for every text of every file, on a handful of characters.
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    let add = |hash: u64, c: char| (hash ^ u64::from(c)).wrapping_mul(0x0100_0000_01b3);
    let mut words = json::chars(raw)?.filter(|c| !is_js_space(*c)).take(Prefix::LENGTH);
    let first = add(START, words.next()?);
    Some(Key::Text(words.fold(first, add)))
}

fn call_key(function: Raw<'_>) -> Option<Key> {
    let text = |name| member_of_object(function, name).ok().flatten().and_then(json::string);
    Some(Key::Call(text(b"id").or_else(|| text(b"name"))?.into()))
}

fn response_key(function: Raw<'_>) -> Key {
    let text = |name| member_of_object(function, name).ok().flatten().and_then(json::string);
    match text(b"id") {
        Some(id) => Key::Response(id.into()),
        None => Key::ResponseOf(text(b"name").unwrap_or_default().into()),
    }
}

/// The beginning of a text, from its first character that is not white space.
struct Prefix<'a>(&'a mut String);

impl Prefix<'_> {
    /// Enough to recognize a text.
    const LENGTH: usize = 64;

    fn show_part(&mut self, part: &Part<'_>, keys: &mut Vec<Key>) -> Result<(), Throws> {
        if part.is_truthy() {
            match part.shown(keys)? {
                Shown::Other(value) => self.extend(to_string(value)?.chars()),
                shown => self.show(&shown),
            }
        }
        Ok(())
    }

    fn show(&mut self, shown: &Shown<'_>) {
        match shown {
            Shown::Text(raw) => self.extend(json::chars(*raw).into_iter().flatten()),
            Shown::Label(label) => self.extend(label.chars()),
            Shown::Other(_) => {}
        }
    }

    fn extend(&mut self, text: impl Iterator<Item = char>) {
        let room = Self::LENGTH.saturating_sub(self.0.chars().count());
        let blank = self.0.is_empty();
        if blank {
            self.0.reserve(room);
        }
        self.0.extend(text.skip_while(|c| blank && is_js_space(*c)).take(room));
    }
}

/// Returns whether `String.prototype.trim` removes a character.
pub(crate) fn is_js_space(c: char) -> bool {
    c == '\u{FEFF}' || (c.is_whitespace() && c != '\u{85}')
}

/// One value of a list of parts, with its fields unparsed.
#[derive(Debug)]
pub(crate) enum Part<'a> {
    Object(PartFields<'a>),
    Other(Raw<'a>),
}

/// The fields of a part that the loader reads.
#[derive(Debug, Default)]
pub(crate) struct PartFields<'a> {
    video: Option<Raw<'a>>,
    thought: Option<Raw<'a>>,
    result: Option<Raw<'a>>,
    code: Option<Raw<'a>>,
    file: Option<Raw<'a>>,
    call: Option<Raw<'a>>,
    response: Option<Raw<'a>>,
    inline: Option<Raw<'a>>,
    text: Option<Raw<'a>>,
}

impl<'a> Part<'a> {
    fn new(raw: Raw<'a>) -> Self {
        Self::scan(&mut Scanner::new(raw.get())).unwrap_or(Self::Other(raw))
    }

    fn scan(scanner: &mut Scanner<'a>) -> Result<Self, Invalid> {
        if scanner.peek() != Some(b'{') {
            return Ok(Self::Other(scanner.value()?));
        }
        let mut part = PartFields::default();
        scanner.fields(|scanner, key| {
            let value = Some(scanner.value()?);
            match &*key {
                b"videoMetadata" => part.video = value,
                b"thought" => part.thought = value,
                b"codeExecutionResult" => part.result = value,
                b"executableCode" => part.code = value,
                b"fileData" => part.file = value,
                b"functionCall" => part.call = value,
                b"functionResponse" => part.response = value,
                b"inlineData" => part.inline = value,
                b"text" => part.text = value,
                _ => {}
            }
            Ok(())
        })?;
        Ok(Self::Object(part))
    }

    /// Scans a content that is a list of parts during the pass over its record, because a text can
    /// be long. Returns `None` for any other content, and for a list within a list.
    pub(crate) fn scan_list(scanner: &mut Scanner<'a>) -> Result<Option<Vec<Self>>, Invalid> {
        if scanner.peek() != Some(b'[') {
            scanner.value()?;
            return Ok(None);
        }
        let (mut parts, mut is_flat) = (Vec::new(), true);
        scanner.elements(|scanner| {
            is_flat &= scanner.peek() != Some(b'[');
            parts.push(Self::scan(scanner)?);
            Ok(())
        })?;
        Ok(is_flat.then_some(parts))
    }

    /// Returns the text of the part if it is a string and not a thought.
    pub(crate) fn text(&self) -> Option<Raw<'a>> {
        let text = match self {
            Self::Object(part) if part.thought.is_some_and(json::is_truthy) => None,
            Self::Object(part) => part.text,
            Self::Other(raw) => Some(*raw),
        };
        text.filter(|raw| raw.get().starts_with('"'))
    }

    fn is_truthy(&self) -> bool {
        match self {
            Self::Object(_) => true,
            Self::Other(raw) => json::is_truthy(*raw),
        }
    }

    /// Converts the part as the loader does, and adds its identity to `known`. JSON cannot contain
    /// `undefined`, so a key with null is present.
    fn shown(&self, known: &mut Vec<Key>) -> Result<Shown<'a>, Throws> {
        let part = match self {
            Self::Object(part) => part,
            Self::Other(raw) if raw.get().starts_with('"') => {
                known.extend(text_key(*raw));
                return Ok(Shown::Text(*raw));
            }
            // A number or a boolean has no `text`.
            Self::Other(_) => return Ok(Shown::Label("")),
        };
        let PartFields { video, thought, result, code, file, call, response, inline, text } = *part;
        if thought.is_none() {
            known.extend(text.and_then(text_key));
        }
        known.extend(call.and_then(call_key));
        known.extend(response.map(response_key));
        let placeholder = |label: &'static str| Ok(Shown::Label(label));
        if video.is_some() {
            return placeholder("[Video Metadata]");
        }
        if let Some(thought) = thought {
            to_string(thought)?;
            return placeholder("[Thought: …]");
        }
        if result.is_some() {
            return placeholder("[Code Execution Result]");
        }
        if code.is_some() {
            return placeholder("[Executable Code]");
        }
        if file.is_some() {
            return placeholder("[File Data]");
        }
        if let Some(function) = call.or(response) {
            if let Some(name) = member(function, b"name")? {
                to_string(name)?;
            }
            return placeholder("[Function …]");
        }
        if let Some(inline) = inline {
            media(inline)?;
            return placeholder("[Media …]");
        }
        match text {
            Some(text) if text.get().starts_with('"') => Ok(Shown::Text(text)),
            Some(text) if text.get() != "null" => Ok(Shown::Other(text)),
            _ => Ok(Shown::Label("")),
        }
    }
}

/// Reads `mimeType` and `data` of inline data as the loader does.
fn media(inline: Raw<'_>) -> Result<(), Throws> {
    let present = |field: Option<Raw<'_>>| field.is_some_and(|raw| raw.get() != "null");
    let mime = member(inline, b"mimeType")?;
    if present(mime) && mime.and_then(json::js_string).is_none() {
        return Err(Throws); // no `startsWith` on it
    }
    let data = member(inline, b"data")?;
    if let Some(data) = data.filter(|raw| raw.get().starts_with('{')) {
        // `data.length * 3` turns the length into a number.
        if let Some(length) = member(data, b"length")? {
            to_number(length)?;
        }
    }
    Ok(())
}

/// Evaluates `(value?.length ?? 0) > 0`, as the loader does for `toolCalls` and `thoughts`.
pub(crate) fn has_length(value: Option<Raw<'_>>) -> Result<bool, Throws> {
    let Some(value) = value.filter(|raw| raw.get() != "null") else {
        return Ok(false);
    };
    match value.get().as_bytes().first() {
        Some(b'"') => Ok(value.get().len() > 2),
        Some(b'[') => Ok(!value.get()[1..].trim_start().starts_with(']')),
        Some(b'{') => match member(value, b"length")? {
            Some(length) if length.get() != "null" => Ok(to_number(length)? > 0.0),
            _ => Ok(false),
        },
        _ => Ok(false),
    }
}

/// Returns the loader's first user message: the text parts of an array, or the string itself. It is
/// a JSON string, because JavaScript strings can contain values that Rust's cannot.
pub(crate) fn first_message(content: Raw<'_>) -> Option<String> {
    let inner = |text: &'_ str| text.starts_with('"').then(|| text[1..text.len() - 1].to_owned());
    if let Some(text) = inner(content.get()) {
        return Some(format!("\"{text}\""));
    }
    if !content.get().starts_with('[') {
        return None;
    }
    let mut out = String::from("\"");
    let _ = json::each_element(content.get(), |element| {
        if let Ok(Some(text)) = member_of_object(element, b"text") {
            out.extend(inner(text.get()));
        }
    });
    out.push('"');
    Some(out)
}

fn member_of_object<'a>(value: Raw<'a>, key: &[u8]) -> Result<Option<Raw<'a>>, Throws> {
    if value.get().starts_with('{') { member(value, key) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Raw<'_> {
        Raw::new(text).unwrap()
    }

    fn lead(text: &str) -> Result<String, Throws> {
        let (glance, result) = glance(Some(raw(text)), None, true);
        result.map(|()| glance.lead)
    }

    #[test]
    fn shown_as_upstream_shows_it() {
        for (content, want) in [
            (r#"" \u00a0\ufeff hi""#, "hi"),
            (r#"["a",{"text":"b"},null,7,["c",["d"]]]"#, "abcd"),
            (
                r#"[{"text":5},{"text":null},{"text":[1,[2,null]]},{"text":{}}]"#,
                "51,2,[object Object]",
            ),
            ("5", ""),
            ("true", ""),
            ("null", ""),
            (r#"{"text":"x","thought":null}"#, "[Thought: …]"),
            (r#"{"functionCall":"x"}"#, "[Function …]"),
            (r#"{"text":null}"#, ""),
            ("{}", ""),
        ] {
            assert_eq!(lead(content).as_deref(), Ok(want), "{content}");
        }
        assert_eq!(glance(None, None, true).0.lead, "");
    }

    #[test]
    fn throws_where_upstream_throws() {
        for content in [
            r#"{"text":5}"#,
            r#"{"text":false}"#,
            r#"{"functionCall":null}"#,
            r#"[["x"],{"functionCall":null}]"#,
            r#"{"functionResponse":null}"#,
            r#"{"inlineData":null}"#,
            r#"{"inlineData":{"mimeType":5}}"#,
            r#"{"inlineData":{"data":{"length":{"toString":1}}}}"#,
            r#"[{"text":{"toString":1}}]"#,
            r#"[{"text":[[{"toString":1}]]}]"#,
            r#"{"thought":{"toString":null}}"#,
            r#"{"functionCall":{"name":{"toString":1}}}"#,
        ] {
            assert_eq!(lead(content), Err(Throws), "{content}");
        }
        assert_eq!(glance(Some(raw(r#"{"text":5}"#)), None, false).1, Ok(()));
    }

    #[test]
    fn any_depth() {
        for (depth, want) in [(1000, Ok("x".to_owned())), (100_000, Err(Throws))] {
            let text = format!("{}\"x\"{}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(lead(&text), want, "{depth}");
        }
    }

    #[test]
    fn keys_of_parts() {
        let content = raw(
            r#"[{"text":" a  b"},{"thought":true,"text":"t"},{"functionCall":{"id":"c1","name":"n"}},
                {"functionCall":{"name":"n"}},{"functionResponse":{"id":"c1"}},"a b"]"#,
        );
        let call = |id: &str| Key::Call(id.into());
        let keys = glance(Some(content), None, true).0.keys;
        assert_eq!(keys[1..4], [call("c1"), call("n"), Key::Response("c1".into())]);
        assert_eq!((keys.len(), &keys[0]), (5, &keys[4]));
        let key = |text: &str| text_key(raw(text));
        assert_eq!(key(r#""a b""#), key(r#""\u0061\n\tb ""#), "escaped or not");
        let long = format!("\"{}\"", "word ".repeat(40));
        assert_eq!(key(&long), key(&long.replacen('w', "\\u0077", 1)));
        assert_ne!(key(&long), key(r#""word""#));
        assert_eq!(key(r#"" ""#), None);
    }

    #[test]
    fn lengths() {
        for (value, want) in [
            ("null", false),
            ("[]", false),
            ("[ ]", false),
            ("[0]", true),
            ("\"\"", false),
            ("\"a\"", true),
            ("5", false),
            ("{}", false),
            (r#"{"length":1}"#, true),
            (r#"{"length":"0x1"}"#, true),
            (r#"{"length":[3]}"#, true),
            (r#"{"length":"x"}"#, false),
            (r#"{"length":null}"#, false),
        ] {
            assert_eq!(has_length(Some(raw(value))), Ok(want), "{value}");
        }
        assert_eq!(has_length(Some(raw(r#"{"length":{"toString":1}}"#))), Err(Throws));
    }
}
