//! Plans the files that Gemini CLI needs to list and resume a session again.
//!
//! The plan is minimal on purpose. At the next start, a file with nothing to resume counts as
//! corrupt and is deleted together with all files that share the 8 characters of its id; so there
//! are no stubs, and no copies of other written files. The project hash in a file's first line
//! is never compared with anything, so files can be written to another project's folder unchanged.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::agent::gemini::projects::marker;
use crate::agent::gemini::projects::registry::{self, claim};
use crate::agent::lifecycle::{
    ArchivedSession, Content, FileRole, LeftFile, LeftReason, PlannedFile, Refusal, RestorePlan,
    RestoreTarget,
};
use crate::assemble::SessionFacts;
use crate::discover::{Source, SourceKind};
use crate::file::is_below;
use crate::model::{MessageKind, PartWhy, SessionKind, State};
use crate::project::{Project, Proof};
use crate::projects::{hash_of, is_hash};

/// Plans the files to write.
pub(crate) fn plan(
    archived: &ArchivedSession<'_>,
    target: &RestoreTarget<'_>,
) -> Result<RestorePlan, Refusal> {
    let assembled = archived.facts;
    let session = &assembled.session;
    if session.state == State::LogOnly {
        return Err(Refusal::LogOnly);
    }
    if session.kind == SessionKind::Subagent {
        return Err(Refusal::Subagent(session.parent.clone().unwrap_or_default()));
    }
    let is_offered =
        |at: usize| session.kind != SessionKind::Main || archived.is_offered(&assembled.files[at]);
    let main = main_file(assembled, target).filter(|at| is_offered(*at)).ok_or(Refusal::Empty)?;
    let source = &assembled.files[main];
    let mut out = place(assembled, source, target)?;
    let (parts, left) = parts(assembled, main, &is_offered);
    out.left = left;
    let mut writes: BTreeMap<PathBuf, PlannedFile> = BTreeMap::new();
    let mut order = Vec::new();
    let mut put = |source: &Source, role| {
        if source.folder().is_none() {
            return Ok(());
        }
        let path = below(source).map(|below| out.folder.join(below));
        let path = path.filter(|path| is_below(&out.folder, path));
        let path = path.ok_or_else(|| Refusal::Outside(source.path.clone()))?;
        if !writes.contains_key(&path) {
            order.push(path.clone());
            let content = Content::Source(source.clone());
            writes.insert(path.clone(), PlannedFile { path, content, role });
        }
        Ok(())
    };
    put(source, FileRole::Session)?;
    for part in parts {
        put(&assembled.files[part], FileRole::Part)?;
    }
    if session.kind == SessionKind::Main && session.id.is_uuid() {
        for source in archived.attached {
            put(source, FileRole::Attachment(source.kind))?;
        }
    }
    out.files.extend(order.iter().filter_map(|path| writes.remove(path)));
    Ok(out)
}

/// Returns the file that Gemini CLI loads; of two equally new ones, the one that still exists.
fn main_file(assembled: &SessionFacts, target: &RestoreTarget<'_>) -> Option<usize> {
    let main = assembled.resumable_file?;
    let parts = &assembled.session.parts;
    let updated = |at: usize| parts.get(at).map(|part| part.updated);
    let is_twin = |at: &usize| {
        assembled.files[*at].is_live()
            && updated(*at) == updated(main)
            && parts.get(*at).is_some_and(|part| part.why != PartWhy::Stub)
    };
    let twin = (0..assembled.files.len()).find(is_twin);
    Some(
        twin.filter(|_| target.project.is_none() && !assembled.files[main].is_live())
            .unwrap_or(main),
    )
}

fn in_hash_folder(source: &Source) -> bool {
    let name = source.folder().and_then(Path::file_name);
    name.is_some_and(|name| is_hash(&name.to_string_lossy()))
}

/// Returns a file's path below the folder of its project, as recorded. An archive of somebody else
/// may contain any path.
fn below(source: &Source) -> Option<&Path> {
    source.path.strip_prefix(source.folder()?).ok()
}

/// Returns the project's path, unless it is a guess.
fn proved(project: &Project) -> Option<String> {
    project.path.clone().filter(|_| !matches!(project.proof, Proof::ToolPaths | Proof::None))
}

