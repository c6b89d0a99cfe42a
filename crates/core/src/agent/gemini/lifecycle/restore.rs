//! What Gemini CLI needs to list and resume a session again, as a plan: which files, where to.
//!
//! Less is more here. A file with nothing to resume in it counts as corrupt at the next start, and with
//! it go all that share the 8 characters of its id: so no stubs, and no copies of what is written anyway.
//! The hash of the project in a file's first line is never compared with anything, so files go into
//! another project's folder as they are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::agent::gemini::projects::marker;
use crate::agent::gemini::projects::registry::{self, claim};
use crate::assemble::SessionFacts;
use crate::discover::{Source, SourceKind, SourceState};
use crate::facts::{Contents, SourceSummary};
use crate::file::{is_below, resolve};
use crate::id::is_uuid;
use crate::model::{MessageKind, PartWhy, SessionKind, State};
use crate::project::{Project, Proof};
use crate::projects::{Projects, hash_of, is_hash};

/// Where to restore to.
#[derive(Debug, Clone)]
pub struct Target<'a> {
    /// This machine; sessions of others go to the usual place.
    pub machine: &'a str,
    /// The agent's folder that is usual here.
    pub root: Option<PathBuf>,
    /// The folders of projects on this machine, and folders that contain such folders. A session that
    /// was recorded anywhere else is treated like another machine's.
    pub places: BTreeSet<PathBuf>,
    /// Another folder of the project than the one the session knows.
    pub project: Option<String>,
    /// What is known of projects.
    pub projects: &'a Projects,
}

impl Target<'_> {
    /// Whether the agent keeps a project in this folder.
    fn has(&self, folder: &Path) -> bool {
        let Ok(folder) = resolve(folder) else { return false };
        let is_it = |place: PathBuf| place == folder || folder.parent() == Some(&place);
        self.places.iter().flat_map(|place| resolve(place)).any(is_it)
    }
}

#[derive(Debug)]
pub struct Plan {
    /// The agent's folder for the project.
    pub folder: PathBuf,
    /// The folder that holds it and all others; none where it stands alone.
    pub root: Option<PathBuf>,
    /// The project, if it is known.
    pub project: Option<String>,
    /// Notes of whose folder it is, then the session itself, then what belongs to it.
    pub writes: Vec<Write>,
    /// The name under which the project goes into the agent's list, if it has to.
    pub enter: Option<String>,
    pub left: Vec<Left>,
}

#[derive(Debug)]
pub struct Write {
    pub path: PathBuf,
    pub content: Content,
    pub what: What,
}

#[derive(Debug)]
pub enum Content {
    Source(Source),
    Text(String),
}

/// What a file is to the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The note of whose folder it is.
    Marker,
    /// The list of all projects.
    Registry,
    /// The file that Gemini CLI loads.
    Session,
    /// A file that holds more of it.
    Part,
    /// What it refers to.
    Attached(SourceKind),
}

impl What {
    pub fn name(self) -> &'static str {
        match self {
            Self::Marker => "marker",
            Self::Registry => "registry",
            Self::Session => "session",
            Self::Part => "part",
            Self::Attached(kind) => kind.label(),
        }
    }
}

/// A file that is not written.
#[derive(Debug)]
pub struct Left {
    pub source: Source,
    pub why: LeftWhy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftWhy {
    Stub,
    /// All it holds is in the files that are written.
    Copy,
    /// It holds messages that no file that is written has, but would be taken for corrupt.
    Corrupt,
    /// It holds such messages, but another version of the same file is written.
    Version,
}

impl LeftWhy {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stub => "stub",
            Self::Copy => "copy",
            Self::Corrupt => "corrupt",
            Self::Version => "version",
        }
    }

    /// Whether messages are left behind with it.
    pub fn loses(self) -> bool {
        matches!(self, Self::Corrupt | Self::Version)
    }
}

/// Why there is nothing to restore.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("all that is left of it is what was typed, in `logs.json`")]
    LogOnly,
    #[error("it is a subagent's, which comes back with its parent `{0}`")]
    Subagent(String),
    #[error("Gemini CLI finds nothing to resume in it, and would delete it again")]
    Empty,
    #[error("it stands in no folder of a project")]
    NoFolder,
    #[error("the folder of Gemini CLI is not known")]
    NoRoot,
    #[error("`{}` is not a path below its project's folder", .0.display())]
    Outside(PathBuf),
    #[error("the list of projects cannot be read")]
    Registry(#[source] io::Error),
}

