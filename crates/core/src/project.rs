//! A project: the folder a session was about, as far as it is known.

use serde::{Deserialize, Serialize};

/// How a project's path is known, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Proof {
    /// The user said so.
    Link,
    /// The agent's own note in the folder.
    ProjectRoot,
    /// The agent's own list of projects.
    Registry,
    /// The session records the folder it ran in.
    Cwd,
    /// A session names it among its directories.
    Directories,
    /// The context that was put into a session names it.
    SessionContext,
    /// A folder whose hash is the one recorded.
    Hash,
    /// The paths that tools were called with have it in common.
    ToolPaths,
    None,
}

impl Proof {
    pub const ALL: [Self; 9] = [
        Self::Link,
        Self::ProjectRoot,
        Self::Registry,
        Self::Cwd,
        Self::Directories,
        Self::SessionContext,
        Self::Hash,
        Self::ToolPaths,
        Self::None,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::ProjectRoot => "project_root",
            Self::Registry => "registry",
            Self::Cwd => "cwd",
            Self::Directories => "directories",
            Self::SessionContext => "session_context",
            Self::Hash => "hash",
            Self::ToolPaths => "tool_paths",
            Self::None => "none",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// What to call it: the last part of its path, else its label.
    pub name: String,
    pub path: Option<String>,
    pub proof: Proof,
    /// The agent's hash of the path.
    pub hash: Option<String>,
    /// The name of the agent's folder for it.
    pub dir: Option<String>,
}

impl Project {
    /// Returns whether it is meant by its name, a part of its path, or the beginning of its hash; case does
    /// not matter.
    pub fn matches(&self, wanted: &str) -> bool {
        let wanted = wanted.to_lowercase();
        let trimmed = wanted.trim_end_matches(['/', '\\']);
        let has = |text: &str| text.to_lowercase().contains(trimmed);
        has(&self.name)
            || self.path.as_deref().is_some_and(has)
            || self.dir.as_deref().is_some_and(|dir| dir.to_lowercase() == wanted)
            || (wanted.len() >= 4
                && self.hash.as_deref().is_some_and(|hash| hash.starts_with(&wanted)))
    }

    /// What stands for it where its path is asked for: the path, or the label.
    pub fn key(&self) -> &str {
        self.path.as_deref().unwrap_or(&self.name)
    }
}
