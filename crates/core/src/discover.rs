//! Defines the sources that agents find.
//!
//! Discovery uses only names and metadata; the type of a file's content is determined when it is
//! read. Nothing is fatal: places that cannot be opened are listed, and skipped files have a
//! reason.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustc_hash::FxHashSet;
use serde::{Deserialize, Serialize};

use crate::model::AgentId;
use crate::path_text;

/// One file of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The agent that wrote it.
    pub agent: AgentId,
    /// Its path.
    pub path: PathBuf,
    /// Its kind according to its path.
    pub kind: SourceKind,
    /// The agent's folder for one project, if the file is in one.
    pub folder: Option<Arc<Path>>,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last change of its content.
    pub modified: Option<SystemTime>,
    /// The time of the last change of its metadata, in nanoseconds since 1970, if the system
    /// records it.
    pub changed: Option<i64>,
    /// Identifies the file regardless of its name, if the system supports it.
    pub inode: Option<u64>,
    /// Its place in the archive; none for a file that was only found.
    pub archived: Option<Archived>,
}

/// A source's place in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// The number of its row.
    pub number: i64,
    /// The machine it was read on.
    pub machine: Arc<str>,
    /// Its state when it was last checked.
    pub state: SourceState,
}

/// The state of a file since it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceState {
    /// It exists.
    Live,
    /// Somebody, usually the agent, deleted it.
    Gone,
    /// The agent rewrote it without some of its content.
    Replaced,
}

impl SourceState {
    /// All states.
    pub const ALL: [Self; 3] = [Self::Live, Self::Gone, Self::Replaced];

    /// Returns the name that the archive stores.
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Gone => "gone",
            Self::Replaced => "replaced",
        }
    }
}

impl Source {
    /// Returns the agent's folder for its project.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns whether it exists on the disk, as far as the archive knows.
    pub fn is_live(&self) -> bool {
        self.archived.as_ref().is_none_or(|archived| archived.state == SourceState::Live)
    }

    /// Returns whether the agent has rewritten the file.
    pub fn is_replaced(&self) -> bool {
        self.archived.as_ref().is_some_and(|archived| archived.state == SourceState::Replaced)
    }

    /// Returns the key that sorts sources in the same order wherever and whenever they are read.
    pub(crate) fn order(&self) -> impl Ord + use<> {
        (self.path.clone(), self.modified, self.size)
    }

    /// Returns the file name without its ending, encoded so that it is unique and can be an id.
    pub fn stem(&self) -> String {
        path_text::to_text(Path::new(self.path.file_stem().unwrap_or_default())).into_owned()
    }
}

/// The kind of a file according to its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SourceKind {
    /// A conversation, or a file given by name, whose content determines what it is.
    Conversation,
    /// A conversation of an agent that another one started.
    Subagent,
    /// A job that ran by itself, such as skill extraction.
    Background,
    /// A history saved by hand (`/chat save`).
    SavedChat,
    /// A snapshot taken before a tool changed a file.
    Snapshot,
    /// Typed lines of all sessions.
    PromptLog,
    /// Shell commands that were typed.
    ShellHistory,
    /// The full text of a long tool output.
    ToolOutput,
    /// A plan.
    Plan,
    /// A task of the task tracker.
    Task,
    /// What the agent noted about a session beside it.
    Note,
    /// The names of sessions.
    Titles,
    /// A file that the agent rewrites and that has more than sessions. Only an extract of it is archived.
    State,
}

impl SourceKind {
    /// All kinds.
    pub const ALL: [Self; 13] = [
        Self::Conversation,
        Self::Subagent,
        Self::Background,
        Self::SavedChat,
        Self::Snapshot,
        Self::PromptLog,
        Self::ShellHistory,
        Self::ToolOutput,
        Self::Plan,
        Self::Task,
        Self::Note,
        Self::Titles,
        Self::State,
    ];

    /// Returns whether the file contains a conversation of its own.
    pub fn is_session(self) -> bool {
        matches!(self, Self::Conversation | Self::Subagent | Self::Background)
    }

    /// Returns whether its content is read, rather than only captured.
    pub fn is_read(self) -> bool {
        self.is_session()
            || matches!(
                self,
                Self::SavedChat
                    | Self::Snapshot
                    | Self::PromptLog
                    | Self::Note
                    | Self::Titles
                    | Self::State
            )
    }

    /// Returns whether only an extract of the file is read and archived. Its own bytes never are.
    pub fn is_extract(self) -> bool {
        self == Self::State
    }

    /// Returns whether it contains text of people and models.
    pub fn is_text(self) -> bool {
        self.is_read() || self == Self::ShellHistory
    }