/// Returns the folder for the session, and the files that identify its project.
fn place(
    assembled: &SessionFacts,
    source: &Source,
    target: &RestoreTarget<'_>,
) -> Result<RestorePlan, Refusal> {
    let from = source.folder();
    // A session that was restored elsewhere has files of two projects; the project of this file
    // counts.
    let of_folder = from.map(|folder| target.projects.of_folder(folder));
    let project = target.project.clone().or_else(|| of_folder.as_ref().and_then(proved));
    let project = project.or_else(|| proved(&assembled.session.project));
    let is_here = target.is_own(source) && from.is_none_or(|folder| target.has(folder));
    let in_tmp = |folder: &Path| folder.parent().is_some_and(|tmp| tmp.ends_with("tmp"));
    let root = match from {
        Some(folder) if is_here && in_tmp(folder) => folder.ancestors().nth(2).map(Path::to_owned),
        Some(_) if is_here && target.project.is_none() => None,
        Some(_) => {
            let variable = "GEMINI_CLI_HOME";
            Some(target.root.clone().ok_or(Refusal::NoRoot { variable })?)
        }
        None => {
            let hint = "`gemini --session-file FILE` imports a file by itself";
            return Err(Refusal::NoFolder { hint });
        }
    };
    let mut out = RestorePlan {
        folder: from.map(Path::to_owned).unwrap_or_default(),
        root,
        project,
        files: Vec::new(),
        listed_as: None,
        left: Vec::new(),
        keeps_times: true,
    };
    // Existing files stay where they are, unless another folder is requested or Gemini CLI looks
    // elsewhere.
    if is_here && source.is_live() && !in_hash_folder(source) && target.project.is_none() {
        out.project = from.and_then(marker).or(out.project);
        return Ok(out);
    }
    let Some(root) = &out.root else { return Ok(out) };
    let Some(project) = &out.project else {
        out.folder = root.join("tmp").join(out.folder.file_name().unwrap_or_default());
        return Ok(out);
    };
    let claim = claim(root, project).map_err(Refusal::Registry)?;
    let tmp = root.join("tmp");
    let (slug, hash) = (tmp.join(&claim.slug), tmp.join(hash_of(project)));
    if hash.is_dir() && is_fresh(&slug) {
        // At its next start Gemini CLI copies the old folder to the new one, but only while the
        // latter is empty.
        out.folder = hash;
        return Ok(out);
    }
    let note = registry::normal(project);
    out.files.extend(claim.markers.into_iter().map(|path| PlannedFile {
        path,
        content: Content::Text(note.clone()),
        role: FileRole::Marker,
    }));
    out.listed_as = (!claim.is_listed).then_some(claim.slug);
    out.folder = slug;
    Ok(out)
}

/// Returns whether a folder contains nothing but its marker.
fn is_fresh(folder: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else { return true };
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == registry::MARKER))
}

/// Returns the files with messages that the main one lacks, and the files that are not written.
fn parts(
    assembled: &SessionFacts,
    main: usize,
    is_offered: &dyn Fn(usize) -> bool,
) -> (Vec<usize>, Vec<LeftFile>) {
    let files = &assembled.files;
    let mut chosen = vec![main];
    let mut is_chosen = vec![false; files.len()];
    is_chosen[main] = true;
    let mut taken: HashSet<Option<&Path>> = HashSet::from([below(&files[main])]);
    let mut losing: BTreeMap<usize, LeftReason> = BTreeMap::new();
    for entry in assembled.listed().filter(|entry| entry.facts.kind != MessageKind::Injected) {
        let holders: BTreeSet<usize> = entry.places.iter().map(|place| place.file).collect();
        if holders.iter().any(|file| is_chosen[*file]) {
            continue;
        }
        let is_free = |at: usize| !taken.contains(&below(&files[at]));
        let fitting = holders.iter().copied().filter(|at| is_offered(*at) && is_free(*at));
        match fitting.min_by_key(|at| (files[*at].is_replaced(), in_hash_folder(&files[*at]), *at))
        {
            Some(file) => {
                chosen.push(file);
                is_chosen[file] = true;
                taken.insert(below(&files[file]));
            }
            None => losing.extend(holders.iter().map(|at| {
                (*at, if is_offered(*at) { LeftReason::Version } else { LeftReason::Corrupt })
            })),
        }
    }
    let why = |at: usize| {
        let is_stub = assembled.session.parts.get(at).is_some_and(|part| part.why == PartWhy::Stub);
        losing.get(&at).copied().unwrap_or(if is_stub {
            LeftReason::Stub
        } else {
            LeftReason::Copy
        })
    };
    let left = (0..files.len()).filter(|at| !is_chosen[*at]);
    let left = left.map(|at| LeftFile { source: files[at].clone(), why: why(at) }).collect();
    chosen.remove(0);
    (chosen, left)
}

/// Returns the id of the session that a subagent, a tool output, a plan or a task belongs to, by
/// its path in the project's folder.
pub(crate) fn owner(source: &Source) -> Option<&str> {
    let below: Vec<&str> = below(source)?.iter().map(|part| part.to_str().unwrap_or("")).collect();
    match (source.kind, &below[..]) {
        (SourceKind::Subagent, ["chats", parent, _]) => Some(parent),
        (SourceKind::ToolOutput, ["tool-outputs", folder, _, ..]) => {
            folder.strip_prefix("session-")
        }
        (SourceKind::Plan | SourceKind::Task, [folder, _, _, ..]) => Some(folder),
        _ => None,
    }
}

/// Returns the line that updates a session to `now` for Gemini CLI.
pub(crate) fn fresh_line(now: Timestamp) -> String {
    format!("{{\"$set\":{{\"lastUpdated\":\"{now:.3}\"}}}}\n")
}

/// Returns whether the session's file accepts such a line: a log does, a document does not.
pub(crate) fn takes_line(assembled: &SessionFacts, source: &Source) -> bool {
    let at = assembled.files.iter().position(|file| file == source);
    let is_document = at.and_then(|at| assembled.documents.get(at)).copied().unwrap_or(true);
    source.path.extension().is_some_and(|ending| ending == "jsonl") && !is_document
}
