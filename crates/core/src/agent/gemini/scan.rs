//! One source to what it holds, whatever its shape.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::capture;
use super::load::{Loaded, load};
use super::own;
use super::prompts::{Typed, read_prompt_log};
use super::segment::Segment;
use super::shape::Shape;
use crate::discover::{Source, SourceKind};
use crate::fault::{Faults, What};
use crate::read::decode;

/// A source that was read.
#[derive(Debug)]
pub struct Scanned {
    pub source: Source,
    pub holds: Holds,
    pub faults: Faults,
}

impl Scanned {
    /// Gives back the ids, which nobody asks the file for any more.
    pub(crate) fn slim(&mut self) {
        if let Holds::Sessions(loaded) | Holds::History(loaded) = &mut self.holds {
            loaded.ids = Vec::new();
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

#[derive(Debug)]
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
    let mut faults = Faults::default();
    let holds = match read(&source) {
        Ok(holds) => holds,
        Err(error) => {
            faults.push(None, None, What::Unreadable(error.to_string()));
            Holds::Unreadable
        }
    };
    match &holds {
        Holds::Sessions(loaded) => faults = loaded.faults.clone(),
        Holds::History(loaded) => {
            // That Gemini CLI does not load a saved history as a session is no fault.
            faults = loaded.faults.clone();
            faults.details.retain(|fault| !matches!(fault.what, What::Refused(_)));
        }
        Holds::Nothing(Shape::NotJson) => {
            faults.push(None, None, What::Refused("it is not JSON"));
        }
        _ => {}
    }
    let mut scanned = Scanned { source, holds, faults };
    if let Holds::Sessions(loaded) | Holds::History(loaded) = &mut scanned.holds {
        // The sessions will know where each message stands.
        loaded.messages = Vec::new();
    }
    scanned
}

fn read(source: &Source) -> io::Result<Holds> {
    match source.kind {
        SourceKind::Chat
        | SourceKind::Subagent
        | SourceKind::Background
        | SourceKind::ChatSave
        | SourceKind::RestorePoint => read_conversation(&mut File::open(&source.path)?),
        SourceKind::PromptLog => Ok(Holds::Prompts(read_prompt_log(File::open(&source.path)?)?)),
        SourceKind::ShellHistory | SourceKind::ToolOutput | SourceKind::Plan | SourceKind::Task => {
            Ok(Holds::Attached)
        }
    }
}

/// The content decides what it is.
pub fn read_conversation(input: &mut (impl Read + Seek)) -> io::Result<Holds> {
    if own::is_ours(input)? {
        return Ok(Holds::Sessions(Box::new(own::load(input)?)));
    }
    let loaded = load(input)?;
    if loaded.accepted {
        return Ok(Holds::Sessions(Box::new(loaded)));
    }
    let shape = Shape::of(input)?;
    let mut text = || {
        input.seek(SeekFrom::Start(0))?;
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
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
