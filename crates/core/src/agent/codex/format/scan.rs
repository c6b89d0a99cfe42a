//! Extracts the facts of one file.

use std::borrow::Cow;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

use super::list;
use super::name::RolloutName;
use super::object::Object;
use super::prompts;
use super::quick::QuickLine;
use super::record::{Kind, Record};
use super::titles;
use crate::agent::codex::views::Thread;
use crate::agent::{Detail, Resume, Scan};
use crate::discover::{Source, SourceKind};
use crate::facts::{Base, Contents, MessageFacts, SessionFile, SourceFacts};
use crate::fault::{FaultKind, Faults};
use crate::read::bytes::{Bytes, ReadSeek, read_whole};
use crate::read::json::Malformed;
use crate::read::lines::{Line, Lines, Position};
use crate::read::packed::{is_packed, unpack};
use crate::read::scanner::Scanner;
use crate::read::{decode, document, json, unpadded};

/// The number of bytes at the beginning of a file that determine its kind.
const HEAD: u64 = 64 * 1024;

/// The maximum number of lines that determine it: the first ones may be damaged.
const LINES: usize = 32;

/// The number of bytes at the beginning of a file that are enough to recognize the usual kind.
const LITTLE: u64 = 512;

/// Scans a source from its beginning.
pub(crate) fn scan(source: &Source, bytes: &dyn Bytes, detail: Detail) -> io::Result<Scan> {
    match source.kind {
        SourceKind::PromptLog => {
            let prompts = prompts::read(bytes.open(source)?)?;
            Ok(Scan::whole(SourceFacts { prompts, ..SourceFacts::of(Contents::Prompts) }))
        }
        SourceKind::Titles => {
            let titles = titles::read(bytes.open(source)?)?;
            Ok(Scan::whole(SourceFacts { titles, ..SourceFacts::of(Contents::Titles) }))
        }
        SourceKind::State => {
            let listed = list::read(bytes.open(source)?)?;
            Ok(Scan::whole(SourceFacts { listed, ..SourceFacts::of(Contents::List) }))
        }
        kind if kind.is_session() => {
            let mut input = bytes.open(source)?;
            let mut head = read_head(&mut input)?;
            let is_packed = is_packed(&head);
            let mut is_cut = false;
            if is_packed {
                input.seek(SeekFrom::Start(0))?;
                let mut packed = Vec::new();
                read_whole(input, &mut packed)?;
                let unpacked = unpack(&packed)?;
                is_cut = unpacked.is_cut;
                input = Box::new(Cursor::new(unpacked.content));
                head = read_head(&mut input)?;
            }
            let is_document = is_document(&head);
            let input = Cursor::new(head).chain(input);
            let mut reader = Reader {
                thread: Thread::new(RolloutName::of(&source.path), detail),
                faults: Faults::default(),
                is_packed,
            };
            let mut resume = None;
            if is_document {
                reader.document(input)?;
            } else {
                resume = reader.lines(input, Position::default(), detail)?;
            }
            if is_cut {
                let reason = "the compressed data is damaged or ends early".to_owned();
                reader.faults.push(None, None, FaultKind::CutOff(Malformed { column: 0, reason }));
            }
            let resume = resume.filter(|_| !is_packed);
            Ok(reader.finish(&source.stem(), resume))
        }
        _ => Ok(Scan::whole(SourceFacts::of(Contents::Attachment))),
    }
}

/// Continues a file that has only grown since an earlier scan.
pub(crate) fn continue_scan(
    source: &Source,
    bytes: &dyn Bytes,
    mut earlier: SourceFacts,
    state: &[u8],
) -> Option<Scan> {
    let (thread, faults, position, provisional): State = postcard::from_bytes(state).ok()?;
    let mut reader = Reader { thread, faults, is_packed: false };
    let messages = earlier.parts.pop()?.messages;
    if !earlier.parts.is_empty() || !reader.thread.restore(messages, earlier.limits, provisional) {
        return None;
    }
    let mut input = bytes.open(source).ok()?;
    if is_document(&read_head(&mut input).ok()?) {
        return None;
    }
    input.seek(SeekFrom::Start(position.offset)).ok()?;
    let resume = reader.lines(input, position, Detail::Full).ok()?;
    Some(reader.finish(&source.stem(), resume))
}

