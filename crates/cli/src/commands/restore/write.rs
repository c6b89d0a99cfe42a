//! Writes the files of a plan, or checks what writing them would do.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use backstory_core::agent::lifecycle::{Content, FileRole, Freshening, PlannedFile, RestorePlan};
use backstory_core::archive::{Archive, FileRow};
use backstory_core::discover::Source;
use backstory_core::file::{self, Existing, Occupant, folder_of};
use backstory_core::read::bytes::Bytes;
use backstory_core::time::Time;
use jiff::Timestamp;

use super::report::FileDocument;
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::library::cannot_write;
use crate::save::Batch;

/// The size of the buffer for copying and comparing.
const PIECE: usize = 64 * 1024;

/// The outcome for one file.
pub(in crate::commands) struct Done {
    pub(super) path: PathBuf,
    pub(super) role: FileRole,
    pub(super) how: FileOutcome,
    bytes: Option<u64>,
    modified: Option<SystemTime>,
    /// The reason why it could not be written.
    pub(super) why: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileOutcome {
    Written,
    WouldWrite,
    /// It exists, unchanged or with more content at the end.
    There,
    /// It existed; the line that makes it recent was added.
    Freshened,
    WouldFreshen,
    /// A different file exists, and is left alone.
    Differs,
    /// It was captured only in part, so it is left out.
    Missing,
    /// It was captured only in part, and that part was written.
    InPart,
    /// It could not be read or written.
    Failed,
}

impl FileOutcome {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::WouldWrite => "would write",
            Self::There => "there",
            Self::Freshened => "freshened",
            Self::WouldFreshen => "would freshen",
            Self::Differs => "differs",
            Self::Missing => "missing",
            Self::InPart => "in part",
            Self::Failed => "failed",
        }
    }
}

impl Done {
    pub(super) fn registry(path: PathBuf, how: FileOutcome) -> Self {
        Self { path, role: FileRole::Registry, how, bytes: None, modified: None, why: None }
    }

    fn failed(write: &PlannedFile, failure: &Failure) -> Self {
        let why = [failure.what.clone()].into_iter().chain(failure.causes());
        Self {
            path: write.path.clone(),
            role: write.role,
            how: FileOutcome::Failed,
            bytes: None,
            modified: None,
            why: Some(why.collect::<Vec<_>>().join(": ")),
        }
    }

    pub(super) fn document(&self) -> FileDocument {
        FileDocument {
            path: self.path.display().to_string(),
            what: self.role.name(),
            done: self.how.name(),
            bytes: self.bytes,
            modified: self.modified.and_then(|at| Timestamp::try_from(at).ok()).map(Time),
        }
    }
}

pub(super) struct Writer<'a> {
    pub(super) ctx: &'a Context,
    pub(super) archive: &'a Archive,
    pub(super) captured: &'a CapturedBytes,
    /// The way to make the session recent, if it is to be.
    pub(super) fresh: Option<Freshening>,
    pub(super) dry_run: bool,
    /// Whether files that were captured only in part are left out.
    pub(super) only_whole: bool,
}

