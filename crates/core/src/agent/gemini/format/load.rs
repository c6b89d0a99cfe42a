//! One session file to what Gemini CLI would load from it, and more leniently where it loads nothing.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, Read, Seek, SeekFrom};

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::checkpoint;
use super::log::{self, Tail};
use super::record::{self, Depth, Element, Listed, Set};
use crate::agent::Resume;
use crate::agent::gemini::views::current::{Mode, Outcome, Replay};
use crate::agent::gemini::views::segment::{Segment, Segments};
use crate::facts::{Base, Form, MessageFacts, Span};
use crate::fault::{FaultKind, Faults};
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
    pub form: Form,
    /// Every metadata key of the file, in the agent's own JSON; unknown ones are kept.
    pub fields: IndexMap<String, Box<RawValue>>,
    pub messages: Vec<Span>,
    /// The ids of those messages; empty where one has none.
    pub ids: Vec<String>,
    pub user_messages: usize,
    /// What Gemini CLI would show as the session's first prompt, as a JSON string.
    pub first_user_message: Option<String>,
    /// Whether a message came after the last memory scratchpad; none when there is no scratchpad.
    pub scratchpad_is_stale: Option<bool>,
    /// Whether there is anything in it that Gemini CLI would resume.
    pub resumable: bool,
    /// The full view: what the file holds of each session.
    pub segments: Vec<Segment>,
    pub faults: Faults,
}

/// As much of the beginning of a file as tells what it is.
const HEAD: usize = 1024;

/// What is wanted of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// What Gemini CLI would load.
    Current,
    /// Both views.
    Full,
    /// The calls that were made, and the faults.
    Calls,
}

impl Want {
    fn depth(self) -> Depth {
        if self == Self::Calls { Depth::Calls } else { Depth::Whole }
    }
}

impl Loaded {
    /// A metadata value that is a string.
    pub fn text(&self, key: &str) -> Option<String> {
        self.fields.get(key).and_then(|raw| json::string(Raw::of(raw))).map(Cow::into_owned)
    }

    fn new(form: Form, accepted: bool, outcome: Outcome, segments: Vec<Segment>) -> Self {
        let text = |key: Box<[u8]>| String::from_utf8_lossy(&key).into_owned();
        let (ids, messages) = outcome.messages.into_iter().map(|(id, at)| (text(id), at)).unzip();
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

/// A log read so far, ready to be continued when it has grown.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogReader {
    replay: Replay,
    /// None when only the current view is wanted.
    segments: Option<Segments>,
    position: Position,
    #[serde(skip)]
    depth: Depth,
}

impl LogReader {
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

    /// Behind the last whole line that was read.
    pub fn offset(&self) -> u64 {
        self.position.offset
    }

    /// Takes the messages back that an earlier scan found; false if they are others.
    pub(crate) fn restore(&mut self, parts: Vec<Vec<MessageFacts>>) -> bool {
        self.segments.as_mut().is_some_and(|segments| segments.restore(parts))
    }

    /// Returns whether Gemini CLI's own loader takes the log so far.
    pub(crate) fn is_accepted(&self) -> bool {
        self.replay.has_header()
    }

    /// Reads on; `input` must stand at [`Self::offset`]. Gives the unfinished last line.
    pub fn feed(&mut self, input: impl Read) -> io::Result<Option<Tail>> {
        let Self { replay, segments, position, depth } = self;
        log::read(input, position, *depth, |entry| {
            replay.apply(entry);
            if let Some(segments) = segments {
                segments.apply(entry);
            }
        })
    }

    /// Returns the view, with an unfinished last line that happens to be a whole record.
    pub fn finish(mut self, tail: Option<&Tail>) -> Loaded {
        if let Some(tail) = tail {
            self.take(tail);
        }
        let accepted = self.replay.has_header();
        let segments = self.segments.map(Segments::finish).unwrap_or_default();
        Loaded::new(Form::Log, accepted, self.replay.finish(), segments)
    }