/// Decides what to write. `files` is all that is known, whatever became of it.
pub fn plan(
    assembled: &SessionFacts,
    files: &[(&Source, &SourceSummary)],
    target: &Target<'_>,
) -> Result<Plan, Refusal> {
    let session = &assembled.session;
    if session.state == State::LogOnly {
        return Err(Refusal::LogOnly);
    }
    if session.kind == SessionKind::Subagent {
        return Err(Refusal::Subagent(session.parent.clone().unwrap_or_default()));
    }
    let number = |source: &Source| source.archived.as_ref().map(|archived| archived.number);
    let offered: HashSet<(Option<i64>, &Path)> = files
        .iter()
        .filter(|(_, about)| matches!(&about.contents, Contents::Session(file) if file.is_offered))
        .map(|(source, _)| (number(source), source.path.as_path()))
        .collect();
    let is_offered = |at: usize| {
        let file = &assembled.files[at];
        session.kind != SessionKind::Main || offered.contains(&(number(file), &file.path))
    };
    let main = main_file(assembled, target).filter(|at| is_offered(*at)).ok_or(Refusal::Empty)?;
    let source = &assembled.files[main];
    let mut out = place(assembled, source, target)?;
    let (parts, left) = parts(assembled, main, &is_offered);
    out.left = left;
    let mut writes: BTreeMap<PathBuf, Write> = BTreeMap::new();
    let mut order = Vec::new();
    let mut put = |source: &Source, what| {
        if source.folder().is_none() {
            return Ok(());
        }
        let path = below(source).map(|below| out.folder.join(below));
        let path = path.filter(|path| is_below(&out.folder, path));
        let path = path.ok_or_else(|| Refusal::Outside(source.path.clone()))?;
        if !writes.contains_key(&path) {
            order.push(path.clone());
            let content = Content::Source(source.clone());
            writes.insert(path.clone(), Write { path, content, what });
        }
        Ok(())
    };
    put(source, What::Session)?;
    for part in parts {
        put(&assembled.files[part], What::Part)?;
    }
    if session.kind == SessionKind::Main && is_uuid(&session.id) {
        for source in attached(&session.id, files) {
            put(source, What::Attached(source.kind))?;
        }
    }
    out.writes.extend(order.iter().filter_map(|path| writes.remove(path)));
    Ok(out)
}

/// The file that Gemini CLI loads; of two that are equally new, the one that is still there.
fn main_file(assembled: &SessionFacts, target: &Target<'_>) -> Option<usize> {
    let main = assembled.resumable_file?;
    let parts = &assembled.session.parts;
    let updated = |at: usize| parts.get(at).map(|part| part.updated);
    let is_twin = |at: &usize| {
        is_live(&assembled.files[*at])
            && updated(*at) == updated(main)
            && parts.get(*at).is_some_and(|part| part.why != PartWhy::Stub)
    };
    let twin = (0..assembled.files.len()).find(is_twin);
    Some(
        twin.filter(|_| target.project.is_none() && !is_live(&assembled.files[main]))
            .unwrap_or(main),
    )
}

fn is_live(source: &Source) -> bool {
    source.archived.as_ref().is_none_or(|archived| archived.state == SourceState::Live)
}

fn in_hash_folder(source: &Source) -> bool {
    let name = source.folder().and_then(Path::file_name);
    name.is_some_and(|name| is_hash(&name.to_string_lossy()))
}

/// Returns a file's path below the folder of its project. It is as it was recorded: an archive of
/// somebody else can have anything in it.
fn below(source: &Source) -> Option<&Path> {
    source.path.strip_prefix(source.folder()?).ok()
}

/// The project's path, unless it is a guess.
fn proved(project: &Project) -> Option<String> {
    project.path.clone().filter(|_| !matches!(project.proof, Proof::ToolPaths | Proof::None))
}