/// The state after the complete lines of a file: the thread and its faults, the position of the next line, and
/// the messages that are different as long as nothing follows.
type State = (Thread, Faults, Position, Vec<(usize, MessageFacts)>);

struct Reader {
    thread: Thread,
    faults: Faults,
    /// Whether the file is compressed, so that nothing is ever appended to it.
    is_packed: bool,
}

impl Reader {
    /// Reads lines, and returns the state needed to continue when the file has grown. There is none if the
    /// unfinished last line is used, because it would be read twice.
    fn lines(
        &mut self,
        input: impl Read,
        from: Position,
        detail: Detail,
    ) -> io::Result<Option<Resume>> {
        let mut lines = Lines::new(input, from);
        let mut position = from;
        while let Some(line) = lines.next()? {
            if !line.terminated {
                let state = self.state(position, detail);
                let is_used = self.line(line);
                return Ok(state.filter(|_| !is_used));
            }
            self.line(line);
            position = lines.position();
        }
        Ok(self.state(position, detail))
    }

    /// Returns the state at a position.
    fn state(&self, position: Position, detail: Detail) -> Option<Resume> {
        let is_wanted = detail == Detail::Full && !self.thread.is_empty();
        let state = (&self.thread, &self.faults, position, self.thread.provisional());
        // Plain data in memory always serializes.
        let state = is_wanted.then(|| postcard::to_stdvec(&state).ok()).flatten();
        state.map(|state| Resume { offset: position.offset, state })
    }

    /// Reads a line. Returns whether it is a complete record.
    fn line(&mut self, line: Line<'_>) -> bool {
        if self.thread.has_only_calls()
            && !line.is_too_long
            && let Some(quick) = QuickLine::new(line.bytes)
        {
            self.faults.used += 1;
            self.thread.pass(quick.at(), quick.ordinal(), line.number, quick.is_output());
            if quick.is_count() {
                self.thread.count(quick.count());
            } else if quick.is_context() {
                self.thread.context(quick.model());
            }
            return true;
        }
        let text = decode(line.bytes);
        if unpadded(&text).is_empty() {
            return false;
        }
        let offset = matches!(text, Cow::Borrowed(_)).then_some(line.offset);
        match Record::read(&text) {
            _ if line.is_too_long => {
                let reason = "the line is too long".to_owned();
                self.fault(line.number, FaultKind::Malformed(Malformed { column: 0, reason }));
            }
            Ok(record) => {
                self.account(&record);
                self.thread.add(&record, line.number, Base { text: &text, offset });
                return true;
            }
            Err(_) if !line.terminated && !self.is_packed => {
                self.faults.ignored += 1;
                self.faults.push(Some(line.number), None, FaultKind::Torn);
            }
            Err(malformed) => self.fault(line.number, FaultKind::Malformed(malformed)),
        }
        false
    }

    /// Reads the single document that versions before 0.20 wrote.
    fn document(&mut self, input: impl Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        read_whole(input, &mut bytes)?;
        let whole = decode(&bytes);
        let text = unpadded(&whole);
        let offset = matches!(whole, Cow::Borrowed(_)).then(|| place(&whole, text));
        let base = Base { text, offset };
        if let Err(malformed) = json::check(text) {
            self.faults.push(None, None, FaultKind::CutOff(malformed));
        }
        let Some(found) = document::recover(text) else { return Ok(()) };
        let field = |name: &str| {
            let fields = found.fields.iter().rev();
            fields.into_iter().find(|(key, _)| **key == *name.as_bytes()).map(|(_, value)| *value)
        };
        let mut number = 1;
        if let Some(session) = field("session") {
            self.thread.add(&Record::of(Kind::Meta, Object::of(session)), number, base);
        }
        let items = field("items").map(|items| json::elements(items.get()));
        let cut = found.cut.as_ref().map(|cut| cut.elements.clone());
        for item in items.or(cut).unwrap_or_default() {
            number += 1;
            let record = Record::of(Kind::Item, Object::of(item));
            self.account(&record);
            let offset = base.offset.map(|offset| offset + place(text, item.get()));
            self.thread.add(&record, number, Base { text: item.get(), offset });
        }
        Ok(())
    }

