//! Which session files Gemini CLI will delete, and which of them before their time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use backstory_core::agent::gemini::is_hash;
use backstory_core::agent::gemini::retention::{
    ChatFile, Deletion, Retention, Why, plan, short_id,
};
use jiff::Timestamp;

use super::file::FileRead;

/// One file that will go.
pub(crate) struct Doomed {
    pub(crate) path: PathBuf,
    pub(crate) session: Option<String>,
    /// At the first start in the project after this; none for the next start.
    pub(crate) at: Option<Timestamp>,
    pub(crate) why: Why,
    /// Whether there is anything in it to go back to.
    pub(crate) resumable: bool,
    /// Set when it goes too early, by the resume bug.
    pub(crate) early: Option<Early>,
}

/// When it would have gone by its own age; none for never.
pub(crate) struct Early {
    pub(crate) instead_of: Option<Timestamp>,
}

/// What will go from one project folder. Only slug folders are ever cleaned up: Gemini CLI copies a
/// hash folder to a slug folder once, and then leaves the old one alone for good.
pub(crate) fn of_folder(
    folder: &Path,
    files: &[FileRead],
    retention: &Retention,
    now: Timestamp,
) -> Vec<Doomed> {
    if folder.file_name().and_then(|name| name.to_str()).is_some_and(is_hash) {
        return Vec::new();
    }
    let chats = folder.join("chats");
    let mut by_name: HashMap<String, &FileRead> = HashMap::new();
    for file in files.iter().filter(|file| file.source.path.parent() == Some(&chats)) {
        if file.name().starts_with("session-") {
            by_name.insert(file.name(), file);
        }
    }
    let mut candidates: Vec<ChatFile> =
        by_name.iter().map(|(name, file)| as_chat(name, file, now)).collect();
    candidates.sort_by(|a, b| a.name.cmp(&b.name));
    let deletions = plan(&candidates, retention, now);
    let doomed = deletions.into_iter().filter_map(|deletion| {
        let file = by_name.get(&deletion.name)?;
        let early = early(&deletion, &candidates, retention, now);
        Some(Doomed {
            path: file.source.path.clone(),
            session: file.session_id().map(str::to_owned),
            resumable: file.session().is_some_and(|session| session.resumable),
            at: deletion.at,
            why: deletion.why,
            early,
        })
    });
    doomed.collect()
}

fn as_chat(name: &str, file: &FileRead, now: Timestamp) -> ChatFile {
    let session = file.session().filter(|session| session.is_offered());
    // A time that is missing is the moment of loading to Gemini CLI.
    let resumable_since = session.map(|session| session.updated.unwrap_or(now));
    ChatFile { name: name.to_owned(), resumable_since }
}

/// Compares with what would happen if no other file shared its id.
fn early(
    deletion: &Deletion,
    files: &[ChatFile],
    retention: &Retention,
    now: Timestamp,
) -> Option<Early> {
    if !matches!(deletion.why, Why::SharesId(_)) {
        return None;
    }
    let id = short_id(&deletion.name);
    let alone: Vec<ChatFile> = files
        .iter()
        .filter(|file| file.name == deletion.name || short_id(&file.name) != id)
        .cloned()
        .collect();
    let own = plan(&alone, retention, now).into_iter().find(|d| d.name == deletion.name);
    match (deletion.at, own) {
        (_, None) => Some(Early { instead_of: None }),
        (None, Some(own)) if own.at.is_some() => Some(Early { instead_of: own.at }),
        (Some(at), Some(own)) if own.at.is_some_and(|own| own > at) => {
            Some(Early { instead_of: own.at })
        }
        _ => None,
    }
}
