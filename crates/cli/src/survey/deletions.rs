//! Which session files Gemini CLI will delete, and which of them before their time.

use std::path::{Path, PathBuf};

use backstory_core::agent::gemini::retention::{ChatFile, Early, Retention, Why, plan};
use backstory_core::archive::{Archive, ArchiveError};
use backstory_core::env::Env;
use backstory_core::facts::{Contents, SessionFile};
use backstory_core::projects::{ProjectHints, is_hash};
use jiff::Timestamp;
use rustc_hash::FxHashMap as HashMap;

use super::file::FileRead;
use super::settings;

/// One file that will go.
pub(crate) struct Doomed {
    pub(crate) path: PathBuf,
    pub(crate) session: Option<String>,
    /// At the first start in the project after this; none for the next start.
    pub(crate) at: Option<Timestamp>,
    pub(crate) why: Why,
    /// Whether there is anything in it to go back to.
    pub(crate) resumable: bool,
    /// Whether the archive keeps its session.
    pub(crate) kept: bool,
    /// Set when it goes too early, by the resume bug.
    pub(crate) early: Option<Early>,
}

/// The session files that the clean-up looks at, by the `chats` folder they are in.
pub(super) struct Chats<'a>(HashMap<&'a Path, Vec<&'a FileRead>>);

impl<'a> Chats<'a> {
    pub(super) fn of(files: &'a [FileRead]) -> Self {
        let mut by_folder: HashMap<&Path, Vec<&FileRead>> = HashMap::default();
        for file in files {
            if let Some(chats) = file.source.path.parent().filter(|_| is_chat(&file.source.path)) {
                by_folder.entry(chats).or_default().push(file);
            }
        }
        Self(by_folder)
    }

    /// What will go from one project folder.
    pub(super) fn doomed(
        &self,
        folder: &Path,
        retention: &Retention,
        now: Timestamp,
    ) -> Vec<Doomed> {
        let files = self.0.get(&*folder.join("chats")).filter(|_| is_cleaned(folder));
        let by_name: HashMap<String, &FileRead> =
            files.into_iter().flatten().map(|file| (name(&file.source.path), *file)).collect();
        let candidates = by_name.iter().map(|(name, file)| chat(name, file.session(), now));
        let deletions = plan(&sorted(candidates), retention, now);
        let doomed = deletions.into_iter().filter_map(|deletion| {
            let file = by_name.get(&deletion.name)?;
            Some(Doomed {
                path: file.source.path.clone(),
                session: file.session_id().map(str::to_owned),
                resumable: file.session().is_some_and(|session| session.is_resumable),
                kept: file.is_kept,
                at: deletion.at,
                why: deletion.why,
                early: deletion.early,
            })
        });
        doomed.collect()
    }
}

/// Returns the files that the clean-up will delete, the soonest first, from the folders in which
/// anything is not captured yet. This is what a capture goes by, so it loads no sessions.
pub(crate) fn soonest(
    archive: &Archive,
    env: &Env,
    now: Timestamp,
) -> Result<Vec<PathBuf>, ArchiveError> {
    let mut projects = archive.projects(&ProjectHints::default())?;
    let mut out: Vec<(bool, Option<Timestamp>, PathBuf)> = Vec::new();
    for (folder, files) in archive.uncaptured_chats()? {
        let Some(root) = folder.parent().and_then(Path::parent).filter(|_| is_cleaned(&folder))
        else {
            continue;
        };
        let chats = folder.join("chats");
        let is_here = |path: &Path| path.parent() == Some(&chats) && is_chat(path);
        let candidates = files.iter().filter(|(path, _)| is_here(path)).map(|(path, what)| {
            let session = if let Contents::Session(session) = what { Some(session) } else { None };
            chat(&name(path), session, now)
        });
        let project = projects.resolve(Some(&folder), None);
        let project = project.path.as_deref().map(Path::new);
        let retention = settings::decide(env, root, project).retention;
        let deletions = plan(&sorted(candidates), &retention, now).into_iter();
        out.extend(deletions.map(|d| (d.at.is_some(), d.at, chats.join(d.name))));
    }
    out.sort();
    Ok(out.into_iter().map(|(_, _, path)| path).collect())
}

/// Only slug folders are ever cleaned up: Gemini CLI copies a hash folder to a slug folder once, and
/// then leaves the old one alone for good.
fn is_cleaned(folder: &Path) -> bool {
    !folder.file_name().and_then(|name| name.to_str()).is_some_and(is_hash)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_chat(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"session-"))
}

fn chat(name: &str, session: Option<&SessionFile>, now: Timestamp) -> ChatFile {
    let session = session.filter(|session| session.is_offered);
    // A time that is missing is the moment of loading to Gemini CLI.
    let resumable_since = session.map(|session| session.updated.unwrap_or(now));
    ChatFile { name: name.to_owned(), resumable_since }
}

/// Each name once, in the order of names.
fn sorted(files: impl Iterator<Item = ChatFile>) -> Vec<ChatFile> {
    let mut files: Vec<ChatFile> = files.collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.dedup_by(|a, b| a.name == b.name);
    files
}