    fn account(&mut self, record: &Record<'_>) {
        match record.kind {
            Kind::Other => self.faults.ignore(&record.name),
            _ => self.faults.used += 1,
        }
    }

    fn fault(&mut self, line: u64, what: FaultKind) {
        self.faults.unusable += 1;
        self.faults.push(Some(line), None, what);
    }

    fn finish(self, stem: &str, resume: Option<Resume>) -> Scan {
        let Self { mut thread, faults, .. } = self;
        if thread.is_empty() {
            let what = if faults.is_clean() {
                Contents::Nothing("an empty file".into())
            } else {
                Contents::Unrecognized
            };
            return Scan::whole(SourceFacts { faults, ..SourceFacts::of(what) });
        }
        let file = SessionFile { updated: thread.written(), is_resumable: true, is_offered: true };
        let limits = thread.take_limits();
        let parts = vec![thread.finish(stem)];
        let facts =
            SourceFacts { parts, limits, faults, ..SourceFacts::of(Contents::Session(file)) };
        Scan { facts, resume }
    }
}

/// Reads the beginning of a file: no more than necessary, because the rest is read into another buffer.
fn read_head(input: &mut dyn ReadSeek) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    (&mut *input).take(LITTLE).read_to_end(&mut head)?;
    if !is_log(&head) && !is_packed(&head) {
        input.take(HEAD - LITTLE).read_to_end(&mut head)?;
    }
    Ok(head)
}

/// Returns whether a file begins with a line as all versions since 0.32 write them.
fn is_log(head: &[u8]) -> bool {
    head.starts_with(b"{\"timestamp\":")
}

/// Returns the offset of `part`, which is a slice of `text`.
fn place(text: &str, part: &str) -> u64 {
    (part.as_ptr() as usize - text.as_ptr() as usize) as u64
}

/// Returns whether a file with this beginning is a document of the first versions.
fn is_document(head: &[u8]) -> bool {
    let mut is_one = false;
    if is_log(head) {
        return false;
    }
    let head = head.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(head);
    let _ = Scanner::of_bytes(head).fields(|scanner, key| {
        is_one |= *key == *b"session";
        scanner.pass()
    });
    is_one
}

/// Returns whether a file with this beginning is a session of Codex CLI.
pub(crate) fn is_session(head: &[u8]) -> bool {
    if is_document(head) {
        return true;
    }
    let lines = head.split(|byte| *byte == b'\n').map(decode);
    let lines = lines.filter(|line| !unpadded(line).is_empty()).take(LINES);
    lines.enumerate().any(|(n, line)| is_own(&line, n == 0))
}

/// Returns whether only Codex CLI writes such a line. It may be longer than the part that was read.
fn is_own(line: &str, is_first: bool) -> bool {
    match Record::read(line) {
        Ok(Record { kind: Kind::Other, .. }) => false,
        // Versions before 0.32 write headers without an envelope.
        Ok(Record { kind: Kind::Meta, body, .. }) if is_first => body.has("id"),
        Ok(record) => record.at.is_some(),
        Err(_) => line.starts_with("{\"timestamp\":") && line.contains("\"type\":\"session_meta\""),
    }
}

/// Returns whether a file with this beginning is a prompt log.
pub(crate) fn is_prompt_log(head: &[u8]) -> bool {
    let first = head.split(|byte| *byte == b'\n').next().map(decode).unwrap_or_default();
    let line = Object::read(&first).unwrap_or_default();
    line.has("session_id") && line.has("ts") && line.has("text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_not_a_document_whatever_fields_its_lines_have() {
        let line =
            r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"a"}"#;
        for more in ["", r#","session":{}"#] {
            let head = format!("{line}{more}}}\n");
            assert!(is_session(head.as_bytes()) && !is_document(head.as_bytes()), "{head}");
        }
        for head in [r#"{"session":{"id":"a"},"items":["#, r#" {"a":1,"session":{}}"#] {
            assert!(is_document(head.as_bytes()), "{head}");
        }
        assert!(!is_document(br#"{"id":"a","timestamp":"2025-08-01T00:00:00Z"}"#));
    }
}
