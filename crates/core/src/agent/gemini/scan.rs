//! One source to what it holds, whatever its shape.

use serde::{Deserialize, Serialize};
use std::io::{self, Read, Seek, SeekFrom};

use super::capture;
use super::load::{Form, Loaded, LogReader, Want, head, load_as};
use super::log::Tail;
use super::own;
use super::prompts::{Typed, read_prompt_log};
use super::segment::Segment;
use super::shape::{self, Shape};
use crate::discover::{Source, SourceKind};
use crate::fault::{Faults, What};
use crate::read::bytes::{Bytes, Disk, read_whole};
use crate::read::decode;

/// A source that was read.
#[derive(Debug)]
pub struct Scanned {
    pub source: Source,
    pub holds: Holds,
    pub faults: Faults,
}

impl Scanned {
    /// What was read, or why it could not be.
    pub(super) fn new(source: Source, read: io::Result<Holds>) -> Self {
        let mut faults = Faults::default();
        let mut holds = read.unwrap_or_else(|error| {
            faults.push(None, None, What::Unreadable(error.to_string()));
            Holds::Unreadable
        });
        match &mut holds {
            Holds::Sessions(loaded) | Holds::History(loaded) => {
                faults = std::mem::take(&mut loaded.faults);
                // The sessions will know where each message stands.
                loaded.messages = Vec::new();
            }
            Holds::Nothing(Shape::NotJson) => {
                faults.push(None, None, What::Refused("it is not JSON".into()));
            }
            _ => {}
        }
        if matches!(holds, Holds::History(_)) {
            // That Gemini CLI does not load a saved history as a session is no fault.
            faults.details.retain(|fault| !matches!(fault.what, What::Refused(_)));
        }
        Self { source, holds, faults }
    }

    /// Returns whether it is a log that Gemini CLI would load.
    pub(super) fn is_log(&self) -> bool {
        matches!(&self.holds, Holds::Sessions(loaded) if loaded.accepted && loaded.form == Form::Log)
    }

    /// The sessions in it, each piece by itself.
    pub(super) fn segments(&self) -> &[Segment] {
        match &self.holds {
            Holds::Sessions(loaded) | Holds::History(loaded) => &loaded.segments,
            _ => &[],
        }
    }

    /// Gives away what the file holds of each session.
    pub(super) fn take_segments(&mut self) -> Vec<Segment> {
        match &mut self.holds {
            Holds::Sessions(loaded) | Holds::History(loaded) => {
                std::mem::take(&mut loaded.segments)
            }
            _ => Vec::new(),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub enum Holds {
    /// One conversation or several.
    Sessions(Box<Loaded>),
    /// A history saved by hand or as a restore point.
    History(Box<Loaded>),
    Prompts(Vec<Typed>),
    /// Nothing of interest; what it is instead.
    Nothing(Shape),
    /// A file that belongs to a session and is not read for itself.
    Attached,
    Unreadable,
}

/// Reads a source. A file that cannot be read is a fault like any other.
pub fn scan(source: Source) -> Scanned {
    let holds = read(&source, &Disk, Want::Full, &mut |_, _| {});
    Scanned::new(source, holds)
}

/// The same, only as far as it takes to count the calls in it.
pub fn scan_calls(source: Source) -> Scanned {
    let holds = read(&source, &Disk, Want::Calls, &mut |_, _| {});
    Scanned::new(source, holds)
}

pub(super) fn read(
    source: &Source,
    bytes: &dyn Bytes,
    want: Want,
    keep: &mut dyn FnMut(&LogReader, Option<&Tail>),
) -> io::Result<Holds> {
    match source.kind {
        SourceKind::Chat
        | SourceKind::Subagent
        | SourceKind::Background
        | SourceKind::ChatSave
        | SourceKind::RestorePoint => conversation(&mut bytes.open(source)?, want, keep),
        SourceKind::PromptLog => {
            let mut input = bytes.open(source)?;
            if shape::is_lfs_pointer(&head(&mut input)?) {
                return Ok(Holds::Nothing(Shape::LfsPointer));
            }
            input.seek(SeekFrom::Start(0))?;
            Ok(Holds::Prompts(read_prompt_log(input)?))
        }
        SourceKind::ShellHistory | SourceKind::ToolOutput | SourceKind::Plan | SourceKind::Task => {
            Ok(Holds::Attached)
        }
    }
}

/// The content decides what it is.
pub fn read_conversation(input: &mut (impl Read + Seek)) -> io::Result<Holds> {
    conversation(input, Want::Full, &mut |_, _| {})
}

fn conversation(
    input: &mut (impl Read + Seek),
    want: Want,
    keep: &mut dyn FnMut(&LogReader, Option<&Tail>),
) -> io::Result<Holds> {
    let head = head(input)?;
    if own::is_ours(&head) {
        return Ok(Holds::Sessions(Box::new(own::load(input)?)));
    }
    let loaded = load_as(input, &head, want, keep)?;
    if loaded.accepted {
        return Ok(Holds::Sessions(Box::new(loaded)));
    }
    let shape = Shape::of(input)?;
    let mut text = || {
        input.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        read_whole(&mut *input, &mut bytes)?;
        Ok::<_, io::Error>(decode(&bytes).into_owned())
    };
    Ok(match shape {
        Shape::Session => Holds::Sessions(Box::new(loaded)),
        Shape::History | Shape::RestorePoint => Holds::History(Box::new(loaded)),
        Shape::JsonOutput => captured(capture::json_output(&text()?), shape),
        Shape::StreamJson => captured(capture::stream_json(&text()?), shape),
        Shape::PromptLog => Holds::Prompts(read_prompt_log(text()?.as_bytes())?),
        shape => Holds::Nothing(shape),
    })
}

fn captured(loaded: Option<Loaded>, shape: Shape) -> Holds {
    loaded.map_or(Holds::Nothing(shape), |loaded| Holds::Sessions(Box::new(loaded)))
}
