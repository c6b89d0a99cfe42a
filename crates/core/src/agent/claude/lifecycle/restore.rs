//! Plans the files that Claude Code needs to resume a session again.
//!
//! `claude --resume ID` reads `ID.jsonl` in the folder that is named after the current folder.
//! Everything else of the session is below a folder with the same name. Claude Code deletes files by
//! the time of their last change, so restored files get the present one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::VARIABLE;
use crate::agent::claude::paths::{self, PROJECTS, folder_name};
use crate::agent::lifecycle::{
    ArchivedSession, Content, FileRole, PlannedFile, Refusal, RestorePlan, RestoreTarget,
};
use crate::agent::versions::one_of_each;
use crate::assemble::SessionFacts;
use crate::discover::Source;
use crate::facts::{Contents, SourceSummary};
use crate::file::is_below;
use crate::model::{Session, SessionKind, State};
use crate::projects::find_encoded;

/// Plans the files to write.
pub(super) fn plan(
    archived: &ArchivedSession<'_>,
    target: &RestoreTarget<'_>,
) -> Result<RestorePlan, Refusal> {
    let facts = archived.facts;
    let session = &facts.session;
    if session.state == State::LogOnly {
        return Err(Refusal::LogOnly);
    }
    if session.kind != SessionKind::Main {
        return Err(Refusal::Subagent(session.parent.clone().unwrap_or_default()));
    }
    let main = main_file(archived)?;
    // A session that moved has a file of the same name in each folder.
    let names = facts.files.iter().map(|file| file.path.file_name());
    let (chosen, left) = one_of_each(facts, main, names.collect());
    let place = Place::new(session, &facts.files[chosen[0]], target)?;
    let roles = std::iter::once(FileRole::Session).chain(std::iter::repeat(FileRole::Part));
    let own = chosen.into_iter().map(|at| &facts.files[at]).zip(roles);
    let attached = archived.attached.iter().map(|file| (*file, FileRole::Attachment(file.kind)));
    let mut files: Vec<PlannedFile> = Vec::new();
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    for (source, role) in own.chain(attached) {
        let path = place.path(source, target)?;
        if known.insert(path.clone()) {
            files.push(PlannedFile { path, content: Content::Source(source.clone()), role });
        }
    }
    let Place { root, folder, project, .. } = place;
    let root = Some(root);
    Ok(RestorePlan { folder, root, project, files, listed_as: None, left, keeps_times: false })
}

/// Returns the place of the file that the program loads for a session: the one that is named after it, otherwise one
/// that ends with it.
fn main_file(archived: &ArchivedSession<'_>) -> Result<usize, Refusal> {
    let ArchivedSession { facts: SessionFacts { session, files, resumable_file, .. }, .. } =
        archived;
    let is_named = |at: &usize| paths::stem(&files[*at].path) == session.id.as_str();
    let is_offered = |at: &usize| archived.is_offered(&files[*at]);
    let mut named = resumable_file.iter().copied().chain((0..files.len()).rev()).filter(is_named);
    if let Some(named) = named.find(is_offered) {
        return Ok(named);
    }
    let other = resumable_file.filter(is_offered).ok_or(Refusal::Empty)?;
    let own = session.parts.get(other).and_then(|part| part.updated);
    let is_whole = |(known, about): &(&Source, &SourceSummary)| {
        **known == files[other]
            && matches!(&about.contents, Contents::Session(file) if file.updated <= own)
    };
    if archived.files.iter().any(is_whole) {
        Ok(other)
    } else {
        Err(Refusal::InFileOf(paths::stem(&files[other].path).into()))
    }
}

/// The place of a restored session.
struct Place {
    root: PathBuf,
    /// The folder for its project.
    folder: PathBuf,
    project: Option<String>,
    /// Whether files return to where they were.
    is_recorded: bool,
}

impl Place {
    fn new(
        session: &Session,
        source: &Source,
        target: &RestoreTarget<'_>,
    ) -> Result<Self, Refusal> {
        let from = source.folder();
        let here = from.filter(|folder| target.is_own(source) && target.has(folder));
        let here = here.and_then(|folder| Some((folder, folder.parent()?.parent()?)));
        // The program names its folder after the worktree, whatever project that belongs to.
        let recorded = session.worktree.clone().or_else(|| session.project.path.clone());
        if let Some((folder, root)) = here.filter(|_| target.project.is_none()) {
            let name = folder.file_name();
            let is_named = |path: &String| name == Some(OsStr::new(&folder_name(path)));
            let of_folder = || target.projects.of_folder(folder).path.filter(is_named);
            // A session that was moved still names the folder that it came from.
            let on_disk = || find_encoded(name?.to_str()?, folder, folder_name);
            let project = recorded.clone().filter(is_named).or_else(of_folder).or_else(on_disk);
            let project = project.or(recorded);
            let (root, folder) = (root.to_owned(), folder.to_owned());
            return Ok(Self { root, folder, project, is_recorded: true });
        }
        let root = here.map(|(_, root)| root.to_owned()).or_else(|| target.root.clone());
        let root = root.ok_or(Refusal::NoRoot { variable: VARIABLE })?;
        let project = target.project.clone().or(recorded).ok_or(Refusal::NoProject)?;
        let folder = root.join(PROJECTS).join(folder_name(&project));
        Ok(Self { root, folder, project: Some(project), is_recorded: false })
    }

    /// Returns the path to write. A session that worked in several projects has files in their folders.
    fn path(&self, source: &Source, target: &RestoreTarget<'_>) -> Result<PathBuf, Refusal> {
        let outside = || Refusal::Outside(source.path.clone());
        let from = source.folder().ok_or_else(outside)?;
        let below = source.path.strip_prefix(from).map_err(|_| outside())?;
        let stays = self.is_recorded
            && from.starts_with(&self.root)
            && target.is_own(source)
            && target.has(from);
        let folder: &Path = if stays { from } else { &self.folder };
        let path = folder.join(below);
        if is_below(folder, &path) && is_below(&self.root, &path) {
            Ok(path)
        } else {
            Err(outside())
        }
    }
}
