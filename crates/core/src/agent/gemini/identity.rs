//! Determines the id of a session, which is the same wherever its files are copied.

use jiff::Timestamp;

use crate::agent::gemini::lifecycle::retention::short_id;
use crate::agent::gemini::views::segment::Segment;
use crate::discover::{Source, SourceKind};
use crate::facts::SessionRef;
use crate::id::is_uuid;
use crate::model::{SessionId, SessionKind};

/// The session that a file, or a part of one, belongs to.
pub(crate) struct Identity {
    pub(crate) session: SessionRef,
    pub(crate) kind: SessionKind,
    pub(crate) parent: Option<SessionId>,
}

impl Identity {
    fn main(session: SessionRef) -> Self {
        Self { session, kind: SessionKind::Main, parent: None }
    }

    /// Returns the identity of a subagent that shares its parent's id.
    fn child_of(parent: &str, stem: &str) -> Self {
        let id = format!("{parent}/{stem}");
        Self::subagent(id, parent)
    }

    fn subagent(id: String, parent: &str) -> Self {
        let session = SessionRef::Id(id.into());
        Self { session, kind: SessionKind::Subagent, parent: Some(parent.into()) }
    }

    pub(crate) fn is_subagent(&self) -> bool {
        self.kind == SessionKind::Subagent
    }
}

/// Identifies a segment of a source; `several` is its number in a file with more than one session.
pub(crate) fn of(source: &Source, segment: &Segment, several: Option<usize>) -> Identity {
    let stem = source.stem();
    let inside = source.path.parent().and_then(|folder| folder.file_name());
    let inside = inside.unwrap_or_default().to_string_lossy().into_owned();
    let session = segment.session_id.as_deref().unwrap_or(&stem).to_owned();
    match source.kind {
        SourceKind::Background => Identity {
            session: SessionRef::Id(format!("{inside}/{session}").into()),
            kind: SessionKind::Background,
            parent: None,
        },
        SourceKind::Subagent if session == inside => Identity::child_of(&inside, &stem),
        SourceKind::Subagent if is_uuid(&session) => Identity::subagent(session, &inside),
        SourceKind::Subagent => Identity::child_of(&inside, &session),
        _ if segment.kind.as_deref() == Some("subagent") => Identity::child_of(&session, &stem),
        _ if is_uuid(&session) => Identity::main(SessionRef::Id(session.into())),
        _ => {
            let number = several.map(|n| format!("#{n}")).unwrap_or_default();
            let name = format!("{stem}{number}");
            if segment.session_id.is_some() {
                return Identity::main(SessionRef::InProject { scope: session, name });
            }
            // A log without its header still has the beginning of the id in its name.
            let file_name = source.path.file_name().unwrap_or_default().to_string_lossy();
            Identity::main(match short_id(&file_name) {
                Some(beginning) => {
                    let beginning = beginning.to_owned();
                    SessionRef::StartingWith { beginning, otherwise: name }
                }
                None => SessionRef::Id(name.into()),
            })
        }
    }
}

/// Identifies a history: a session if its file is named like one, otherwise a copy of one.
pub(crate) fn of_history(source: &Source) -> Identity {
    let stem = source.stem();
    let name = match source.kind {
        SourceKind::Conversation if stem.starts_with("session-") => {
            return Identity::main(SessionRef::Id(stem.into()));
        }
        SourceKind::SavedChat => percent_decode(stem.strip_prefix("checkpoint-").unwrap_or(&stem)),
        _ => stem,
    };
    let session = SessionRef::InProject { scope: "checkpoint".to_owned(), name };
    Identity { session, kind: SessionKind::Checkpoint, parent: None }
}

/// Returns the time in the name of a session file or a restore point: `2026-03-01T10-00`,
/// optionally with seconds and milliseconds. Gemini CLI writes it in UTC.
pub(crate) fn time_in_name(name: &str) -> Option<Timestamp> {
    let start =
        name.as_bytes().windows(11).position(|w| w[4] == b'-' && w[7] == b'-' && w[10] == b'T')?;
    let (date, time) = name.get(start..)?.split_once('T')?;
    let mut parts = time.split(['-', '_', '.']).map(|part| part.strip_suffix('Z').unwrap_or(part));
    // A number of another length may be the id of the session.
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

/// Decodes a tag, which is percent-encoded since 0.1.22.
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
