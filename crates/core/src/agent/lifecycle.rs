//! What an agent does with its files later: it deletes them, and it resumes sessions that are there.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::assemble::SessionFacts;
use crate::discover::{Source, SourceKind};
use crate::env::Env;
use crate::facts::{Contents, SessionFile, SourceSummary};
use crate::file::resolve;
use crate::projects::Projects;

/// The lifecycle of an agent's files.
pub trait Lifecycle: Sync {
    /// Decides which files of one project's folder the agent will delete, and by which policy.
    fn cleanup(&self, folder: &CleanupFolder<'_>, env: &Env, now: Timestamp) -> Cleanup;

    /// Returns the settings that make the agent sync the archive by itself; `root` is the agent's
    /// own folder.
    fn sync_hook(&self, _root: &Path, _env: &Env) -> Option<SyncHook> {
        None
    }

    /// Returns the agent's folder that new sessions go to.
    fn usual_root(&self, env: &Env) -> Option<PathBuf>;

    /// Returns the folders in which the agent keeps one folder per project: in the usual places, and
    /// below `roots`.
    fn project_parents(&self, env: &Env, roots: &[PathBuf]) -> Vec<PathBuf>;

    /// Decides which files to write so that the agent lists the session and resumes it. `files` is all
    /// that is known, whatever became of it.
    fn plan_restore(
        &self,
        session: &SessionFacts,
        files: &[(&Source, &SourceSummary)],
        target: &RestoreTarget<'_>,
    ) -> Result<RestorePlan, Refusal>;

    /// Adds the project to the agent's own list, where the plan asks for it. Returns the list's file.
    fn register(&self, plan: &RestorePlan) -> Option<(PathBuf, io::Result<()>)>;

    /// Returns the file that [`Self::register`] would change.
    fn registry(&self, plan: &RestorePlan) -> Option<PathBuf>;

    /// Returns the line that makes a restored session as new as `now`; none where its file does not
    /// take one.
    fn fresh_line(&self, session: &SessionFacts, source: &Source, now: Timestamp)
    -> Option<String>;

    /// Returns how to continue a session that is in place.
    fn resume(&self, id: &str, plan: &RestorePlan, env: &Env) -> Result<ResumeCommand, String>;

    /// Returns what to do about a restored session that the agent would delete again.
    fn advice(&self, why: &DeletionReason) -> String;
}

/// One project's folder, and the session files in it.
#[derive(Debug, Clone)]
pub struct CleanupFolder<'a> {
    pub folder: &'a Path,
    pub project: Option<&'a Path>,
    pub files: Vec<CleanupFile<'a>>,
}

/// A file as a clean-up sees it.
#[derive(Debug, Clone)]
pub struct CleanupFile<'a> {
    pub path: &'a Path,
    /// None where it contains no session.
    pub session: Option<&'a SessionFile>,
    /// Its session counts as updated just now.
    pub is_fresh: bool,
}

impl<'a> CleanupFile<'a> {
    /// Returns a file with these contents.
    pub fn new(path: &'a Path, contents: &'a Contents) -> Self {
        let session = match contents {
            Contents::Session(session) => Some(session),
            _ => None,
        };
        Self { path, session, is_fresh: false }
    }
}

/// What a clean-up will do to a folder.
#[derive(Debug, Clone, Default)]
pub struct Cleanup {
    pub policy: Policy,
    /// The soonest first.
    pub deletions: Vec<Deletion>,
}

/// How long an agent keeps the sessions of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether anything will be deleted.
    pub is_active: bool,
    pub is_enabled: bool,
    pub max_age: Option<String>,
    pub max_count: Option<i64>,
    pub min_retention: String,
    /// The settings file that decided; none for the agent's own defaults.
    pub decided_by: Option<String>,
    /// Why the agent deletes nothing although it is enabled.
    pub invalid: Option<String>,
    /// The settings files that were read, the weakest first.
    pub settings: Vec<PathBuf>,
    /// Settings files that could not be used, and why.
    pub unusable: Vec<(String, String)>,
    /// Whether they make the agent sync the archive at the end of a session.
    pub has_hook: bool,
}

/// One file that will be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    pub path: PathBuf,
    /// At the first start of the agent in that project after this moment; none for the next start.
    pub at: Option<Timestamp>,
    pub why: DeletionReason,
    /// Set when it is deleted before its time, because of another file.
    pub early: Option<Early>,
}

