//! Searches for the files of an agent.

use std::collections::HashSet;
use std::fs::{self, DirEntry, FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::discover::{Discovery, Problem, Skipped, Source, SourceKind};
use crate::metadata;
use crate::model::AgentId;

const NOT_REGULAR: &str = "not a regular file";

/// Searches for files below some folders only; a link that leads out of them is not followed.
pub(super) struct Finder<'a> {
    agent: AgentId,
    pub(super) found: &'a mut Discovery,
    /// The folders, with links resolved.
    bounds: Vec<PathBuf>,
    /// The targets of links that were followed.
    followed: HashSet<PathBuf>,
}

/// A folder or a regular file.
pub(super) struct Entry {
    pub(super) path: PathBuf,
    pub(super) is_dir: bool,
    /// Whether a link led there.
    pub(super) linked: bool,
    /// The folder's entry for it.
    listed: DirEntry,
}

impl Entry {
    /// Returns the metadata of the file. Unless a link led to it, it is looked up in its open
    /// folder, which is faster than by its path. Windows would return the folder's copy of the
    /// metadata, which may be outdated.
    fn metadata(&self) -> io::Result<Metadata> {
        let by_path = self.linked || cfg!(windows);
        if by_path { fs::metadata(&self.path) } else { self.listed.metadata() }
    }
}

impl<'a> Finder<'a> {
    /// Searches below `roots`. They may be links themselves, because people move them to
    /// another disk.
    pub(super) fn new(agent: AgentId, found: &'a mut Discovery, roots: &[&Path]) -> Self {
        let bounds = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        Self { agent, found, bounds, followed: HashSet::new() }
    }

    /// Adds a file; `linked` if a link led to it.
    pub(super) fn push(
        &mut self,
        path: &Path,
        kind: SourceKind,
        folder: Option<&Arc<Path>>,
        linked: bool,
    ) {
        self.add(path.to_owned(), fs::metadata(path), kind, folder, linked);
    }

    /// Adds a file that was found in a folder.
    pub(super) fn push_entry(
        &mut self,
        entry: Entry,
        kind: SourceKind,
        folder: Option<&Arc<Path>>,
    ) {
        let about = entry.metadata();
        self.add(entry.path, about, kind, folder, entry.linked);
    }

    fn add(
        &mut self,
        path: PathBuf,
        about: io::Result<Metadata>,
        kind: SourceKind,
        folder: Option<&Arc<Path>>,
        linked: bool,
    ) {
        let about = match about {
            Ok(about) if about.is_file() => about,
            Ok(_) => return self.skip(path, NOT_REGULAR),
            Err(error) => return self.problem(&path, &error),
        };
        if linked {
            self.found.linked.insert(path.clone());
        }
        self.found.sources.push(Source {
            agent: self.agent.clone(),
            path,
            kind,
            folder: folder.cloned(),
            size: about.len(),
            modified: about.modified().ok(),
            changed: metadata::changed(&about),
            inode: metadata::inode(&about),
            archived: None,
        });
    }

    /// Notes a path that is left out on purpose.
    pub(super) fn skip(&mut self, path: PathBuf, why: &'static str) {
        self.found.skipped.push(Skipped { path, why });
    }

    /// Notes a path that could not be read.
    pub(super) fn problem(&mut self, path: &Path, error: &dyn std::fmt::Display) {
        self.found.problems.push(Problem { path: path.to_owned(), what: error.to_string() });
    }

    /// Lists a folder; `linked` if a link led there.
    pub(super) fn entries(&mut self, folder: &Path, linked: bool) -> Vec<Entry> {
        let mut all = Vec::new();
        match fs::read_dir(folder) {
            Ok(entries) => {
                for entry in entries {
                    match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?, entry))) {
                        Ok(entry) => all.push(entry),
                        Err(error) => self.problem(folder, &error),
                    }
                }
            }
            Err(error) => self.problem(folder, &error),
        }
        // Links come last, because their targets may be found under their own names.
        all.sort_by(|(a, a_kind, _), (b, b_kind, _)| {
            // All are in one folder, so comparing the whole paths is enough and avoids splitting
            // them.
            (a_kind.is_symlink(), a.as_os_str()).cmp(&(b_kind.is_symlink(), b.as_os_str()))
        });
        let entry = |(path, kind, listed)| self.entry(path, kind, listed, linked);
        all.into_iter().filter_map(entry).collect()
    }

    fn entry(
        &mut self,
        path: PathBuf,
        kind: FileType,
        listed: DirEntry,
        linked: bool,
    ) -> Option<Entry> {
        let is_link = kind.is_symlink();
        let kind = if is_link { self.follow(&path)? } else { kind };
        if kind.is_dir() || kind.is_file() {
            return Some(Entry { path, is_dir: kind.is_dir(), linked: linked || is_link, listed });
        }
        self.skip(path, NOT_REGULAR);
        None
    }

    /// Returns the type of a link's target, or `None` if the link must not be followed or another
    /// one has led there before.
    fn follow(&mut self, link: &Path) -> Option<FileType> {
        let target =
            link.canonicalize().and_then(|path| Ok((fs::metadata(&path)?.file_type(), path)));
        let (kind, target) = match target {
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.problem(link, &"a link to something that is not there");
                return None;
            }
            Err(error) => {
                self.problem(link, &error);
                return None;
            }
        };
        if !self.bounds.iter().any(|folder| target.starts_with(folder)) {
            self.skip(link.to_owned(), "a link that leads out of the agent's folder");
            return None;
        }
        let here = link.parent().and_then(|folder| folder.canonicalize().ok());
        if here.is_some_and(|here| here.starts_with(&target)) {
            self.problem(link, &format_args!("a link that leads back to `{}`", target.display()));
            return None;
        }
        self.followed.insert(target).then_some(kind)
    }
}
