//! Scans one source of any type into facts.

use std::io::{self, Read, Seek, SeekFrom};

use rustc_hash::FxHashSet;

use super::load::{Loaded, LogReader, Want, head, load_as};
use super::saved::program_output;
use super::saved::read_prompt_log;
use super::shape::{self, Shape};
use crate::agent::gemini::identity;
use crate::agent::{Detail, Resume, Scan, backstory};
use crate::discover::{Source, SourceKind};
use crate::facts::{Contents, Form, PartFacts, PromptLine, SessionFile, SourceFacts};
use crate::fault::{FaultKind, Faults};
use crate::projects::is_hash_folder;
use crate::read::bytes::{Bytes, read_whole};
use crate::read::decode;

/// The content of a file.
#[derive(Debug)]
pub enum Holds {
    /// One or more conversations.
    Sessions(Box<Loaded>),
    /// A history saved by hand or as a restore point.
    History(Box<Loaded>),
    /// The lines of a prompt log.
    Prompts(Vec<PromptLine>),
    /// A document of backstory.
    Ours(Box<SourceFacts>),
    /// Nothing usable, with the type of the content.
    Nothing(Shape),
}

/// Scans a source from its beginning.
pub(crate) fn scan(source: &Source, bytes: &dyn Bytes, detail: Detail) -> io::Result<Scan> {
    let want = if detail == Detail::Calls { Want::Calls } else { Want::Full };
    match source.kind {
        SourceKind::Conversation
        | SourceKind::Subagent
        | SourceKind::Background
        | SourceKind::SavedChat
        | SourceKind::Snapshot => {
            let (holds, resume) = conversation(&mut bytes.open(source)?, want)?;
            Ok(Scan { facts: facts(source, holds), resume })
        }
        SourceKind::PromptLog => {
            let mut input = bytes.open(source)?;
            if shape::is_lfs_pointer(&head(&mut input)?) {
                return Ok(Scan::whole(facts(source, Holds::Nothing(Shape::LfsPointer))));
            }
            input.seek(SeekFrom::Start(0))?;
            Ok(Scan::whole(facts(source, Holds::Prompts(read_prompt_log(input)?))))
        }
        _ => Ok(Scan::whole(SourceFacts::of(Contents::Attachment))),
    }
}

/// Continues a log from the end of an earlier scan. Returns `None` if it is no longer a log.
pub(crate) fn continue_scan(
    source: &Source,
    bytes: &dyn Bytes,
    earlier: SourceFacts,
    state: &[u8],
) -> Option<Scan> {
    let mut reader: LogReader = postcard::from_bytes(state).ok()?;
    let parts = earlier.parts.into_iter().map(|part| part.messages).collect();
    if !reader.restore(parts) {
        return None;
    }
    let mut input = bytes.open(source).ok()?;
    input.seek(SeekFrom::Start(reader.offset())).ok()?;
    let tail = reader.feed(input).ok()?;
    let (loaded, resume) = reader.finish_for_now(tail.as_ref());
    loaded.accepted.then(|| {
        let facts = facts(source, Holds::Sessions(Box::new(loaded)));
        Scan { facts, resume }
    })
}

/// Reads a conversation, determining its type from the content.
pub fn read_conversation(input: &mut (impl Read + Seek)) -> io::Result<Holds> {
    Ok(conversation(input, Want::Full)?.0)
}

fn conversation(input: &mut (impl Read + Seek), want: Want) -> io::Result<(Holds, Option<Resume>)> {
    let head = head(input)?;
    if backstory::is_ours(&head) {
        return Ok((Holds::Ours(Box::new(backstory::scan(input)?)), None));
    }
    let (loaded, resume) = load_as(input, &head, want)?;
    if loaded.accepted {
        return Ok((Holds::Sessions(Box::new(loaded)), resume));
    }
    let shape = Shape::of(input)?;
    let mut text = || {
        input.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        read_whole(&mut *input, &mut bytes)?;
        Ok::<_, io::Error>(decode(&bytes).into_owned())
    };
    let holds = match shape {
        Shape::Session => Holds::Sessions(Box::new(loaded)),
        Shape::History | Shape::RestorePoint => Holds::History(Box::new(loaded)),
        Shape::JsonOutput => captured(program_output::json_output(&text()?), shape),
        Shape::StreamJson => captured(program_output::stream_json(&text()?), shape),
        Shape::PromptLog => Holds::Prompts(read_prompt_log(text()?.as_bytes())?),
        shape => Holds::Nothing(shape),
    };
    Ok((holds, None))
}