    /// Returns the name that the archive stores.
    pub fn key(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Subagent => "subagent",
            Self::Background => "background",
            Self::SavedChat => "saved_chat",
            Self::Snapshot => "snapshot",
            Self::PromptLog => "prompt_log",
            Self::ShellHistory => "shell_history",
            Self::ToolOutput => "tool_output",
            Self::Plan => "plan",
            Self::Task => "task",
            Self::Note => "note",
            Self::Titles => "titles",
            Self::State => "state",
        }
    }

    /// Returns the name shown to people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Conversation => "session",
            Self::Subagent => "subagent",
            Self::Background => "background job",
            Self::SavedChat => "saved chat",
            Self::Snapshot => "restore point",
            Self::PromptLog => "prompt log",
            Self::ShellHistory => "shell history",
            Self::ToolOutput => "tool output",
            Self::Plan => "plan",
            Self::Task => "task",
            Self::Note => "note",
            Self::Titles => "list of names",
            Self::State => "state file",
        }
    }
}

/// A file or folder that was skipped on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path.
    pub path: PathBuf,
    /// The reason.
    pub why: &'static str,
}

/// A place that could not be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its path.
    pub path: PathBuf,
    /// A description.
    pub what: String,
}

/// A place that was searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchedPlace {
    /// Its path.
    pub path: PathBuf,
    /// The reason to search it.
    pub why: String,
    /// Whether it exists.
    pub exists: bool,
}

/// Everything that was found.
#[derive(Debug, Clone, Default)]
pub struct Discovery {
    /// The places that were searched.
    pub looked: Vec<SearchedPlace>,
    /// The agent's own folders, such as `~/.gemini`.
    pub roots: Vec<PathBuf>,
    /// The files.
    pub sources: Vec<Source>,
    /// Paths of sources that a link led to.
    pub linked: BTreeSet<PathBuf>,
    /// The files that were skipped.
    pub skipped: Vec<Skipped>,
    /// The places that could not be searched.
    pub problems: Vec<Problem>,
}

impl Discovery {
    /// Adds the results of other places.
    pub fn add(&mut self, other: Self) {
        self.looked.extend(other.looked);
        self.roots.extend(other.roots);
        self.sources.extend(other.sources);
        self.linked.extend(other.linked);
        self.skipped.extend(other.skipped);
        self.problems.extend(other.problems);
    }

    /// Sorts everything by path and removes duplicates, so that the result does not depend on the
    /// order of the search.
    pub fn settle(&mut self) {
        // Several agents may look at one place.
        self.looked.dedup();
        // As text, because splitting paths takes most of the time of looking for changes.
        self.sources.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        self.sources.dedup_by(|a, b| a.path.as_os_str() == b.path.as_os_str());
        self.drop_aliases();
        self.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        self.skipped.dedup();
        self.problems.sort_by(|a, b| a.path.cmp(&b.path));
        self.problems.dedup();
    }

    /// Keeps one source of a file that was found by several paths: the one without links, or the
    /// first. Only links and nested places can cause this.
    fn drop_aliases(&mut self) {
        let places = self.looked.iter().filter(|looked| looked.exists).count();
        if (places < 2 && self.linked.is_empty()) || !self.has_equal_files() {
            return;
        }
        let mut folders: HashMap<PathBuf, PathBuf> = HashMap::new();
        let mut seen: HashSet<PathBuf> = HashSet::new();
        let (linked, own): (Vec<Source>, Vec<Source>) = std::mem::take(&mut self.sources)
            .into_iter()
            .partition(|source| self.linked.contains(&source.path));
        let is_first = |source: &Source| seen.insert(real_path(&source.path, &mut folders));
        self.sources = own.into_iter().chain(linked).filter(is_first).collect();
        self.sources.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
    }

    /// Returns whether two sources may be the same file.
    fn has_equal_files(&self) -> bool {
        let mut inodes = FxHashSet::default();
        self.sources.iter().any(|source| source.inode.is_none_or(|inode| !inodes.insert(inode)))
    }
}

/// Returns a path without links. The path of a folder is resolved once for all its files.
fn real_path(path: &Path, folders: &mut HashMap<PathBuf, PathBuf>) -> PathBuf {
    let is_link = || path.symlink_metadata().is_ok_and(|about| about.is_symlink());
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if !is_link() => {
            let real = folders.entry(folder.to_owned());
            real.or_insert_with(|| canonical(or_here(folder))).join(name)
        }
        _ => canonical(path),
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Returns the path, or the current folder if it is empty.
fn or_here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}
