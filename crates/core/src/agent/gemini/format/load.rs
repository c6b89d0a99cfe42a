//! Loads a session file as Gemini CLI does, and more leniently if it would load nothing.

use std::borrow::Cow;
use std::io::{self, Read, Seek, SeekFrom};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::log::{self, Tail};
use super::record::{self, Depth, Element, Listed, Set};
use super::saved::checkpoint;
use crate::agent::Resume;
use crate::agent::gemini::views::current::{Mode, Outcome, Replay};
use crate::agent::gemini::views::segment::{Segment, Segments};
use crate::facts::{Base, Form, MessageFacts, Span};
use crate::fault::{FaultKind, Faults};
use crate::model::MessageId;
use crate::read::buffer::Buffer;
use crate::read::bytes::read_whole;
use crate::read::json::{self, JsStr, Malformed, Raw};
use crate::read::lines::{Line, Lines, Position};
use crate::read::{decode, document};

/// The current view of one file.
#[derive(Debug)]
pub struct Loaded {
    /// Whether Gemini CLI's own loader accepts the file.
    pub accepted: bool,
    /// The form in which the file is written.
    pub form: Form,
    /// Every metadata key of the file, as the agent's own JSON, including unknown keys.
    pub fields: IndexMap<String, Box<RawValue>>,
    /// The places of the messages in Gemini CLI's list.
    pub messages: Vec<Span>,
    /// The ids of those messages; empty for a message without one.
    pub ids: Vec<MessageId>,
    /// The number of user messages among them.
    pub user_messages: usize,
    /// The first prompt of the session as Gemini CLI would show it, as a JSON string.
    pub first_user_message: Option<String>,
    /// Whether a message came after the last memory scratchpad; none if there is no scratchpad.
    pub scratchpad_is_stale: Option<bool>,
    /// Whether it contains anything that Gemini CLI would resume.
    pub resumable: bool,
    /// The full view, with one segment per session.
    pub segments: Vec<Segment>,
    /// The problems found while reading.
    pub faults: Faults,
}

/// The number of bytes at the beginning of a file that determine its type.
const HEAD: usize = 1024;

/// The data to read from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// The messages that Gemini CLI would load.
    Current,
    /// Both views.
    Full,
    /// Only the calls, and the faults.
    Calls,
}

impl Want {
    fn depth(self) -> Depth {
        if self == Self::Calls { Depth::Calls } else { Depth::Whole }
    }
}

impl Loaded {
    /// Returns a metadata value that is a string.
    pub fn text(&self, key: &str) -> Option<String> {
        self.fields.get(key).and_then(|raw| json::string(Raw::of(raw))).map(Cow::into_owned)
    }

    fn new(form: Form, accepted: bool, outcome: Outcome, segments: Vec<Segment>) -> Self {
        let text = |key: Box<[u8]>| String::from_utf8_lossy(&key).into_owned();
        let messages = outcome.messages.into_iter();
        let (ids, messages) = messages.map(|(id, at)| (text(id).into(), at)).unzip();
        Self {
            accepted,
            form,
            fields: outcome.fields.into_iter().map(|(key, value)| (text(key), value)).collect(),
            messages,
            ids,
            segments,
            user_messages: outcome.user_messages,
            first_user_message: outcome.first_user_message,
            scratchpad_is_stale: outcome.scratchpad_is_stale,
            resumable: outcome.resumable,
            faults: outcome.faults,
        }
    }
}

/// A log that was read up to some point and can be continued when it has grown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogReader {
    replay: Replay,
    /// None if only the current view is needed.
    segments: Option<Segments>,
    position: Position,
    #[serde(skip)]
    depth: Depth,
}

impl LogReader {
    /// Returns a reader for both views, at the beginning of a log.
    pub fn new(mode: Mode) -> Self {
        Self::with(mode, Want::Full)
    }

    fn with(mode: Mode, want: Want) -> Self {
        let depth = want.depth();
        Self {
            replay: Replay::new(mode, depth),
            segments: (want != Want::Current).then(|| Segments::new(depth)),
            position: Position::default(),
            depth,
        }
    }

    /// Returns the end of the last complete line that was read.
    pub fn offset(&self) -> u64 {
        self.position.offset
    }

    /// Restores the messages of an earlier scan. Returns false if they do not match.
    pub(crate) fn restore(&mut self, parts: Vec<Vec<MessageFacts>>) -> bool {
        self.segments.as_mut().is_some_and(|segments| segments.restore(parts))
    }

    /// Returns whether Gemini CLI's own loader accepts the log so far.
    pub(crate) fn is_accepted(&self) -> bool {
        self.replay.has_header()
    }

