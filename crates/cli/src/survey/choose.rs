//! From what somebody typed to the one file that answers it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use backstory_core::agent::gemini::is_hash;

use super::file::{FileRead, SessionFile};

/// What a name can mean.
pub(crate) enum Chosen<'a> {
    /// The file Gemini CLI would load for the session, and all files of the session.
    One(&'a FileRead, Vec<&'a FileRead>),
    /// Several sessions: their ids and files.
    Several(Vec<(&'a str, &'a FileRead)>),
    Nothing,
}

/// Finds a session by its id, by a file's name or stem, or by the beginning of its id.
pub(crate) fn choose<'a>(files: &'a [FileRead], name: &str) -> Chosen<'a> {
    let mut sessions: BTreeMap<&str, Vec<&FileRead>> = BTreeMap::new();
    for file in files {
        if let Some(session) = file.session() {
            sessions.entry(&session.id).or_default().push(file);
        }
    }
    if name.is_empty() {
        return Chosen::Nothing;
    }
    let by = |is: &dyn Fn(&str, &[&FileRead]) -> bool| {
        let matching = sessions.iter().filter(|(id, files)| is(id, files));
        matching.map(|(id, files)| (*id, files.clone())).collect::<Vec<_>>()
    };
    let is_called = |file: &&FileRead| file.name() == name || file.source.stem() == name;
    let mut found = by(&|id, _| id == name);
    if found.is_empty() {
        found = by(&|_, files| files.iter().any(is_called));
    }
    if found.is_empty() {
        found = by(&|id, _| id.starts_with(name));
    }
    // Sorted, so a session comes before its subagents, whose ids may begin with its own.
    match found.len() {
        0 => Chosen::Nothing,
        1 => match found.pop() {
            Some((_, files)) => {
                the_one(&files).map_or(Chosen::Nothing, |one| Chosen::One(one, files))
            }
            None => Chosen::Nothing,
        },
        _ => Chosen::Several(
            found.iter().filter_map(|(id, files)| Some((*id, the_one(files)?))).collect(),
        ),
    }
}

/// The one true file of a session (rules.md §4): among those that Gemini CLI would offer, a slug
/// folder before a hash folder, the latest update, the first name; without any, the latest update.
fn the_one<'a>(files: &[&'a FileRead]) -> Option<&'a FileRead> {
    let updated = |file: &FileRead| Reverse(file.session().and_then(|session| session.updated));
    let offered = files.iter().filter(|file| file.session().is_some_and(SessionFile::is_offered));
    let offered = offered.min_by_key(|file| (in_hash_folder(file), updated(file), file.name()));
    let latest =
        || files.iter().min_by_key(|file| (updated(file), in_hash_folder(file), file.name()));
    offered.or_else(latest).copied()
}

fn in_hash_folder(file: &FileRead) -> bool {
    let name = file.source.folder.as_deref().and_then(Path::file_name);
    name.and_then(|name| name.to_str()).is_some_and(is_hash)
}
