//! One run: merges the parcels of the other machines, then writes the news of this one.
//!
//! The order makes every interruption harmless. A parcel is noted as merged after it was merged, and as written after
//! it is in the folder; older parcels are removed after their replacement is noted. Parcels that nobody noted are
//! merged, even those of this machine: they may be all that is left of an archive that was lost.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use backstory_core::archive::{Archive, ArchiveError, Foreign};
use serde::Serialize;

use crate::error::{Failure, Result};
use crate::folder::{self, Parcel};
use crate::key::{Key, Locked};
use crate::plan::plan;
use crate::program::Program;
use crate::state::{FolderState, State, WrittenParcel};
use crate::work::Work;

/// The result of a run.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// The files received from other machines, by machine.
    pub(crate) received: BTreeMap<String, u64>,
    /// The files written for the others.
    pub(crate) sent: u64,
    /// The bytes written.
    pub(crate) bytes: u64,
    /// The parcels of this machine in the folder, and their size.
    pub(crate) parcels: u64,
    pub(crate) parcel_bytes: u64,
    /// What could not be used, and why.
    pub(crate) problems: Vec<String>,
}

pub(crate) struct Exchange<'a> {
    pub(crate) folder: PathBuf,
    pub(crate) key: Key,
    pub(crate) program: &'a Program,
    pub(crate) work: Work,
    /// Reports the beginning of something that may take a while.
    pub(crate) say: &'a dyn Fn(&str),
}

