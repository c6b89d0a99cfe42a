//! The shared folder: which files in it are parcels, and how one gets there.
//!
//! A parcel is named `<machine>-<hash>.age`, with the beginning of the SHA-256 of its encrypted content. A file
//! that is cut, damaged or still on its way therefore does not match its name, which shows without the
//! key. Anything with another name is ignored: drafts, conflict copies, other people's files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The length of machine ids and of hashes in names, in hexadecimal digits.
const DIGITS: usize = 32;

const ENDING: &str = ".age";

/// A parcel in the folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Parcel {
    pub(crate) name: String,
    pub(crate) size: u64,
    /// The time of its last change, in nanoseconds since 1970.
    modified: i64,
}

impl Parcel {
    fn at(path: &Path) -> io::Result<Option<Self>> {
        let name = path.file_name().and_then(OsStr::to_str).filter(|name| is_name(name));
        let Some(name) = name else { return Ok(None) };
        let about = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let modified = about.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = i64::try_from(modified.as_nanos()).unwrap_or(i64::MAX);
        let found = Self { name: name.to_owned(), size: about.len(), modified };
        Ok(about.is_file().then_some(found))
    }

    /// Returns the id of the machine that wrote it.
    pub(crate) fn machine(&self) -> &str {
        &self.name[..DIGITS]
    }

    pub(crate) fn path(&self, folder: &Path) -> PathBuf {
        folder.join(&self.name)
    }

    /// Returns whether its content matches its name. The file may vanish at any time.
    pub(crate) fn is_whole(&self, folder: &Path) -> io::Result<bool> {
        let mut hasher = Sha256::new();
        io::copy(&mut File::open(self.path(folder))?, &mut hasher)?;
        Ok(self.name[DIGITS + 1..].trim_end_matches(ENDING) == digits(hasher))
    }

    /// Returns whether it is still as it was when `known` was noted. A file that only looks changed is read.
    pub(crate) fn is_still(&self, known: &Self, folder: &Path) -> bool {
        let is_similar = self.name == known.name && self.size == known.size;
        is_similar && (self.modified == known.modified || self.is_whole(folder).unwrap_or_default())
    }

    pub(crate) fn open(&self, folder: &Path) -> io::Result<BufReader<File>> {
        File::open(self.path(folder)).map(BufReader::new)
    }
}

/// Returns the parcels in a folder, sorted by name.
pub(crate) fn parcels(folder: &Path) -> io::Result<Vec<Parcel>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder)? {
        out.extend(Parcel::at(&entry?.path())?);
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(out)
}

/// Writes a new parcel of a machine: into a draft first, which then gets its name.
pub(crate) fn place(
    folder: &Path,
    machine: &str,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Parcel> {
    let mut builder = tempfile::Builder::new();
    let prefix = draft(machine);
    builder.prefix(&prefix).suffix(".draft");
    // The content is encrypted, and another user may have to read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let mut draft = builder.tempfile_in(folder)?;
    let mut out = Hashing { to: draft.as_file_mut(), hasher: Sha256::new() };
    write(&mut out)?;
    let name = format!("{machine}-{}{ENDING}", digits(out.hasher));
    draft.as_file().sync_all()?;
    let path = folder.join(name);
    draft.persist(&path).map_err(|error| error.error)?;
    // Not every system can do this with a folder.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Parcel::at(&path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Removes drafts that a killed run of this machine left behind.
pub(crate) fn sweep(folder: &Path, machine: &str) -> io::Result<()> {
    let prefix = draft(machine);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes()) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file that may be gone already.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn draft(machine: &str) -> String {
    format!(".{machine}-")
}

fn is_name(name: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_id = |text: &str| text.len() == DIGITS && text.bytes().all(is_digit);
    let parts = name.strip_suffix(ENDING).and_then(|name| name.split_once('-'));
    parts.is_some_and(|(machine, hash)| is_id(machine) && is_id(hash))
}

fn digits(hasher: Sha256) -> String {
    let mut hash = format!("{:x}", hasher.finalize());
    hash.truncate(DIGITS);
    hash
}

/// Writes to a file, and hashes the bytes.
struct Hashing<'a> {
    to: &'a mut File,
    hasher: Sha256,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.to.write(bytes)?;
        self.hasher.update(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: &str = "0123456789abcdef0123456789abcdef";

    fn write(folder: &Path, text: &str) -> Parcel {
        place(folder, MACHINE, |to| to.write_all(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_parcel_is_named_by_its_machine_and_content() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let (a, b) = (write(folder, "one"), write(folder, "two"));
        assert_eq!(write(folder, "one").name, a.name);
        assert_eq!((a.machine(), a.size), (MACHINE, 3));
        let mut names = [a.name.clone(), b.name.clone()];
        names.sort();
        let found: Vec<String> = parcels(folder).unwrap().into_iter().map(|p| p.name).collect();
        assert_eq!(found, names);
        assert!(a.is_whole(folder).unwrap());
        assert!(parcels(folder).unwrap().iter().any(|found| found.is_still(&b, folder)));
        fs::write(b.path(folder), "tw0").unwrap();
        assert!(!b.is_whole(folder).unwrap());
        let found = Parcel::at(&b.path(folder)).unwrap().unwrap();
        assert!(!found.is_still(&b, folder));
        // A new time alone means nothing.
        fs::write(b.path(folder), "two").unwrap();
        assert!(Parcel::at(&b.path(folder)).unwrap().unwrap().is_still(&b, folder));
    }

    #[test]
    fn other_names_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let name = write(folder, "one").name;
        for other in [
            "notes.txt".to_owned(),
            name.to_uppercase(),
            format!(".{name}"),
            format!("{name}.tmp"),
            name.replace(".age", ".sync-conflict-20260814-163000-ABCDEFG.age"),
            format!("~syncthing~{name}.tmp"),
            name.replace('-', ""),
            name[1..].to_owned(),
        ] {
            fs::write(folder.join(other), "one").unwrap();
        }
        fs::create_dir(folder.join(name.replace('0', "1"))).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/dev/zero", folder.join(name.replace('0', "2"))).unwrap();
        assert_eq!(parcels(folder).unwrap().len(), 1);
    }

    #[test]
    fn drafts_of_this_machine_alone_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let parcel = write(folder, "one");
        let other = format!(".{}-x.draft", MACHINE.replace('0', "1"));
        for name in [&format!(".{MACHINE}-x.draft"), &other] {
            fs::write(folder.join(name), "half").unwrap();
        }
        sweep(folder, MACHINE).unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [other.as_str(), &parcel.name]);
    }
}