impl Writer<'_> {
    pub(super) fn write_all(&self, plan: &RestorePlan) -> Result<Vec<Done>> {
        let root = plan.root.as_deref().unwrap_or(&plan.folder);
        let mut batch = Batch::default();
        let mut write = |write| match self.write(write, plan, root, &mut batch) {
            // A damaged file does not affect the others.
            Err(failure) if !self.only_whole => Ok(Done::failed(write, &failure)),
            other => other,
        };
        let done: Result<Vec<Done>> = plan.files.iter().map(&mut write).collect();
        match batch.finish().into_iter().next() {
            Some((path, error)) => Err(cannot_write(self.ctx, &path, error)),
            None => done,
        }
    }

    fn write(
        &self,
        planned: &PlannedFile,
        plan: &RestorePlan,
        root: &Path,
        batch: &mut Batch,
    ) -> Result<Done> {
        let PlannedFile { path, content, role } = planned;
        let line = match &self.fresh {
            Some(Freshening::Line(line)) if *role == FileRole::Session => Some(line.as_str()),
            _ => None,
        };
        let is_touched = self.fresh == Some(Freshening::Time);
        let now: SystemTime = self.ctx.now.into();
        let (bytes, modified) = match content {
            Content::Source(source) if plan.keeps_times => (source.size, source.modified),
            Content::Source(source) => (source.size, Some(now)),
            Content::Text(text) => (text.len() as u64, None),
        };
        let done = |how| Done {
            path: path.clone(),
            role: *role,
            how,
            bytes: Some(bytes),
            modified,
            why: None,
        };
        let is_part = matches!(content, Content::Source(source) if captured_part(source, self.archive, self.captured).is_some());
        if is_part && self.only_whole {
            return Ok(done(FileOutcome::Missing));
        }
        let cannot = |error| cannot_write(self.ctx, path, error);
        let found = self.look(path, content)?;
        // A file that exists may be reached through a link, but nothing is written through one.
        if matches!(found, Found::Nothing) || line.is_some() || is_touched {
            file::check_below(root, path).map_err(cannot)?;
        }
        let how = match found {
            Found::Differs => FileOutcome::Differs,
            Found::Same if line.is_none() && !is_touched => FileOutcome::There,
            Found::Same if self.dry_run => FileOutcome::WouldFreshen,
            Found::Same => {
                let freshened = match line {
                    Some(line) => append(path, line),
                    None => {
                        File::options().append(true).open(path).and_then(|f| f.set_modified(now))
                    }
                };
                freshened.map(|()| FileOutcome::Freshened).map_err(cannot)?
            }
            Found::Nothing if self.dry_run => FileOutcome::WouldWrite,
            Found::Nothing => {
                file::create_folders(folder_of(path)).map_err(cannot)?;
                let modified = modified.filter(|_| line.is_none());
                let copy = |out: &mut dyn Write| self.copy(content, line, out);
                batch.save(path, Existing::Keep, modified, copy).map_err(cannot)?;
                if is_part { FileOutcome::InPart } else { FileOutcome::Written }
            }
        };
        Ok(done(how))
    }

    fn open<'a>(&'a self, content: &'a Content) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match content {
            Content::Source(source) => Box::new(self.archive.open(source)?),
            Content::Text(text) => Box::new(text.as_bytes()),
        })
    }

    fn copy(&self, content: &Content, line: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
        let mut input = self.open(content)?;
        let mut buffer = vec![0; PIECE];
        let mut last = b'\n';
        loop {
            let length = input.read(&mut buffer)?;
            if length == 0 {
                break;
            }
            last = buffer[length - 1];
            out.write_all(&buffer[..length])?;
        }
        if let Some(line) = line {
            out.write_all(behind(last, line).as_bytes())?;
        }
        Ok(())
    }

    /// Compares the content with the file at its destination.
    fn look(&self, path: &Path, content: &Content) -> Result<Found> {
        match file::occupant(path) {
            Occupant::Nothing => return Ok(Found::Nothing),
            Occupant::Special(_) => return Ok(Found::Differs),
            Occupant::File(_) => {}
        }
        let is_itself = |source: &Source| {
            source.path == path && !source.is_replaced() && self.archive.is_local(source)
        };
        if matches!(content, Content::Source(source) if is_itself(source)) {
            return Ok(Found::Same);
        }
        let begins = self.open(content).and_then(|ours| begins_with(File::open(path)?, ours));
        match begins {
            Ok(true) => Ok(Found::Same),
            Ok(false) => Ok(Found::Differs),
            Err(error) => {
                Err(Failure::new(format!("cannot compare `{}`", self.ctx.show(path)))
                    .because(error))
            }
        }
    }
}

enum Found {
    Nothing,
    /// All of the content is there; a log may have grown since.
    Same,
    Differs,
}

/// Returns whether `theirs` begins with all of `ours`.
fn begins_with(mut theirs: impl Read, mut ours: impl Read) -> io::Result<bool> {
    let (mut a, mut b) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let length = ours.read(&mut a)?;
        if length == 0 {
            return Ok(true);
        }
        match theirs.read_exact(&mut b[..length]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        if a[..length] != b[..length] {
            return Ok(false);
        }
    }
}

/// Prepends a line break if the last line is incomplete.
fn behind(last: u8, line: &str) -> String {
    if last == b'\n' { line.to_owned() } else { format!("\n{line}") }
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut file = File::options().read(true).append(true).open(path)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    file.write_all(behind(last[0], line).as_bytes())?;
    file.sync_all()
}

/// The number of captured bytes of each source.
pub(super) type CapturedBytes = HashMap<i64, u64>;

pub(super) fn captured_bytes(rows: &[FileRow]) -> CapturedBytes {
    let number = |row: &FileRow| row.source.archived.as_ref().map(|archived| archived.number);
    rows.iter().filter_map(|row| Some((number(row)?, row.captured))).collect()
}

/// Returns the captured and the total size of a file that is gone and was captured only in part.
pub(super) fn captured_part(
    source: &Source,
    archive: &Archive,
    captured: &CapturedBytes,
) -> Option<(u64, u64)> {
    let archived = source.archived.as_ref()?;
    if !source.is_replaced() && archive.is_local(source) && source.path.exists() {
        return None;
    }
    let captured = *captured.get(&archived.number)?;
    (captured < source.size).then_some((captured, source.size))
}