    /// Continues reading; `input` must be positioned at [`Self::offset`]. Returns the unfinished
    /// last line.
    pub fn feed(&mut self, input: impl Read) -> io::Result<Option<Tail>> {
        let Self { replay, segments, position, depth } = self;
        log::read(input, position, *depth, |entry| {
            replay.apply(entry);
            if let Some(segments) = segments {
                segments.apply(entry);
            }
        })
    }

    /// Returns the view, including an unfinished last line that happens to be a complete record.
    pub fn finish(mut self, tail: Option<&Tail>) -> Loaded {
        if let Some(tail) = tail {
            self.take(tail);
        }
        let accepted = self.replay.has_header();
        let segments = self.segments.map(Segments::finish).unwrap_or_default();
        Loaded::new(Form::Log, accepted, self.replay.finish(), segments)
    }

    /// Reads the unfinished last line. Returns whether it is a complete record.
    fn take(&mut self, tail: &Tail) -> bool {
        let Self { replay, segments, depth, .. } = self;
        let mut is_record = false;
        tail.read(*depth, &mut |entry| {
            if entry.record.is_err() || entry.repair.is_some() {
                replay.faults.ignored += 1;
                replay.faults.push(Some(entry.line), None, FaultKind::Torn);
            } else {
                is_record = true;
                replay.apply(entry);
                if let Some(segments) = segments {
                    segments.apply(entry);
                }
            }
        });
        is_record
    }

    /// Finishes a log that may grow, and returns the state needed to continue it. If the unfinished
    /// last line was used, it would be read twice, so there is no such state.
    pub(crate) fn finish_for_now(self, tail: Option<&Tail>) -> (Loaded, Option<Resume>) {
        let offset = self.offset();
        // Plain data in memory always serializes.
        let state = self.is_accepted().then(|| postcard::to_stdvec(&self).ok()).flatten();
        let mut whole = self;
        let is_used = tail.is_some_and(|tail| whole.take(tail));
        let loaded = whole.finish(None);
        let resume = state.filter(|_| loaded.accepted && !is_used);
        (loaded, resume.map(|state| Resume { offset, state }))
    }
}

/// Loads a session file as Gemini CLI does, or, where it would load nothing, as much as can be
/// read.
pub fn load(input: &mut (impl Read + Seek)) -> io::Result<Loaded> {
    let head = head(input)?;
    Ok(load_as(input, &head, Want::Full)?.0)
}

/// Loads only the messages that Gemini CLI would load, without the full view.
pub fn load_current(input: &mut (impl Read + Seek)) -> io::Result<Loaded> {
    let head = head(input)?;
    Ok(load_as(input, &head, Want::Current)?.0)
}

