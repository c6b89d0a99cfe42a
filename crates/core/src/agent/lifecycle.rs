//! Describes what an agent does with existing files: it deletes old ones and resumes sessions.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use crate::assemble::SessionFacts;
use crate::discover::{Source, SourceKind};
use crate::env::Env;
use crate::facts::{Contents, SessionFile, SourceSummary};
use crate::file::resolve;
use crate::model::SessionId;
use crate::projects::Projects;

/// The lifecycle of an agent's files. Only the methods that every agent needs are required.
pub trait Lifecycle: Sync {
    /// Decides which files of one project's folder the agent will delete, and by which policy.
    /// Returns `None` if the agent deletes nothing by itself.
    fn cleanup(&self, _folder: &CleanupFolder<'_>, _env: &Env, _now: Timestamp) -> Option<Cleanup> {
        None
    }

    /// Describes how sessions of an agent that deletes none by itself can disappear all the same.
    fn removal(&self) -> Option<&'static str> {
        None
    }

    /// Returns the settings that make the agent sync the archive by itself. `root` is a folder of
    /// any agent.
    fn sync_hook(&self, _root: &Path, _env: &Env) -> Option<SyncHook> {
        None
    }

    /// Returns the agent's folder for new sessions.
    fn usual_root(&self, env: &Env) -> Option<PathBuf>;

    /// Returns the folders that contain the agent's session files, or its folders of projects: the
    /// usual ones, and those at or below `roots`.
    fn session_parents(&self, env: &Env, roots: &[PathBuf]) -> Vec<PathBuf>;

    /// Plans the files to write so that the agent lists and resumes the session.
    fn plan_restore(
        &self,
        session: &ArchivedSession<'_>,
        target: &RestoreTarget<'_>,
    ) -> Result<RestorePlan, Refusal>;

    /// Adds the project or the session to the agent's own list if the plan requires it. Returns the path of
    /// that list.
    fn register(&self, _plan: &RestorePlan) -> Option<(PathBuf, io::Result<()>)> {
        None
    }

    /// Returns the file that [`Self::register`] would change.
    fn registry(&self, _plan: &RestorePlan) -> Option<PathBuf> {
        None
    }

    /// Returns how a session is updated to `now`, so that it is not deleted for its age; `None` if
    /// the agent does not delete sessions for their age. An error is the reason why it cannot be
    /// updated.
    fn freshen(
        &self,
        _session: &SessionFacts,
        _source: &Source,
        _now: Timestamp,
    ) -> Result<Option<Freshening>, &'static str> {
        Ok(None)
    }

    /// Returns the command that continues a session whose files are in place.
    fn resume(&self, id: &str, plan: &RestorePlan, env: &Env) -> Result<ResumeCommand, String>;

    /// Returns advice for a restored session that the agent would delete again.
    fn advice(&self, _why: &DeletionReason) -> String {
        String::new()
    }
}

/// One project's folder, and the files in it.
#[derive(Debug, Clone)]
pub struct CleanupFolder<'a> {
    /// The agent's folder for the project.
    pub folder: &'a Path,
    /// The path of the project, if it is known.
    pub project: Option<&'a Path>,
    /// The files in the folder.
    pub files: Vec<CleanupFile<'a>>,
}

/// A file as seen by the agent's clean-up.
#[derive(Debug, Clone)]
pub struct CleanupFile<'a> {
    /// The path of the file.
    pub path: &'a Path,
    /// None if it does not contain a session.
    pub session: Option<&'a SessionFile>,
    /// The time of the last change of the file, according to the file system.
    pub modified: Option<Timestamp>,
    /// Whether its session counts as updated just now.
    pub is_fresh: bool,
}

impl<'a> CleanupFile<'a> {
    /// Returns a file with these contents.
    pub fn new(path: &'a Path, contents: &'a Contents, modified: Option<SystemTime>) -> Self {
        let session = match contents {
            Contents::Session(session) => Some(session),
            _ => None,
        };
        let modified = modified.and_then(|at| Timestamp::try_from(at).ok());
        Self { path, session, modified, is_fresh: false }
    }
}

/// The effect of a clean-up on a folder.
#[derive(Debug, Clone, Default)]
pub struct Cleanup {
    /// The settings that apply.
    pub policy: Policy,
    /// The files that will be deleted, the soonest first.
    pub deletions: Vec<Deletion>,
}

