//! What a session is called: one id, the same wherever its files are copied.

use jiff::Timestamp;

use serde::{Deserialize, Serialize};

use super::projects::{hash_of, is_hash};
use super::segment::{Segment, is_uuid};
use crate::discover::{Source, SourceKind};
use crate::model::SessionKind;
use crate::project::Project;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    pub(super) id: String,
    pub(super) kind: SessionKind,
    pub(super) parent: Option<String>,
}

impl Identity {
    /// A subagent that shares its parent's id.
    pub(super) fn child_of(parent: &str, stem: &str) -> Self {
        Self {
            id: format!("{parent}/{stem}"),
            kind: SessionKind::Subagent,
            parent: Some(parent.to_owned()),
        }
    }
}

/// Names what `segment` of a source is. `session_id` is the agent's own id; `several` counts the sessions of a file with more than one.
pub(super) fn of(
    source: &Source,
    segment: &Segment,
    session_id: Option<&str>,
    project: &Project,
    several: Option<usize>,
) -> Identity {
    let stem = source.stem();
    let inside = source.path.parent().and_then(|folder| folder.file_name());
    let inside = inside.unwrap_or_default().to_string_lossy().into_owned();
    let session = session_id.unwrap_or(&stem).to_owned();
    match source.kind {
        SourceKind::Background => Identity {
            id: format!("{inside}/{session}"),
            kind: SessionKind::Background,
            parent: None,
        },
        SourceKind::Subagent if session == inside => Identity::child_of(&inside, &stem),
        SourceKind::Subagent if is_uuid(&session) => {
            Identity { id: session, kind: SessionKind::Subagent, parent: Some(inside) }
        }
        SourceKind::Subagent => Identity::child_of(&inside, &session),
        _ if segment.kind.as_deref() == Some("subagent") => Identity::child_of(&session, &stem),
        _ if is_uuid(&session) => Identity { id: session, kind: SessionKind::Main, parent: None },
        _ => {
            let number = several.map(|n| format!("#{n}")).unwrap_or_default();
            let id = match session_id {
                Some(_) => format!("{session}/{}/{stem}{number}", hash8(project)),
                None => format!("{stem}{number}"),
            };
            Identity { id, kind: SessionKind::Main, parent: None }
        }
    }
}

/// Names what a history is: a session if its file is called like one, else something that repeats one.
pub(super) fn of_history(source: &Source, project: &Project) -> Identity {
    let stem = source.stem();
    let tag = match source.kind {
        SourceKind::Chat if stem.starts_with("session-") => {
            return Identity { id: stem, kind: SessionKind::Main, parent: None };
        }
        SourceKind::ChatSave => percent_decode(stem.strip_prefix("checkpoint-").unwrap_or(&stem)),
        _ => stem,
    };
    let id = format!("checkpoint/{}/{tag}", hash8(project));
    Identity { id, kind: SessionKind::Checkpoint, parent: None }
}

/// The beginning of the project's hash, never of a folder's name: a copied folder gives the same.
fn hash8(project: &Project) -> String {
    let hash = project.path.as_deref().map(hash_of);
    let hash = project.hash.clone().filter(|hash| is_hash(hash)).or(hash);
    hash.map_or_else(|| "unknown".to_owned(), |hash| hash[..8].to_owned())
}

/// The time that the name of a session file or a restore point holds: `2026-03-01T10-00`, with seconds
/// and milliseconds or without. Gemini CLI writes it in UTC.
pub(super) fn time_in_name(name: &str) -> Option<Timestamp> {
    let start =
        name.as_bytes().windows(11).position(|w| w[4] == b'-' && w[7] == b'-' && w[10] == b'T')?;
    let (date, time) = name.get(start..)?.split_once('T')?;
    let mut parts = time.split(['-', '_', '.']).map(|part| part.strip_suffix('Z').unwrap_or(part));
    // What follows may be the id of the session: a number of another length.
    let mut number = |digits: usize| {
        let is_number =
            |part: &&str| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
        parts.next().filter(is_number)
    };
    let (hour, minute) = (number(2)?, number(2)?);
    let second = number(2);
    let millisecond = second.and_then(|_| number(3)).unwrap_or("000");
    let second = second.unwrap_or("00");
    format!("{date}T{hour}:{minute}:{second}.{millisecond}Z").parse().ok()
}

/// Tags are percent-encoded since 0.1.22.
fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        let hex = (*first == b'%').then(|| more.get(..2)).flatten();
        let hex = hex.and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        if let Some(byte) = hex {
            bytes.push(byte);
            rest = &more[2..];
        } else {
            bytes.push(*first);
            rest = more;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::time_in_name;

    #[test]
    fn times_in_names() {
        let time = |name| time_in_name(name).map(|at| at.to_string());
        let found = |name| time(name).unwrap();
        assert_eq!(found("session-2025-09-18T02-45-3b44bc68"), "2025-09-18T02:45:00Z");
        assert_eq!(found("session-2025-09-18T02-45-12345678"), "2025-09-18T02:45:00Z");
        assert_eq!(found("2026-03-01T10-00-07_125Z-a.md-replace"), "2026-03-01T10:00:07.125Z");
        assert_eq!(found("2026-03-01T10-00-07"), "2026-03-01T10:00:07Z");
        assert_eq!(found("session-2025-09-18T02-45-12ab3c4d"), "2025-09-18T02:45:00Z");
        for none in ["checkpoint-mytag", "session-2025-13-18T02-45-x", "2025-09-18", "2025-09-18T"]
        {
            assert_eq!(time(none), None, "{none}");
        }
        assert_eq!(time("äää-2025-09-18T02-45").as_deref(), Some("2025-09-18T02:45:00Z"));
    }
}
