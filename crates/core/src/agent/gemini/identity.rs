//! What a session is called: one id, the same wherever its files are copied.

use super::projects::{hash_of, is_hash};
use super::segment::{Segment, is_uuid};
use crate::discover::{Source, SourceKind};
use crate::model::SessionKind;
use crate::project::Project;

#[derive(Debug, Clone, PartialEq, Eq)]
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
    is_history: bool,
    several: Option<usize>,
) -> Identity {
    let stem = source.stem();
    if is_history {
        return checkpoint(source, &stem, project);
    }
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

fn checkpoint(source: &Source, stem: &str, project: &Project) -> Identity {
    let tag = match source.kind {
        SourceKind::ChatSave => percent_decode(stem.strip_prefix("checkpoint-").unwrap_or(stem)),
        _ => stem.to_owned(),
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
