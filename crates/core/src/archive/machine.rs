//! Identifies machines.
//!
//! A machine is identified by a random id in `archive.machine`, next to its archive, because host
//! names and home folders repeat. The name a person gave it is only a label. An archive that was
//! copied to another computer therefore does not mistake that computer's files for its own.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};

use super::open::cannot;
use super::temporary::TemporaryFile;
use super::{Archive, ArchiveError, notes};
use crate::discover::Source;

/// The key of the note that names the machine an archive was made on.
const OWNER: &str = "owner";

/// The length of an id in hexadecimal digits.
const LENGTH: usize = 32;

/// Identifies a machine in an archive.
pub type MachineId = Arc<str>;

/// Reads the id stored next to an archive; `None` if there is no valid one.
pub(super) fn read(archive: &Path) -> io::Result<Option<MachineId>> {
    match fs::read_to_string(file(archive)) {
        Ok(text) => Ok(Some(text.trim()).filter(|id| is_valid(id)).map(Into::into)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Stores an id next to an archive and returns it, or the one that another process stored first.
pub(super) fn write(archive: &Path, id: &MachineId) -> io::Result<MachineId> {
    let target = file(archive);
    let mut new = TemporaryFile::create(&target, "new")?;
    new.file().write_all(format!("{id}\n").as_bytes())?;
    match new.place_new(&target) {
        Ok(()) => Ok(id.clone()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // An id that cannot be parsed is useless, so it is replaced.
            read(archive)?.map_or_else(|| remove(archive).and_then(|()| write(archive, id)), Ok)
        }
        Err(error) => Err(error),
    }
}

/// Creates an id that no other machine has.
pub(super) fn random(db: &Connection) -> rusqlite::Result<MachineId> {
    let sql = format!("SELECT lower(hex(randomblob({})))", LENGTH / 2);
    db.query_row(&sql, [], |row| row.get::<_, String>(0)).map(Into::into)
}

/// Returns the id of a machine that is only known by name. The same name always gives the same id.
pub fn named(label: &str) -> MachineId {
    let hash = Sha256::digest(format!("machine:{label}"));
    let mut id = format!("{hash:x}");
    id.truncate(LENGTH);
    id.into()
}

/// Returns whether a text is a valid id. Ids from other archives become parts of paths.
pub(super) fn is_valid(id: &str) -> bool {
    id.len() == LENGTH && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Records the name of a machine.
pub(super) fn set_label(db: &Connection, id: &str, label: &str) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO machines VALUES (?1, ?2) ON CONFLICT DO UPDATE SET label = excluded.label
         WHERE label != excluded.label",
    )?
    .execute(params![id, label])?;
    Ok(())
}

/// Returns the names of machines by id. If several share a name, all but the first get a number.
pub(super) fn labels(db: &Connection) -> rusqlite::Result<HashMap<String, String>> {
    let mut find = db.prepare_cached("SELECT id, label FROM machines ORDER BY label, id")?;
    let rows = find.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut out = HashMap::new();
    for row in rows {
        let (id, label): (String, String) = row?;
        let count = seen.entry(label.clone()).or_default();
        *count += 1;
        let label = if *count == 1 { label } else { format!("{label}-{count}") };
        out.insert(id, label);
    }
    Ok(out)
}

fn file(archive: &Path) -> PathBuf {
    archive.with_extension("machine")
}

/// Removes the id stored next to an archive.
pub(super) fn remove(archive: &Path) -> io::Result<()> {
    match fs::remove_file(file(archive)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Archive {
    /// Returns the id of this machine. An archive without an id next to it was copied or restored:
    /// if this machine has the name of the one it was made on, it keeps that id, otherwise it gets
    /// a new one.
    pub(super) fn own_machine(&mut self, label: &str) -> Result<MachineId, ArchiveError> {
        if let Some(machine) = &self.machine {
            return Ok(machine.clone());
        }
        let owner = match self.note(OWNER)? {
            Some(owner) => {
                let owner = String::from_utf8_lossy(&owner).into_owned();
                let mut find =
                    self.db.prepare("SELECT 1 FROM machines WHERE id = ?1 AND label = ?2")?;
                find.exists([&owner, label])?.then(|| MachineId::from(owner))
            }
            None => None,
        };
        let mut id = owner.map_or_else(|| random(&self.db), Ok)?;
        if let Some(path) = self.path.as_ref().filter(|_| !self.is_private) {
            id = write(path, &id).map_err(|error| cannot(path, &error))?;
        }
        notes::set(&self.db, OWNER, id.as_bytes())?;
        self.machine = Some(id.clone());
        Ok(id)
    }

    /// Returns whether a source is on this machine, so that its path is valid here.
    pub(super) fn is_here(&self, machine: &str) -> bool {
        self.machine.as_deref() == Some(machine)
    }

    /// Returns whether a source is a file of this machine, or was never archived.
    pub fn is_local(&self, source: &Source) -> bool {
        source.archived.as_ref().is_none_or(|archived| self.is_here(&archived.machine))
    }

    /// Returns the machine whose files this run reads.
    pub(super) fn reading(&self) -> Option<&str> {
        self.reading.as_deref().or(self.machine.as_deref())
    }

    /// Returns the id of this machine, if it has one yet.
    pub fn machine(&self) -> Option<&str> {
        self.machine.as_deref()
    }

    /// Returns the names of machines by id.
    pub fn machine_labels(&self) -> Result<HashMap<String, String>, ArchiveError> {
        Ok(labels(&self.db)?)
    }
}