/// The rules by which an agent keeps the sessions of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Whether anything will be deleted.
    pub is_active: bool,
    /// Whether the settings enable the clean-up.
    pub is_enabled: bool,
    /// The age at which sessions are deleted, as written in the settings.
    pub max_age: Option<String>,
    /// The number of sessions to keep.
    pub max_count: Option<i64>,
    /// The shortest time for which sessions are kept, as written in the settings.
    pub min_retention: Option<String>,
    /// The settings file that decided; none for the agent's own defaults.
    pub decided_by: Option<String>,
    /// The reason why the agent deletes nothing although the clean-up is enabled.
    pub invalid: Option<String>,
    /// The settings files that were read, in ascending order of precedence.
    pub settings: Vec<PathBuf>,
    /// Settings files that could not be used, each with the reason.
    pub unusable: Vec<(String, String)>,
    /// Whether the settings make the agent sync the archive at the end of a session.
    pub has_hook: bool,
    /// The occasion on which the agent cleans up, such as `when it is started in the project`.
    pub occasion: &'static str,
}

/// One file that will be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// The file.
    pub path: PathBuf,
    /// The moment after which the next start of the agent in that project deletes it; none for the
    /// next start.
    pub at: Option<Timestamp>,
    /// The reason.
    pub why: DeletionReason,
    /// Set if it is deleted before its time because of another file.
    pub early: Option<Early>,
}

/// The reason why a file will be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeletionReason {
    /// It is too old.
    Age,
    /// There are too many newer files.
    Count,
    /// It contains nothing to resume.
    Empty,
    /// Another file with the same id is deleted.
    SharesId(PathBuf),
    /// The session that it belongs to is deleted, whose file this is.
    Session(PathBuf),
}

/// The time at which a file would have been deleted by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Early {
    /// The time; none if it would have been kept.
    pub instead_of: Option<Timestamp>,
}

/// Settings that make an agent sync the archive by itself.
#[derive(Debug, Clone)]
pub struct SyncHook {
    /// The settings file.
    pub file: PathBuf,
    /// JSON to add to the file.
    pub settings: &'static str,
}

/// The way to make a restored session recent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freshening {
    /// A line to append to its file.
    Line(String),
    /// The present time as the time of the last change of its files.
    Time,
}

/// A session to restore.
#[derive(Debug)]
pub struct ArchivedSession<'a> {
    /// The session.
    pub facts: &'a SessionFacts,
    /// The name that the agent had for it.
    pub name: Option<&'a str>,
    /// All known files, whatever their state.
    pub files: &'a [(&'a Source, &'a SourceSummary)],
    /// The files that belong to the session besides its own (`attached`).
    pub attached: &'a [&'a Source],
}

impl ArchivedSession<'_> {
    /// Returns whether the agent would offer a file for resuming.
    pub fn is_offered(&self, source: &Source) -> bool {
        self.files.iter().any(|(known, about)| {
            *known == source
                && matches!(&about.contents, Contents::Session(file) if file.is_offered)
        })
    }
}

/// The target of a restore.
#[derive(Debug, Clone)]
pub struct RestoreTarget<'a> {
    /// This machine. Sessions of other machines are restored to the usual place.
    pub machine: &'a str,
    /// The agent's usual folder on this machine.
    pub root: Option<PathBuf>,
    /// The agent's folders of projects on this machine, and the folders that contain them or session
    /// files. A session that was recorded anywhere else is treated like one of another machine.
    pub places: BTreeSet<PathBuf>,
    /// A project folder to use instead of the recorded one.
    pub project: Option<String>,
    /// The known projects.
    pub projects: &'a Projects,
}

impl RestoreTarget<'_> {
    /// Returns whether this folder is one of the agent's places on this machine.
    pub fn is_place(&self, folder: &Path) -> bool {
        let Ok(folder) = resolve(folder) else { return false };
        self.places.iter().flat_map(|place| resolve(place)).any(|place| place == folder)
    }

    /// Returns whether this folder is one of a project on this machine.
    pub fn has(&self, folder: &Path) -> bool {
        let Ok(folder) = resolve(folder) else { return false };
        self.is_place(&folder) || folder.parent().is_some_and(|parent| self.is_place(parent))
    }

    /// Returns whether a source was recorded on this machine.
    pub fn is_own(&self, source: &Source) -> bool {
        source.archived.as_ref().is_none_or(|archived| *archived.machine == *self.machine)
    }
}

