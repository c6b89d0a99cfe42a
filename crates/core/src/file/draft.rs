//! Writes a file that appears complete or not at all.
//!
//! On Linux a draft has no name, so it disappears with the program, however that ends. Elsewhere,
//! and on file systems without such files, it has a temporary name and is locked as long as its
//! writer runs: a draft that nobody locks is abandoned, and the next writer in the folder removes
//! it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempPath;

use super::{Existing, Occupant, folder_of, occupant, system};

const PREFIX: &str = ".backstory-";
const SUFFIX: &str = ".tmp";
/// The number of random letters and digits between them.
const RANDOM: usize = 6;

/// A file that is being written. If it is dropped before it is finished, nothing is left.
#[derive(Debug)]
pub struct Draft {
    file: File,
    /// The temporary name, if it needs one.
    name: Option<TempPath>,
    target: PathBuf,
    existing: Existing,
}

impl Draft {
    /// Begins a file that will be at `path`. A link to a regular file is followed; the path of
    /// anything but a regular file is rejected.
    pub fn new(path: &Path, existing: Existing) -> io::Result<Self> {
        let target = match (occupant(path), existing) {
            (Occupant::Nothing, _) => path.to_owned(),
            (Occupant::File(file), Existing::Replace) => file,
            (Occupant::File(_), Existing::Keep) => return Err(io::ErrorKind::AlreadyExists.into()),
            (Occupant::Special(what), _) => {
                return Err(io::Error::other(format!("there is {what}")));
            }
        };
        let (file, name) = match system::create_nameless(folder_of(&target)) {
            Ok(file) => (file, None),
            Err(_) => named(folder_of(&target)).map(|(file, name)| (file, Some(name)))?,
        };
        Ok(Self { file, name, target, existing })
    }

    /// Returns the temporary name, if there is one.
    pub fn name(&self) -> Option<&Path> {
        self.name.as_deref()
    }

    /// Writes the content.
    pub fn fill(
        &mut self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(64 * 1024, &self.file);
        content(&mut out)?;
        out.flush()
    }

    /// Sets the time of the last change.
    pub fn set_modified(&self, time: SystemTime) -> io::Result<()> {
        self.file.set_modified(time)
    }

    /// Flushes the content to the disk, then gives the file its name.
    pub fn finish(self) -> io::Result<()> {
        self.file.sync_all()?;
        let folder = folder_of(&self.target).to_owned();
        self.publish()?;
        sync_folder(&folder);
        Ok(())
    }

    /// Gives the file its name.
    fn publish(self) -> io::Result<()> {
        let Self { file, name, target, existing } = self;
        if name.is_none() {
            // Without a temporary name, a kill at this moment leaves nothing behind.
            match system::link(&file, &target) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
                Err(error) if existing == Existing::Keep => return Err(error),
                Err(_) => {}
            }
        }
        let (_locked, name) = match name {
            Some(name) => (file, name),
            None => give_name(file, folder_of(&target))?,
        };
        match existing {
            Existing::Keep => name.persist_noclobber(target),
            Existing::Replace => name.persist(target),
        }
        .map_err(|error| error.error)
    }
}

/// Flushes drafts to the disk together, then gives each its name, and returns those that failed. On
/// Linux this costs about as much for 64 of them as for one.
pub fn finish_all(drafts: Vec<Draft>) -> Vec<(PathBuf, io::Error)> {
    if let Err(error) = system::sync(drafts.iter().map(|draft| &draft.file)) {
        let fail = |draft: Draft| (draft.target, io::Error::new(error.kind(), error.to_string()));
        return drafts.into_iter().map(fail).collect();
    }
    let mut folders = BTreeSet::new();
    let mut failures = Vec::new();
    for draft in drafts {
        let target = draft.target.clone();
        folders.insert(folder_of(&target).to_owned());
        failures.extend(draft.publish().err().map(|error| (target, error)));
    }
    for folder in folders {
        sync_folder(&folder);
    }
    failures
}