fn captured(loaded: Option<Loaded>, shape: Shape) -> Holds {
    loaded.map_or(Holds::Nothing(shape), |loaded| Holds::Sessions(Box::new(loaded)))
}

/// Converts the content of a file to facts.
fn facts(source: &Source, holds: Holds) -> SourceFacts {
    match holds {
        Holds::Sessions(mut loaded) => {
            let is_subagent = loaded.text("kind").as_deref() == Some("subagent");
            let file = SessionFile {
                updated: loaded.text("lastUpdated").and_then(|text| text.parse().ok()),
                is_resumable: loaded.resumable,
                is_offered: loaded.accepted && loaded.resumable && !is_subagent,
            };
            let faults = std::mem::take(&mut loaded.faults);
            let parts = parts(source, *loaded, None);
            SourceFacts { parts, faults, ..SourceFacts::of(Contents::Session(file)) }
        }
        Holds::History(mut loaded) => {
            let mut faults = std::mem::take(&mut loaded.faults);
            // Gemini CLI does not load a saved history as a session, but that is not a fault.
            faults.details.retain(|fault| !matches!(fault.what, FaultKind::Refused(_)));
            let parts = parts(source, *loaded, Some(Form::History));
            SourceFacts { parts, faults, ..SourceFacts::of(Contents::History) }
        }
        Holds::Prompts(prompts) => SourceFacts { prompts, ..SourceFacts::of(Contents::Prompts) },
        Holds::Nothing(Shape::NotJson) => {
            let mut faults = Faults::default();
            faults.push(None, None, FaultKind::Refused("it is not JSON".into()));
            SourceFacts { faults, ..SourceFacts::of(Contents::Unrecognized) }
        }
        Holds::Ours(facts) => *facts,
        Holds::Nothing(shape) => SourceFacts::of(Contents::Nothing(shape.name().into())),
    }
}

fn parts(source: &Source, loaded: Loaded, form: Option<Form>) -> Vec<PartFacts> {
    let Loaded { accepted, resumable, form: written, ids, segments, .. } = loaded;
    let count = segments.len();
    let is_abandoned = source.folder().is_none_or(is_hash_folder);
    let mut out = Vec::with_capacity(count);
    let mut ids = Some(ids);
    for (n, segment) in segments.into_iter().enumerate() {
        let several = (count > 1).then_some(n + 1);
        let form = form.unwrap_or(written);
        let identity = match form {
            Form::History => identity::of_history(source),
            _ => identity::of(source, &segment, several),
        };
        let is_subagent = segment.kind.as_deref() == Some("subagent");
        let named_at = identity::time_in_name(&source.stem());
        // In a file with several sessions, the current messages of each are those among all current
        // ones.
        let current = if several.is_some() {
            let ids = ids.as_deref().unwrap_or_default();
            let own: FxHashSet<&str> = segment.said.iter().map(|said| said.id.as_str()).collect();
            ids.iter().filter(|id| own.contains(id.as_str())).cloned().collect()
        } else {
            ids.take().unwrap_or_default()
        };
        out.push(PartFacts {
            is_resumable: accepted && resumable && (identity.is_subagent() || !is_subagent),
            session: identity.session,
            kind: identity.kind,
            parent: identity.parent,
            project: segment.project_hash,
            directories: segment.directories,
            started: if form == Form::History { named_at } else { segment.started },
            updated: segment.updated,
            named_at,
            summary: segment.summary,
            form,
            is_abandoned,
            is_import: segment.said.iter().any(|said| said.id.starts_with("import-")),
            current,
            messages: segment.said,
            ..PartFacts::default()
        });
    }
    out
}