/// Reads the first bytes of a file.
pub(crate) fn head(input: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    input.seek(SeekFrom::Start(0))?;
    let mut head = Vec::with_capacity(HEAD);
    input.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Loads the wanted data of a file that begins with `head`, and returns the state to continue a
/// log.
pub(crate) fn load_as(
    input: &mut (impl Read + Seek),
    head: &[u8],
    want: Want,
) -> io::Result<(Loaded, Option<Resume>)> {
    if is_pretty(head) {
        let text = Document::read(input)?;
        if !text.has_header_line() {
            return Ok((text.strict(want).unwrap_or_else(|_| text.leniently()), None));
        }
    }
    let (log, tail) = read_log(input, Mode::Strict, want)?;
    let (log, resume) = match want {
        Want::Full => log.finish_for_now(tail.as_ref()),
        Want::Current | Want::Calls => (log.finish(tail.as_ref()), None),
    };
    if log.accepted {
        return Ok((log, resume));
    }
    Ok((load_refused(input, want)?, None))
}

/// Loads a file that Gemini CLI's loader does not accept as a log.
fn load_refused(input: &mut (impl Read + Seek), want: Want) -> io::Result<Loaded> {
    let mut document = None;
    if could_be_document(input)? {
        let text = Document::read(input)?;
        if let Ok(loaded) = text.strict(want) {
            return Ok(loaded);
        }
        document = Some(text);
    }
    // A file that the loader rejects is read completely, even if only calls are counted.
    let want = if want == Want::Calls { Want::Full } else { want };
    let (log, tail) = read_log(input, Mode::Lenient, want)?;
    let log = log.finish(tail.as_ref());
    match document {
        Some(text) if log.messages.is_empty() && log.fields.is_empty() => Ok(text.leniently()),
        _ => Ok(refused(log)),
    }
}

fn refused(mut loaded: Loaded) -> Loaded {
    let why = match (loaded.fields.contains_key("sessionId"), loaded.messages.is_empty()) {
        (false, true) => "there is no session in it",
        (false, false) => "it has no header",
        (true, _) => "its header is damaged or incomplete",
    };
    loaded.accepted = false;
    loaded.faults.push(None, None, FaultKind::Refused(why.into()));
    loaded
}

fn read_log(
    input: &mut (impl Read + Seek),
    mode: Mode,
    want: Want,
) -> io::Result<(LogReader, Option<Tail>)> {
    input.seek(SeekFrom::Start(0))?;
    let mut reader = LogReader::with(mode, want);
    let tail = reader.feed(input)?;
    Ok((reader, tail))
}

/// Returns whether the file begins like pretty-printed JSON, with a brace or bracket alone on its
/// line. It is only a shortcut that avoids parsing each line of a document as a record.
fn is_pretty(head: &[u8]) -> bool {
    let head = head.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(head).trim_ascii_start();
    let Some((b'{' | b'[', rest)) = head.split_first() else {
        return false;
    };
    let rest = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    matches!(rest, Some(b'\n' | b'\r'))
}

/// Returns whether the file may be a JSON document. It is not if the first line is a JSON value and
/// another line follows, so that a huge log need not be read into memory to find out.
fn could_be_document(input: &mut (impl Read + Seek)) -> io::Result<bool> {
    input.seek(SeekFrom::Start(0))?;
    let mut lines = Lines::new(input, Position::default());
    let mut first_is_json = false;
    while let Some(line) = lines.next()? {
        let text = line.bytes.trim_ascii();
        if text.is_empty() {
            continue;
        }
        if first_is_json {
            return Ok(false);
        }
        first_is_json = json::check(&String::from_utf8_lossy(text)).is_ok();
        if !first_is_json {
            return Ok(true);
        }
    }
    Ok(true)
}

/// A whole file in memory.
struct Document {
    bytes: Buffer,
}

impl Document {
    fn read(input: &mut (impl Read + Seek)) -> io::Result<Self> {
        input.seek(SeekFrom::Start(0))?;
        let mut bytes = Buffer::new();
        bytes.clear();
        read_whole(input, &mut bytes)?;
        Ok(Self { bytes })
    }

    /// Returns whether lines that are objects by themselves make it a log. Hand-formatted JSON can
    /// contain a line that is a header; the loader then treats the file as a log, and so must this
    /// code.
    fn has_header_line(&self) -> bool {
        let mut replay = Replay::new(Mode::Strict, Depth::Calls);
        for at in memchr::memchr_iter(b'{', &self.bytes) {
            let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
            let before = &self.bytes[..at];
            let indent = |byte: &u8| byte.is_ascii_whitespace() && !is_end(byte);
            if !before.iter().rev().find(|byte| !indent(byte)).is_none_or(is_end) {
                continue;
            }
            let rest = &self.bytes[at..];
            let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
            let bytes = rest[..end].trim_ascii_end();
            if bytes.len() > 1 && bytes.ends_with(b"}") {
                let line = Line::whole(0, at as u64, bytes);
                log::entry(line, Depth::Calls, &mut |entry| replay.apply(entry));
            }
        }
        replay.has_header()
    }

    /// Loads one JSON object with a `sessionId` unchanged, which is the loader's last resort.
    fn strict(&self, want: Want) -> Result<Loaded, Malformed> {
        let none = |reason: &str| Malformed { column: 0, reason: reason.to_owned() };
        let text = decode(&self.bytes);
        if !text.trim_start().starts_with('{') {
            json::check(&text)?;
            return Err(none("it is no object"));
        }
        let set = Set::new(&text, want.depth())?;
        if !set.fields.iter().any(|(key, _)| **key == *b"sessionId") {
            return Err(none("it has no `sessionId`"));
        }
        let messages = match &set.messages {
            Listed::Nothing => &[],
            Listed::Messages(messages) => messages.as_slice(),
            Listed::Other => return Err(none("its `messages` are no list")),
        };
        if messages.iter().any(|element| element.raw.get() == "null") {
            return Err(none("an element of `messages` is null"));
        }
        let mut asked =
            messages.iter().filter_map(|element| Some(element.message.as_ref()?.resumable));
        // Upstream stops at the first resumable message; an exception before it rejects the file.
        let Ok(resumable) = asked.find(|answer| *answer != Ok(false)).unwrap_or(Ok(false)) else {
            return Err(none("odd content in a message"));
        };
        let offset = matches!(text, Cow::Borrowed(_)).then_some(0);
        let base = Base { text: &text, offset };
        let mut loaded =
            assemble(set, want, |element| base.place(element.raw.get()), Faults::default());
        loaded.accepted = true;
        loaded.resumable = resumable;
        // The loader keeps the document unchanged and adds only its own counts.
        loaded.first_user_message = None;
        Ok(loaded)
    }

    /// Loads the intact parts of a damaged document, and histories, which the loader does not
    /// support.
    fn leniently(&self) -> Loaded {
        let whole_text = decode(&self.bytes);
        let text = whole_text.trim_start_matches('\u{FEFF}');
        let mut faults = Faults::default();
        if let Err(at) = json::check(text) {
            faults.push(None, None, FaultKind::CutOff(at));
        }
        let recovered = document::recover(text).unwrap_or_default();
        let is_list = |key: &[u8]| matches!(key, b"messages" | b"history" | b"clientHistory");
        // A restore point contains the model's history, and next to it the contents of the screen.
        let field = |name: &[u8]| recovered.fields.iter().rfind(|(key, _)| **key == *name);
        let whole = field(b"messages").or_else(|| field(b"clientHistory"));
        let whole = whole.or_else(|| field(b"history"));
        let cut = recovered.cut.as_ref();
        let cut = cut.filter(|cut| cut.key.as_deref().is_none_or(is_list));
        let messages: Vec<Raw<'_>> = match (whole, cut) {
            (_, Some(cut)) => {
                let last = cut.last.as_deref().and_then(Raw::new);
                cut.elements.iter().copied().chain(last).collect()
            }
            (Some((_, list)), None) if list.get().starts_with('[') => json::elements(list.get()),
            _ => Vec::new(),
        };
        // A history is converted to messages; anything else is used unchanged.
        let turns = checkpoint::as_messages(&messages);
        let is_history = !turns.is_empty();
        let elements: Vec<Element<'_>> = if is_history {
            turns.iter().filter_map(|turn| Element::new(turn)).collect()
        } else {
            messages.iter().filter_map(|raw| Element::new(raw.get())).collect()
        };
        let set = Set {
            messages: Listed::Messages(elements),
            fields: recovered.fields.into_iter().filter(|(key, _)| !is_list(key)).collect(),
        };
        let offset = matches!(whole_text, Cow::Borrowed(_)).then_some(0);
        let base = Base { text: &whole_text, offset };
        let closed = cut.and_then(|cut| cut.last.as_deref());
        let place = |element: &Element<'_>| {
            // Messages that were converted or closed are not in the file verbatim.
            if is_history || closed.is_some_and(|last| std::ptr::eq(last, element.raw.get())) {
                Span::Inline(element.raw.get().into())
            } else {
                base.place(element.raw.get())
            }
        };
        refused(assemble(set, Want::Full, place, faults))
    }
}