/// Why a file will be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeletionReason {
    /// It is too old.
    Age,
    /// There are too many newer ones.
    Count,
    /// There is nothing to resume in it.
    Empty,
    /// Another file is deleted that shares its id.
    SharesId(PathBuf),
}

/// When a file would have been deleted by itself; none for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Early {
    pub instead_of: Option<Timestamp>,
}

/// Settings that make an agent sync the archive by itself.
#[derive(Debug, Clone)]
pub struct SyncHook {
    pub file: PathBuf,
    /// JSON to add to the file.
    pub settings: &'static str,
}

/// Where to restore to.
#[derive(Debug, Clone)]
pub struct RestoreTarget<'a> {
    /// This machine; sessions of others go to the usual place.
    pub machine: &'a str,
    /// The agent's folder that is usual here.
    pub root: Option<PathBuf>,
    /// The folders of projects on this machine, and folders that contain such folders. A session that
    /// was recorded anywhere else is treated like another machine's.
    pub places: BTreeSet<PathBuf>,
    /// Another folder of the project than the recorded one.
    pub project: Option<String>,
    /// What is known of projects.
    pub projects: &'a Projects,
}

impl RestoreTarget<'_> {
    /// Returns whether the agent keeps a project in this folder.
    pub fn has(&self, folder: &Path) -> bool {
        let Ok(folder) = resolve(folder) else { return false };
        let is_it = |place: PathBuf| place == folder || folder.parent() == Some(&place);
        self.places.iter().flat_map(|place| resolve(place)).any(is_it)
    }
}

/// The files that bring a session back.
#[derive(Debug)]
pub struct RestorePlan {
    /// The agent's folder for the project.
    pub folder: PathBuf,
    /// The folder that contains it and all others; none where it is alone.
    pub root: Option<PathBuf>,
    /// The project, if it is known.
    pub project: Option<String>,
    /// Markers of whose folder it is, then the session itself, then what belongs to it.
    pub files: Vec<PlannedFile>,
    /// The name under which the project goes into the agent's list, if it has to.
    pub listed_as: Option<String>,
    pub left: Vec<LeftFile>,
}

/// A file to write.
#[derive(Debug)]
pub struct PlannedFile {
    pub path: PathBuf,
    pub content: Content,
    pub role: FileRole,
}

#[derive(Debug)]
pub enum Content {
    Source(Source),
    Text(String),
}

/// What a file is to the session that is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// The file that the agent loads.
    Session,
    /// Another file with messages of the session.
    Part,
    /// A file that belongs to the session.
    Attachment(SourceKind),
    /// The note of whose folder it is.
    Marker,
    /// The agent's list of projects.
    Registry,
}

impl FileRole {
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Part => "part",
            Self::Attachment(kind) => kind.label(),
            Self::Marker => "marker",
            Self::Registry => "registry",
        }
    }
}

/// A file that is not written.
#[derive(Debug)]
pub struct LeftFile {
    pub source: Source,
    pub why: LeftReason,
}

/// Why a file is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftReason {
    /// There is nothing in it.
    Stub,
    /// All of it is in a file that is written.
    Copy,
    /// The agent would take it for corrupt.
    Corrupt,
    /// A newer version of it is written.
    Version,
}

impl LeftReason {
    pub fn name(self) -> &'static str {
        match self {
            Self::Stub => "stub",
            Self::Copy => "copy",
            Self::Corrupt => "corrupt",
            Self::Version => "version",
        }
    }

    /// Returns whether messages are left behind with it.
    pub fn loses_messages(self) -> bool {
        matches!(self, Self::Corrupt | Self::Version)
    }
}

/// Why there is nothing to restore.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("all that is left of it is what was typed, in a prompt log")]
    LogOnly,
    #[error("it is a subagent's, which comes back with its parent `{0}`")]
    Subagent(String),
    #[error("the agent finds nothing to resume in it, and would delete it again")]
    Empty,
    #[error("its file is not in the folder of a project")]
    NoFolder,
    #[error("the agent's own folder is not known")]
    NoRoot,
    #[error("`{}` is not a path below its project's folder", .0.display())]
    Outside(PathBuf),
    #[error("the agent's list of projects cannot be read")]
    Registry(#[source] io::Error),
}

/// How to continue a session.
#[derive(Debug, Clone)]
pub struct ResumeCommand {
    pub program: &'static str,
    pub arguments: Vec<String>,
    /// Variables that the agent needs to find the session.
    pub variables: Vec<(&'static str, PathBuf)>,
    /// How to install the program.
    pub install: &'static str,
}