/// Flushes the names in a folder to the disk, if the system supports it.
fn sync_folder(folder: &Path) {
    if cfg!(unix) {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

/// Gives a file without a name a temporary one.
fn give_name(mut file: File, folder: &Path) -> io::Result<(File, TempPath)> {
    // Where files cannot be locked, none is considered abandoned either.
    let _ = file.lock();
    if let Ok(linked) = names().make_in(folder, |name| system::link(&file, name)) {
        return Ok((file, linked.into_temp_path()));
    }
    // Some systems have files without a name but cannot name them later.
    let (mut copy, name) = named(folder)?;
    file.rewind()?;
    io::copy(&mut file, &mut copy)?;
    copy.set_modified(file.metadata()?.modified()?)?;
    copy.sync_all()?;
    Ok((copy, name))
}

/// Creates a file with a temporary name, and locks it.
fn named(folder: &Path) -> io::Result<(File, TempPath)> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    loop {
        let (file, name) = names().make_in(folder, |name| options.open(name))?.into_parts();
        let _ = file.lock();
        // Another writer may have considered it abandoned before it was locked.
        if name.exists() {
            return Ok((file, name));
        }
    }
}

fn names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
    names
}

/// Removes the drafts in a folder whose writers were killed.
pub fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_file = || entry.file_type().is_ok_and(|kind| kind.is_file());
        if !entry.file_name().to_str().is_some_and(is_draft) || !is_file() {
            continue;
        }
        // It stays open, and therefore locked, until it is removed.
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn is_draft(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a draft as on systems where every file has a name.
    fn with_name(path: &Path, existing: Existing) -> Draft {
        let (file, name) = named(folder_of(path)).unwrap();
        Draft { file, name: Some(name), target: path.to_owned(), existing }
    }

    fn as_usual(path: &Path, existing: Existing) -> Draft {
        Draft::new(path, existing).unwrap()
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_draft_becomes_the_file_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for begin in [with_name, as_usual] {
            drop(begin(&path, Existing::Keep));
            assert!(names_in(folder.path()).is_empty());
            for (text, existing) in [("first", Existing::Keep), ("second", Existing::Replace)] {
                let mut draft = begin(&path, existing);
                draft.fill(|out| out.write_all(text.as_bytes())).unwrap();
                let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
                draft.set_modified(time).unwrap();
                draft.finish().unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), text);
                assert_eq!(path.metadata().unwrap().modified().unwrap(), time);
                assert_eq!(names_in(folder.path()), ["file"]);
            }
            fs::remove_file(&path).unwrap();
            let late = begin(&path, Existing::Keep);
            fs::write(&path, "somebody was faster").unwrap();
            let error = late.finish().unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(names_in(folder.path()), ["file"]);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn of_many_drafts_those_that_fail_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a", "b", "c"].map(|name| folder.path().join(name));
        let drafts = paths.iter().map(|path| as_usual(path, Existing::Keep)).collect();
        fs::write(&paths[1], "somebody was faster").unwrap();
        let failures = finish_all(drafts);
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].0, paths[1]);
        assert_eq!(names_in(folder.path()), ["a", "b", "c"]);
        assert_eq!(fs::read_to_string(&paths[1]).unwrap(), "somebody was faster");
    }

    #[test]
    fn a_file_that_cannot_be_named_later_is_copied() {
        let folder = tempfile::tempdir().unwrap();
        // A file of another file system or folder cannot be linked, and neither can one that was
        // removed.
        let gone = folder.path().join("gone");
        fs::write(&gone, "content").unwrap();
        let file = File::options().read(true).write(true).open(&gone).unwrap();
        fs::remove_file(&gone).unwrap();
        let path = folder.path().join("file");
        let draft = Draft { file, name: None, target: path.clone(), existing: Existing::Keep };
        draft.finish().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "content");
        assert_eq!(names_in(folder.path()), ["file"]);
    }

    #[test]
    fn abandoned_drafts_are_removed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let draft = with_name(&folder.join("file"), Existing::Keep);
        let locked = draft.name().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        let others = [".backstory-ignore", ".backstory-a.tmp", ".backstory-a_b_c_.tmp", "x.tmp"];
        for name in others.iter().chain(&[".backstory-abc123.tmp"]) {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::create_dir(folder.join(".backstory-folder.tmp")).unwrap();
        remove_abandoned(folder);
        let mut stay = [&others[..], &[".backstory-folder.tmp", &locked]].concat();
        stay.sort_unstable();
        assert_eq!(names_in(folder), stay);
        drop(draft);
    }

    #[test]
    fn writers_who_clean_up_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for n in 0..4 {
                let path = folder.path().join(n.to_string());
                scope.spawn(move || {
                    for _ in 0..100 {
                        remove_abandoned(folder_of(&path));
                        let mut draft = with_name(&path, Existing::Replace);
                        draft.fill(|out| out.write_all(b"whole")).unwrap();
                        draft.publish().unwrap();
                        assert_eq!(fs::read(&path).unwrap(), b"whole");
                    }
                });
            }
        });
        assert_eq!(names_in(folder.path()), ["0", "1", "2", "3"]);
    }
}