impl Exchange<'_> {
    pub(crate) fn run(&self) -> Result<Report> {
        let mut report = Report::default();
        let archive = self.open()?;
        let machine = archive.machine().map(str::to_owned).ok_or_else(|| {
            Failure::new("this machine has no id").hint("`archive.machine` cannot be written")
        })?;
        let mut states = State::of(&archive)?;
        // The program that merges must be the only one that uses the archive.
        drop(archive);
        folder::sweep(&self.folder, &machine).map_err(|error| self.unusable(error))?;
        let mut found = folder::parcels(&self.folder).map_err(|error| self.unusable(error))?;
        let state = states.folder(&self.folder);
        let lost = self.check_written(state, &found);
        found.retain(|parcel| !lost.contains(&parcel.name));
        let is_right = self.check_key(state)?;
        state.merged.retain(|name| found.iter().any(|parcel| parcel.name == *name));
        self.receive(&mut states, &found, is_right, &mut report)?;
        let mut archive = self.open()?;
        self.send(&mut archive, &machine, &mut states, &mut report)?;
        let state = states.folder(&self.folder);
        let own = found.iter().filter(|parcel| parcel.machine() == machine);
        let old = own.map(|parcel| &parcel.name).filter(|name| state.merged.contains(*name));
        for name in old.chain(&lost) {
            folder::remove(&self.folder.join(name)).map_err(|error| self.unusable(error))?;
        }
        let labels = archive.machine_labels()?;
        let label = |id: String| labels.get(&id).cloned().unwrap_or(id);
        let received = std::mem::take(&mut report.received);
        report.received = received.into_iter().map(|(id, files)| (label(id), files)).collect();
        report.parcels = state.written.len() as u64;
        report.parcel_bytes = state.written.iter().map(|one| one.parcel.size).sum();
        Ok(report)
    }

    fn open(&self) -> Result<Archive> {
        let archive = Archive::open(self.program.archive())?;
        if archive.is_read_only() {
            return Err(ArchiveError::ReadOnly(self.program.archive().to_owned()).into());
        }
        Ok(archive)
    }

    /// Takes the parcels that are no longer in the folder as they were written out of the state, and returns
    /// their names. The files in them are written again.
    fn check_written(&self, state: &mut FolderState, found: &[Parcel]) -> Vec<String> {
        let is_there = |one: &WrittenParcel| {
            found.iter().any(|parcel| parcel.is_still(&one.parcel, &self.folder))
        };
        let (written, lost): (Vec<_>, Vec<_>) =
            std::mem::take(&mut state.written).into_iter().partition(is_there);
        state.written = written;
        lost.into_iter().map(|one| one.parcel.name).collect()
    }

    /// Fails if this machine wrote with another key before; the others could read only half of it. Returns whether the
    /// key is known to be right.
    fn check_key(&self, state: &FolderState) -> Result<bool> {
        let Some(one) = state.written.first() else { return Ok(false) };
        let file = one.parcel.open(&self.folder).map_err(|error| self.unusable(error))?;
        match self.key.decrypt(file) {
            Err(Locked::WrongKey) => Err(self.wrong_key(&one.parcel)),
            opened => Ok(opened.is_ok()),
        }
    }

    /// Merges the parcels that are not in the archive yet. One that another key opens is a mistake of its writer if ours
    /// is right, and must not keep the others from being read.
    fn receive(
        &self,
        states: &mut State,
        found: &[Parcel],
        is_right: bool,
        report: &mut Report,
    ) -> Result<()> {
        let state = states.folder(&self.folder);
        let is_known = |parcel: &Parcel| {
            let is_written = state.written.iter().any(|one| one.parcel.name == parcel.name);
            is_written || state.merged.contains(&parcel.name)
        };
        let new: Vec<&Parcel> = found.iter().filter(|parcel| !is_known(parcel)).collect();
        for (n, parcel) in new.iter().enumerate() {
            match parcel.is_whole(&self.folder) {
                Ok(true) => {}
                // Its machine has replaced it in the meantime.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Ok(false) => {
                    let why = "is incomplete or damaged; it is read when it is whole";
                    report.problems.push(format!("`{}` {why}", parcel.name));
                    continue;
                }
                Err(error) => {
                    report.problems.push(format!("`{}` cannot be read: {error}", parcel.name));
                    continue;
                }
            }
            (self.say)(&format!("Reading parcel {} of {}.", n + 1, new.len()));
            if let Some(files) = self.merge(parcel, is_right, &mut report.problems)? {
                *report.received.entry(parcel.machine().to_owned()).or_default() += files;
                states.folder(&self.folder).merged.insert(parcel.name.clone());
                states.save(&mut self.open()?)?;
            }
        }
        Ok(())
    }

    /// Merges a parcel, and returns the number of files in it; none if it cannot be used.
    fn merge(
        &self,
        parcel: &Parcel,
        is_right: bool,
        problems: &mut Vec<String>,
    ) -> Result<Option<u64>> {
        let name = &parcel.name;
        let plain = self.work.file().map_err(|error| self.no_work(error))?;
        let file = match parcel.open(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| self.unusable(error))?,
        };
        let mut content = match self.key.decrypt(file) {
            Ok(content) => content,
            Err(Locked::WrongKey) if is_right => {
                problems.push(format!("`{name}` was encrypted with another key"));
                return Ok(None);
            }
            Err(Locked::WrongKey) => return Err(self.wrong_key(parcel)),
            Err(Locked::Damaged(error)) => {
                problems.push(format!("`{name}` cannot be decrypted: {error}"));
                return Ok(None);
            }
        };
        let mut out = private(&plain).map_err(|error| self.no_work(error))?;
        io::copy(&mut content, &mut out)
            .map_err(|error| Failure::new(format!("cannot decrypt `{name}`")).because(error))?;
        drop(out);
        match Foreign::open(&plain) {
            Ok(_) => {}
            Err(ArchiveError::Newer(_)) => {
                problems
                    .push(format!("`{name}` was written by a newer backstory; update this one"));
                return Ok(None);
            }
            Err(error) => {
                problems.push(format!("`{name}` is not a parcel: {error}"));
                return Ok(None);
            }
        }
        let merged = self.program.merge(&plain)?;
        for problem in merged.lost.iter().chain(&merged.doubtful).chain(&merged.refused) {
            problems.push(format!("in `{name}`: {problem}"));
        }
        Ok(Some(merged.files))
    }

    /// Writes the news of this machine, and notes it.
    fn send(
        &self,
        archive: &mut Archive,
        machine: &str,
        states: &mut State,
        report: &mut Report,
    ) -> Result<()> {
        let now = archive.shareable()?;
        let state = states.folder(&self.folder);
        let files = now.files.iter().map(|file| (file.stamp, file.bytes)).collect();
        let has_new_annotations = state.written.is_empty() || now.annotations != state.annotations;
        let must_start_over = now.forgotten != state.forgotten;
        let Some(plan) = plan(&files, &state.written, has_new_annotations, must_start_over) else {
            return states.save(archive);
        };
        (self.say)("Writing.");
        let plain = self.work.file().map_err(|error| self.no_work(error))?;
        let stamps = archive.write_parcel(&plain, &plan.stamps)?;
        let parcel = File::open(&plain)
            .and_then(|mut from| {
                folder::place(&self.folder, machine, |to| self.key.encrypt(&mut from, to))
            })
            .map_err(|error| self.unusable(error))?;
        let state = states.folder(&self.folder);
        let is_known = |stamp: &&i64| state.written.iter().any(|one| one.files.contains_key(stamp));
        report.sent = (stamps.len() - stamps.iter().filter(is_known).count()) as u64;
        report.bytes = parcel.size;
        let taken = stamps.into_iter().filter_map(|stamp| Some((stamp, *files.get(&stamp)?)));
        let replaced = state.written.split_off(plan.stays);
        state.merged.extend(replaced.into_iter().map(|one| one.parcel.name));
        state.written.push(WrittenParcel { parcel, files: taken.collect() });
        state.annotations = now.annotations;
        state.forgotten = now.forgotten;
        states.save(archive)
    }

    fn unusable(&self, error: io::Error) -> Failure {
        Failure::new(format!("cannot use the folder `{}`", self.folder.display())).because(error)
    }

    fn no_work(&self, error: io::Error) -> Failure {
        let archive = self.program.archive().display();
        Failure::new(format!("cannot write beside `{archive}`")).because(error)
    }

    fn wrong_key(&self, parcel: &Parcel) -> Failure {
        let what = match &self.key {
            Key::Passphrase(_) => "the passphrase",
            Key::Identities(_) => "the key",
        };
        Failure::new(format!("{what} does not open `{}`", parcel.name))
            .because("it was encrypted with another one")
            .hint("use the same key or passphrase on all machines")
            .hint(format!(
                "to change it, delete the files in `{}`; each machine writes its own again",
                self.folder.display()
            ))
    }
}

/// Creates a file that only its owner can read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