    /// Reads the unfinished last line; returns whether it is a whole record.
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

    /// Finishes a log that may grow, and returns what it takes to continue it. An unfinished last line
    /// that was used would be read twice: then there is nothing to continue.
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

/// Loads a session file as Gemini CLI does; where it would load nothing, as far as it can be read.
pub fn load(input: &mut (impl Read + Seek)) -> io::Result<Loaded> {
    let head = head(input)?;
    Ok(load_as(input, &head, Want::Full)?.0)
}

/// The same without the full view, for those who only want what Gemini CLI would load.
pub fn load_current(input: &mut (impl Read + Seek)) -> io::Result<Loaded> {
    let head = head(input)?;
    Ok(load_as(input, &head, Want::Current)?.0)
}

/// The first bytes of a file.
pub(crate) fn head(input: &mut (impl Read + Seek)) -> io::Result<Vec<u8>> {
    input.seek(SeekFrom::Start(0))?;
    let mut head = Vec::with_capacity(HEAD);
    input.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Loads what is wanted of a file that begins with `head`, and what it takes to continue a log.
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

/// Loads a file that is not a log to Gemini CLI's loader.
fn load_refused(input: &mut (impl Read + Seek), want: Want) -> io::Result<Loaded> {
    let mut document = None;
    if could_be_document(input)? {
        let text = Document::read(input)?;
        if let Ok(loaded) = text.strict(want) {
            return Ok(loaded);
        }
        document = Some(text);
    }
    // What the loader does not take deserves a closer look than a count does.
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

/// Returns whether the file begins like pretty-printed JSON: a brace or bracket alone on its line. Only a
/// short cut: it saves parsing each line of a document as a record.
fn is_pretty(head: &[u8]) -> bool {
    let head = head.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(head).trim_ascii_start();
    let Some((b'{' | b'[', rest)) = head.split_first() else {
        return false;
    };
    let rest = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    matches!(rest, Some(b'\n' | b'\r'))
}

/// False when the first line is a JSON value and another line follows: then the file as a whole is
/// none, and a log of a gigabyte need not be read into memory to see that.
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

    /// Returns whether lines that are objects by themselves make a log of it. Hand-formatted JSON can hold a
    /// line that is a header; the loader then takes the file for a log, and so must we.
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

    /// The loader's last resort: one JSON object with a `sessionId`, taken as it is.
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
        // Upstream asks until one says yes; an exception before that ends it all.
        let Ok(resumable) = asked.find(|answer| *answer != Ok(false)).unwrap_or(Ok(false)) else {
            return Err(none("odd content in a message"));
        };
        let offset = matches!(text, Cow::Borrowed(_)).then_some(0);
        let base = Base { text: &text, offset };
        let mut loaded =
            assemble(set, want, |element| base.place(element.raw.get()), Faults::default());
        loaded.accepted = true;
        loaded.resumable = resumable;
        // The loader takes the document as it is and adds only what it counts itself.
        loaded.first_user_message = None;
        Ok(loaded)
    }

    /// What is whole in a damaged document, and histories, which the loader does not know.
    fn leniently(&self) -> Loaded {
        let whole_text = decode(&self.bytes);
        let text = whole_text.trim_start_matches('\u{FEFF}');
        let mut faults = Faults::default();
        if let Err(at) = json::check(text) {
            faults.push(None, None, FaultKind::CutOff(at));
        }
        let recovered = document::recover(text).unwrap_or_default();
        let is_list = |key: &[u8]| matches!(key, b"messages" | b"history" | b"clientHistory");
        // A restore point has the model's history, and beside it what stood on the screen.
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
        // A history is put into words by us; what is no history goes through as it is.
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
            // What we put into words, or closed, stands nowhere in the file.
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
            .map(|element| element.message.as_ref().map(|m| text(&m.id)).unwrap_or_default())
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

/// A session that no file holds in this form, such as a capture of the program's output.
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
