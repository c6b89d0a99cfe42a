//! Writes Gemini CLI's own format: the document that `/export-session` writes and `--session-file`
//! reads.
//!
//! The metadata and messages are exactly those of its loader. Messages are copied byte for byte
//! from the source, so a session of any size is written without being loaded into memory.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::format::{Holds, Loaded, Shape, load, read_conversation};
use super::{Gemini, folder_project, paths};
use crate::agent::native::{NativeError, NativeFormat, NativeSession};
use crate::facts::{Form, Span};
use crate::fault::Faults;
use crate::read::bytes::ReadSeek;
use crate::read::json::{Raw, is_truthy};
use crate::redact::Redactor;

/// The values to use if a file that the loader rejects does not contain them.
#[derive(Debug, Default)]
pub struct Fallback {
    /// The id of the session.
    pub session_id: String,
    /// The hash of its project.
    pub project_hash: Option<String>,
}

impl NativeFormat for Gemini {
    fn load<'a>(
        &self,
        path: &Path,
        mut input: Box<dyn ReadSeek + 'a>,
    ) -> Result<Box<dyn NativeSession + 'a>, NativeError> {
        let loaded = match read_conversation(&mut input)? {
            Holds::Ours(_) => return Err(NativeError::Ours),
            Holds::Sessions(loaded) | Holds::History(loaded) => *loaded,
            Holds::Nothing(Shape::Empty) => load(&mut input)?,
            Holds::Nothing(shape) => return Err(NativeError::NoConversation(shape.name().into())),
            Holds::Prompts(_) => {
                return Err(NativeError::NoConversation(Shape::PromptLog.name().into()));
            }
        };
        Ok(Box::new(Session { loaded, fallback: Fallback::of(path), input }))
    }
}

struct Session<'a> {
    loaded: Loaded,
    fallback: Fallback,
    input: Box<dyn ReadSeek + 'a>,
}

impl NativeSession for Session<'_> {
    fn write(
        &mut self,
        redactor: Option<&mut Redactor<'_>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        write_redacted(&self.loaded, &self.fallback, &mut self.input, redactor, out)
    }

    fn faults(&self) -> &Faults {
        &self.loaded.faults
    }

    fn message_count(&self) -> usize {
        self.loaded.messages.len()
    }
}

impl Fallback {
    /// Derives the values from the path of a file.
    fn of(path: &Path) -> Self {
        let found = paths::discover_at(path);
        let folder = found.sources.first().and_then(|source| source.folder());
        Self {
            session_id: path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            project_hash: folder.and_then(|folder| folder_project(folder).hash),
        }
    }
}

/// The order in which the loader lists its metadata.
const KEYS: [&str; 8] = [
    "sessionId",
    "projectHash",
    "startTime",
    "lastUpdated",
    "summary",
    "memoryScratchpad",
    "directories",
    "kind",
];

const TIMES: [&str; 2] = ["startTime", "lastUpdated"];

/// Writes the session that was loaded from `source`.
pub fn write_native(
    loaded: &Loaded,
    fallback: &Fallback,
    source: &mut (impl Read + Seek),
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    write_redacted(loaded, fallback, source, None, out)
}

/// Writes the session. If secrets are removed, one message at a time is in memory.
fn write_redacted(
    loaded: &Loaded,
    fallback: &Fallback,
    source: &mut (impl Read + Seek),
    mut redactor: Option<&mut Redactor<'_>>,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let mut object = Object { out, comma: "" };
    for (key, value) in metadata(loaded, fallback)? {
        match &mut redactor {
            Some(redactor) => object.field(&key, &redactor.json(&value))?,
            None => object.field(&key, &value)?,
        }
    }
    object.key("messages")?;
    messages(&loaded.messages, source, redactor.as_deref_mut(), object.out)?;
    if loaded.form == Form::Log {
        object.field("messageCount", &loaded.messages.len().to_string())?;
    }
    object.field("userMessageCount", &loaded.user_messages.to_string())?;
    if let Some(stale) = loaded.scratchpad_is_stale {
        object.field("memoryScratchpadIsStale", &stale.to_string())?;
    }
    if let Some(text) = &loaded.first_user_message {
        match &mut redactor {
            Some(redactor) => object.field("firstUserMessage", &redactor.json(text))?,
            None => object.field("firstUserMessage", text)?,
        }
    }
    object.field("hasResumableContent", &loaded.resumable.to_string())?;
    object.out.write_all(b"\n}\n")
}

/// Returns keys and values. A log yields the keys that the loader names; a document is copied
/// unchanged.
fn metadata(loaded: &Loaded, fallback: &Fallback) -> io::Result<Vec<(String, String)>> {
    let mut out = Vec::new();
    let is_log = loaded.form == Form::Log;
    let keys: Vec<&str> = if !is_log && loaded.accepted {
        loaded.fields.keys().map(String::as_str).collect()
    } else {
        KEYS.to_vec()
    };
    for key in keys {
        let value = match loaded.fields.get(key) {
            // The loader treats an empty time as missing and uses the time of loading.
            Some(value) if is_log && TIMES.contains(&key) && !is_truthy(Raw::of(value)) => continue,
            Some(value) => value.get().to_owned(),
            None if loaded.accepted => continue,
            None => match key {
                "sessionId" => serde_json::to_string(&fallback.session_id)?,
                "projectHash" => match &fallback.project_hash {
                    Some(hash) => serde_json::to_string(hash)?,
                    None => continue,
                },
                _ => continue,
            },
        };
        out.push((key.to_owned(), value));
    }
    Ok(out)
}

fn messages(
    spans: &[Span],
    source: &mut (impl Read + Seek),
    mut redactor: Option<&mut Redactor<'_>>,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    out.write_all(b"[")?;
    for (n, span) in spans.iter().enumerate() {
        out.write_all(if n == 0 { b"\n    " } else { b",\n    " })?;
        if let Some(redactor) = &mut redactor {
            let mut json = Vec::new();
            copy(span, source, &mut json)?;
            out.write_all(redactor.json(&String::from_utf8_lossy(&json)).as_bytes())?;
        } else {
            copy(span, source, out)?;
        }
    }
    out.write_all(if spans.is_empty() { b"]" } else { b"\n  ]" })
}

fn copy(
    span: &Span,
    source: &mut (impl Read + Seek),
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    match span {
        Span::Inline(text) => out.write_all(text.as_bytes()),
        Span::File { offset, length } => {
            source.seek(SeekFrom::Start(*offset))?;
            let copied = io::copy(&mut source.take(*length), out)?;
            if copied != *length {
                let what = "the session file shrank while it was being exported";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
            Ok(())
        }
    }
}

struct Object<'a, W: ?Sized> {
    out: &'a mut W,
    comma: &'static str,
}

impl<W: Write + ?Sized> Object<'_, W> {
    fn key(&mut self, key: &str) -> io::Result<()> {
        let opening = if self.comma.is_empty() { "{" } else { self.comma };
        self.comma = ",";
        write!(self.out, "{opening}\n  {}: ", serde_json::to_string(key)?)
    }

    fn field(&mut self, key: &str, json: &str) -> io::Result<()> {
        self.key(key)?;
        self.out.write_all(json.as_bytes())
    }
}