fn assemble(
    mut set: Set<'_>,
    want: Want,
    place: impl Fn(&Element<'_>) -> Span,
    mut faults: Faults,
) -> Loaded {
    let text = |key: &JsStr<'_>| String::from_utf8_lossy(key).into_owned();
    let elements = match std::mem::take(&mut set.messages) {
        Listed::Messages(elements) => elements,
        _ => Vec::new(),
    };
    let spans: Vec<Span> = elements.iter().map(place).collect();
    faults.used += spans.len() as u64;
    let messages = || elements.iter().filter_map(|element| element.message.as_ref());
    let users = || messages().filter(|message| message.is_user());
    Loaded {
        accepted: false,
        form: Form::Document,
        fields: set.fields.iter().map(|(key, value)| (text(key), value.boxed())).collect(),
        user_messages: users().count(),
        first_user_message: users()
            .find(|message| message.resumable == Ok(true))
            .and_then(record::Message::first_text),
        resumable: messages().any(|message| message.resumable == Ok(true)),
        ids: elements
            .iter()
            .map(|element| element.message.as_ref().map(|m| text(&m.id).into()).unwrap_or_default())
            .collect(),
        segments: match want {
            Want::Current => Vec::new(),
            Want::Full | Want::Calls => {
                let messages = elements.into_iter().zip(spans.iter().cloned());
                vec![Segment::of_document(&set, messages, want.depth())]
            }
        },
        messages: spans,
        scratchpad_is_stale: None,
        faults,
    }
}

/// Returns a session that is not in any file in this form, such as the program's captured output.
pub(crate) fn of_messages(
    header: &serde_json::Map<String, serde_json::Value>,
    messages: &[serde_json::Value],
) -> Loaded {
    let raw = |value: &serde_json::Value| serde_json::value::to_raw_value(value).ok();
    let fields: Vec<(String, Box<RawValue>)> =
        header.iter().filter_map(|(key, value)| Some((key.clone(), raw(value)?))).collect();
    let messages: Vec<Box<RawValue>> = messages.iter().filter_map(raw).collect();
    let set = Set {
        fields: fields.iter().map(|(key, value)| (key.as_bytes().into(), Raw::of(value))).collect(),
        messages: Listed::Messages(
            messages.iter().filter_map(|raw| Element::new(raw.get())).collect(),
        ),
    };
    assemble(set, Want::Full, |element| Span::Inline(element.raw.get().into()), Faults::default())
}
