//! Defines a project: the folder that a session worked in, as far as it is known.

use serde::{Deserialize, Serialize};

/// The evidence for a project's path, the most reliable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Proof {
    /// The user linked it.
    Link,
    /// The agent's own marker in the folder.
    ProjectRoot,
    /// The agent's own list of projects.
    Registry,
    /// The session records the folder it ran in.
    Cwd,
    /// The session records the worktree that it ran in, and its repository is known.
    Worktree,
    /// A session names it among its directories.
    Directories,
    /// The context that was injected into a session names it.
    SessionContext,
    /// Its hash is the recorded one.
    Hash,
    /// It is the common folder of the paths in tool calls.
    ToolPaths,
    /// The path is unknown.
    None,
}

impl Proof {
    /// All kinds of evidence.
    pub const ALL: [Self; 10] = [
        Self::Link,
        Self::ProjectRoot,
        Self::Registry,
        Self::Cwd,
        Self::Worktree,
        Self::Directories,
        Self::SessionContext,
        Self::Hash,
        Self::ToolPaths,
        Self::None,
    ];

    /// Returns the name for documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::ProjectRoot => "project_root",
            Self::Registry => "registry",
            Self::Cwd => "cwd",
            Self::Worktree => "worktree",
            Self::Directories => "directories",
            Self::SessionContext => "session_context",
            Self::Hash => "hash",
            Self::ToolPaths => "tool_paths",
            Self::None => "none",
        }
    }
}

/// A project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// The name shown to people: the last part of its path, or else its label.
    pub name: String,
    /// The path, if it is known.
    pub path: Option<String>,
    /// The evidence for the path.
    pub proof: Proof,
    /// The agent's hash of the path.
    pub hash: Option<String>,
    /// The name of the agent's folder for it.
    pub dir: Option<String>,
}

impl Project {
    /// Returns whether a path is another worktree of its repository.
    pub(crate) fn is_worktree(&self, path: &str) -> bool {
        self.proof == Proof::Worktree && self.path.as_deref() != Some(path)
    }

    /// Returns whether `wanted` is part of its name or path, or the beginning of its hash, ignoring
    /// case. A whole path matches that folder and those below it.
    pub fn matches(&self, wanted: &str) -> bool {
        let wanted = wanted.to_lowercase();
        let trimmed = wanted.trim_end_matches(['/', '\\']);
        let has = |text: &str| text.to_lowercase().contains(trimmed);
        let is_path = |path: &str| match path.to_lowercase().strip_prefix(trimmed) {
            Some(below) => below.is_empty() || below.starts_with(['/', '\\']),
            None => has(path),
        };
        has(&self.name)
            || self.path.as_deref().is_some_and(is_path)
            || self.dir.as_deref().is_some_and(|dir| dir.to_lowercase() == wanted)
            || (wanted.len() >= 4
                && self.hash.as_deref().is_some_and(|hash| hash.starts_with(&wanted)))
    }

    /// Returns the text that identifies it: the path, or else the name.
    pub fn key(&self) -> &str {
        self.path.as_deref().unwrap_or(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_path_is_not_part_of_another() {
        let project = |path: &str| Project {
            name: "x".to_owned(),
            path: Some(path.to_owned()),
            proof: Proof::Cwd,
            hash: None,
            dir: None,
        };
        for wanted in ["/code/shop", "/code/shop/", "/CODE", "shop", "/shop"] {
            assert!(project("/code/shop").matches(wanted), "{wanted}");
        }
        assert!(project("/code/shop/web").matches("/code/shop"));
        assert!(!project("/code/shop-old").matches("/code/shop"));
        assert!(project("/code/shop-old").matches("/shop"), "part of a path");
    }
}
