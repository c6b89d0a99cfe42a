//! One file, read: what it holds, what was wrong with it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use backstory_core::agent::gemini::{self, Form, Loaded, Project, Shape};
use backstory_core::discover::{Source, SourceKind};
use backstory_core::fault::{Fault, Faults, What};
use backstory_core::read::{decode, json};
use jiff::Timestamp;

pub(crate) struct FileRead {
    pub(crate) source: Source,
    pub(crate) holds: Holds,
    pub(crate) faults: Faults,
    /// Whether no other file continues its session: only then an unfinished last line may still be
    /// being written.
    pub(crate) is_newest: bool,
}

pub(crate) enum Holds {
    Session(Box<SessionFile>),
    /// Something else that is of use; what to call it.
    Other(&'static str),
    /// Nothing of use; why.
    Nothing(&'static str),
}

impl FileRead {
    pub(crate) fn session(&self) -> Option<&SessionFile> {
        match &self.holds {
            Holds::Session(session) => Some(session),
            _ => None,
        }
    }

    /// How many faults there are; only the first thousand of a file are kept in detail.
    pub(crate) fn fault_count(&self) -> u64 {
        let details = self.faults.details.iter().filter(|fault| !self.is_pending(fault)).count();
        self.faults.unusable.max(details as u64)
    }

    /// Whether it is only the line that an agent is writing right now.
    pub(crate) fn is_pending(&self, fault: &Fault) -> bool {
        fault.what.is_pending() && self.is_newest
    }

    pub(crate) fn name(&self) -> String {
        self.source.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// What one file says of its session.
pub(crate) struct SessionFile {
    /// The session's id as every command takes it.
    pub(crate) id: String,
    pub(crate) project_hash: Option<String>,
    pub(crate) is_subagent: bool,
    pub(crate) updated: Option<Timestamp>,
    /// Whether Gemini CLI's own loader takes the file.
    pub(crate) accepted: bool,
    /// Whether there is anything to go back to.
    pub(crate) resumable: bool,
}

impl SessionFile {
    fn new(source: &Source, project: Option<&Project>, loaded: &Loaded) -> Self {
        let time = |key: &str| loaded.text(key).and_then(|text| text.parse().ok());
        Self {
            id: session_id(source, project, loaded),
            project_hash: loaded.text("projectHash"),
            is_subagent: loaded.text("kind").as_deref() == Some("subagent"),
            updated: time("lastUpdated"),
            accepted: loaded.accepted,
            resumable: loaded.resumable,
        }
    }

    /// Whether Gemini CLI would offer the file for resuming.
    pub(crate) fn is_offered(&self) -> bool {
        self.accepted && self.resumable && !self.is_subagent
    }
}

/// What a file holds, by its content.
pub(crate) enum Opened {
    Session(Loaded),
    Other(Shape),
}

/// Reads a file whose content decides what it is.
pub(crate) fn open(file: &mut File) -> io::Result<Opened> {
    let shape = Shape::of(file)?;
    Ok(match shape {
        Shape::Session => Opened::Session(gemini::load(file)?),
        // The look at the first lines can be fooled by damage that the reader gets over.
        Shape::OtherJson | Shape::NotJson => {
            let loaded = gemini::load(file)?;
            let is_log = loaded.form == Form::Log && !loaded.messages.is_empty();
            if loaded.accepted || is_log || loaded.fields.contains_key("sessionId") {
                Opened::Session(loaded)
            } else {
                Opened::Other(shape)
            }
        }
        shape => Opened::Other(shape),
    })
}

/// Reads one file as far as its kind asks for.
pub(crate) fn read(source: Source, project: Option<&Project>) -> FileRead {
    let mut faults = Faults::default();
    let kind = source.kind;
    let holds = match kind {
        SourceKind::Chat | SourceKind::Subagent | SourceKind::Background => {
            conversation(&source, project, &mut faults)
        }
        SourceKind::ChatSave
        | SourceKind::RestorePoint
        | SourceKind::PromptLog
        | SourceKind::Task => check(&source.path, &mut faults).map(|()| Holds::Other(kind.name())),
        _ => Ok(Holds::Other(kind.name())),
    };
    let holds = holds.unwrap_or_else(|error| {
        faults.push(None, None, What::Unreadable(error.to_string()));
        Holds::Other(kind.name())
    });
    FileRead { source, holds, faults, is_newest: true }
}

fn conversation(
    source: &Source,
    project: Option<&Project>,
    faults: &mut Faults,
) -> io::Result<Holds> {
    let mut file = File::open(&source.path)?;
    Ok(match open(&mut file)? {
        Opened::Session(mut loaded) => {
            *faults = std::mem::take(&mut loaded.faults);
            Holds::Session(Box::new(SessionFile::new(source, project, &loaded)))
        }
        Opened::Other(Shape::NotJson) => {
            faults.push(None, None, What::Refused("it is not JSON"));
            Holds::Other(source.kind.name())
        }
        Opened::Other(shape @ (Shape::History | Shape::RestorePoint | Shape::PromptLog)) => {
            check(&source.path, faults)?;
            Holds::Other(shape.name())
        }
        Opened::Other(shape @ (Shape::JsonOutput | Shape::StreamJson)) => {
            Holds::Other(shape.name())
        }
        Opened::Other(shape) => Holds::Nothing(shape.name()),
    })
}

/// A file that should be one JSON value.
fn check(path: &Path, faults: &mut Faults) -> io::Result<()> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    if let Err(malformed) = json::check(&decode(&bytes)) {
        faults.push(None, None, What::CutOff(malformed));
    }
    Ok(())
}

/// The id of rules.md §2: unique, and the same wherever the file is copied.
fn session_id(source: &Source, project: Option<&Project>, loaded: &Loaded) -> String {
    let stem = source.stem();
    let Some(id) = loaded.text("sessionId").filter(|id| !id.is_empty()) else { return stem };
    let parent = source.path.parent().and_then(Path::file_name).unwrap_or_default();
    let parent = parent.to_string_lossy();
    match source.kind {
        SourceKind::Background => format!("{parent}/{id}"),
        SourceKind::Subagent if id == parent => format!("{id}/{stem}"),
        SourceKind::Subagent if !is_uuid(&id) => format!("{parent}/{id}"),
        SourceKind::Chat if !is_uuid(&id) => {
            let hash = loaded.text("projectHash").or_else(|| project?.hash.clone());
            let hash = hash.unwrap_or_default();
            format!("{id}/{}/{stem}", hash.chars().take(8).collect::<String>())
        }
        SourceKind::Chat if loaded.text("kind").as_deref() == Some("subagent") => {
            format!("{id}/{stem}")
        }
        _ => id,
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let hex = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) && groups.iter().all(hex)
}