/// The files that restore a session.
#[derive(Debug)]
pub struct RestorePlan {
    /// The agent's folder for the project.
    pub folder: PathBuf,
    /// The folder that contains it and those of all other projects; none if it is on its own.
    pub root: Option<PathBuf>,
    /// The project, if it is known.
    pub project: Option<String>,
    /// Markers that identify the folder's project, then the session itself, then attached files.
    pub files: Vec<PlannedFile>,
    /// The entry to add to the agent's own list, if it must be added: the name of the project, or the line of the
    /// session.
    pub listed_as: Option<String>,
    /// The files that are not written.
    pub left: Vec<LeftFile>,
    /// Whether files get the recorded time of their last change. An agent that deletes files by that
    /// time gets them with the present one.
    pub keeps_times: bool,
}

/// A file to write.
#[derive(Debug)]
pub struct PlannedFile {
    /// The path to write.
    pub path: PathBuf,
    /// The content to write.
    pub content: Content,
    /// Its role in the session.
    pub role: FileRole,
}

/// The content of a file to write.
#[derive(Debug)]
pub enum Content {
    /// The archived bytes of a source.
    Source(Source),
    /// New text.
    Text(String),
}

/// The role of a file in a restored session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// The file that the agent loads.
    Session,
    /// Another file with messages of the session.
    Part,
    /// A file that belongs to the session.
    Attachment(SourceKind),
    /// The marker that identifies the folder's project.
    Marker,
    /// The agent's list of projects or of sessions.
    Registry,
}

impl FileRole {
    /// Returns the name for output.
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

/// A file that is not restored.
#[derive(Debug)]
pub struct LeftFile {
    /// The file.
    pub source: Source,
    /// The reason.
    pub why: LeftReason,
}

/// The reason why a file is not restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftReason {
    /// It is empty.
    Stub,
    /// A file that is restored contains all of it.
    Copy,
    /// The agent would consider it corrupt.
    Corrupt,
    /// A newer version of it is restored.
    Version,
}

impl LeftReason {
    /// Returns the name for output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stub => "stub",
            Self::Copy => "copy",
            Self::Corrupt => "corrupt",
            Self::Version => "version",
        }
    }

    /// Returns whether leaving it out loses messages.
    pub fn loses_messages(self) -> bool {
        matches!(self, Self::Corrupt | Self::Version)
    }
}

/// The reason why a session cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Only lines in a prompt log are left of the session.
    #[error("all that is left of it is what was typed, in a prompt log")]
    LogOnly,
    /// The session is a subagent's, which is restored with its parent.
    #[error("it is a subagent's, which comes back with its parent `{0}`")]
    Subagent(SessionId),
    /// The session contains nothing to resume.
    #[error("the agent finds nothing to resume in it, and would delete it again")]
    Empty,
    /// The session is in the file of another one, from which the agent loads later messages.
    #[error(
        "it is in the file of session `{0}`, and the agent loads only what came last in that file"
    )]
    InFileOf(SessionId),
    /// The file is not in a folder of a project.
    #[error("its file is not in the folder of a project")]
    NoFolder {
        /// Another way to continue the session.
        hint: &'static str,
    },
    /// The project's path is unknown, which determines the folder of its sessions.
    #[error("the folder of its project is not known")]
    NoProject,
    /// The folder of the agent is unknown.
    #[error("the agent's own folder is not known")]
    NoRoot {
        /// The environment variable that names it.
        variable: &'static str,
    },
    /// A file would be written outside the agent's folder for it.
    #[error("`{}` is not a path below the agent's folder for it", .0.display())]
    Outside(PathBuf),
    /// The agent's list of projects cannot be read.
    #[error("the agent's list of projects cannot be read")]
    Registry(#[source] io::Error),
}

/// The command that continues a session.
#[derive(Debug, Clone)]
pub struct ResumeCommand {
    /// The program to run.
    pub program: &'static str,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Environment variables that the agent needs to find the session.
    pub variables: Vec<(&'static str, PathBuf)>,
    /// The command that installs the program.
    pub install: &'static str,
}