/// The folder that the session goes to, and what tells whose it is.
fn place(assembled: &SessionFacts, source: &Source, target: &Target<'_>) -> Result<Plan, Refusal> {
    let from = source.folder();
    // A session that was restored elsewhere has files of two projects: this file's own counts.
    let of_folder = from.map(|folder| target.projects.of_folder(folder));
    let project = target.project.clone().or_else(|| of_folder.as_ref().and_then(proved));
    let project = project.or_else(|| proved(&assembled.session.project));
    let is_here = source.archived.as_ref().is_none_or(|it| *it.machine == *target.machine)
        && from.is_none_or(|folder| target.has(folder));
    let in_tmp = |folder: &Path| folder.parent().is_some_and(|tmp| tmp.ends_with("tmp"));
    let root = match from {
        Some(folder) if is_here && in_tmp(folder) => folder.ancestors().nth(2).map(Path::to_owned),
        Some(_) if is_here && target.project.is_none() => None,
        Some(_) => Some(target.root.clone().ok_or(Refusal::NoRoot)?),
        None => return Err(Refusal::NoFolder),
    };
    let mut out = Plan {
        folder: from.map(Path::to_owned).unwrap_or_default(),
        root,
        project,
        writes: Vec::new(),
        enter: None,
        left: Vec::new(),
    };
    // What is there stays where it is, unless another folder is asked for or Gemini CLI looks elsewhere.
    if is_here && is_live(source) && !in_hash_folder(source) && target.project.is_none() {
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
        // At its next start Gemini CLI copies the old folder to the new one, but only while that is empty.
        out.folder = hash;
        return Ok(out);
    }
    let note = registry::normal(project);
    out.writes.extend(claim.markers.into_iter().map(|path| Write {
        path,
        content: Content::Text(note.clone()),
        what: What::Marker,
    }));
    out.enter = (!claim.is_listed).then_some(claim.slug);
    out.folder = slug;
    Ok(out)
}

/// Whether a folder holds nothing but the note of whose it is.
fn is_fresh(folder: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else { return true };
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == registry::MARKER))
}

/// The files that hold messages which the main one lacks, and what is not written.
fn parts(
    assembled: &SessionFacts,
    main: usize,
    is_offered: &dyn Fn(usize) -> bool,
) -> (Vec<usize>, Vec<Left>) {
    let files = &assembled.files;
    let mut chosen = vec![main];
    let mut is_chosen = vec![false; files.len()];
    is_chosen[main] = true;
    let mut taken: HashSet<Option<&Path>> = HashSet::from([below(&files[main])]);
    let mut losing: BTreeMap<usize, LeftWhy> = BTreeMap::new();
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
                (*at, if is_offered(*at) { LeftWhy::Version } else { LeftWhy::Corrupt })
            })),
        }
    }
    let why = |at: usize| {
        let is_stub = assembled.session.parts.get(at).is_some_and(|part| part.why == PartWhy::Stub);
        losing.get(&at).copied().unwrap_or(if is_stub { LeftWhy::Stub } else { LeftWhy::Copy })
    };
    let left = (0..files.len()).filter(|at| !is_chosen[*at]);
    let left = left.map(|at| Left { source: files[at].clone(), why: why(at) }).collect();
    chosen.remove(0);
    (chosen, left)
}

/// Subagents, and theirs; long tool outputs, plans and tasks of all of them. Of several versions of a
/// file the one comes first that Gemini CLI would see.
pub fn attached<'a>(id: &str, files: &[(&'a Source, &SourceSummary)]) -> Vec<&'a Source> {
    let mut sources: Vec<&Source> = files.iter().map(|(source, _)| *source).collect();
    sources.sort_by_cached_key(|source| {
        (source.is_replaced(), in_hash_folder(source), !is_live(source), source.path.clone())
    });
    let mut by_owner: HashMap<&str, Vec<&Source>> = HashMap::new();
    for source in sources {
        if let Some(owner) = owner(source) {
            by_owner.entry(owner).or_default().push(source);
        }
    }
    let mut ids = vec![id.to_owned()];
    let mut known: HashSet<String> = HashSet::from([id.to_owned()]);
    let mut out: Vec<&Source> = Vec::new();
    let mut next = 0;
    while let Some(id) = ids.get(next) {
        next += 1;
        let of_id = by_owner.get(id.as_str()).map_or(&[][..], Vec::as_slice);
        out.extend(of_id);
        for source in of_id.iter().filter(|source| source.kind == SourceKind::Subagent) {
            let stem = source.stem();
            if known.insert(stem.clone()) {
                ids.push(stem);
            }
        }
    }
    out
}

/// Returns the id of the session that a subagent, a tool output, a plan or a task belongs to, by its place
/// in the project's folder.
pub fn owner(source: &Source) -> Option<&str> {
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

/// The line that makes a session as new as `now` to Gemini CLI.
pub fn fresh_line(now: Timestamp) -> String {
    format!("{{\"$set\":{{\"lastUpdated\":\"{now:.3}\"}}}}\n")
}

/// Whether the session's file takes such a line: a log does, a document does not.
pub fn takes_line(assembled: &SessionFacts, source: &Source) -> bool {
    let at = assembled.files.iter().position(|file| file == source);
    let is_document = at.and_then(|at| assembled.documents.get(at)).copied().unwrap_or(true);
    source.path.extension().is_some_and(|ending| ending == "jsonl") && !is_document
}
