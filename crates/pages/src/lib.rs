//! SQLite databases with a checksum on every page.
//!
//! SQLite notices damage to a database file only where it breaks the structure of the file. A
//! flipped bit in a text or a number is returned as if it were what had been stored. A database
//! that was created through [`open`] has a checksum on every page, and a page that does not match
//! it cannot be read: the query fails with [`MISMATCH`], and `PRAGMA integrity_check` names the page.
//!
//! ```
//! # fn main() -> rusqlite::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("a.db");
//! use rusqlite::OpenFlags;
//!
//! let db = backstory_pages::open(&path, OpenFlags::default())?;
//! db.execute_batch("CREATE TABLE notes (text TEXT)")?;
//! assert!(backstory_pages::is_checked(&db)?);
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//!
//! [`open`] registers a VFS, SQLite's layer over the operating system, which wraps the platform's
//! default one. It adds the checksum when a page is written to the database file and compares it
//! when a page is read. Journals, write-ahead logs and temporary files are not changed: the first two
//! have checksums of their own.
//!
//! Pages are neither read through mapped memory nor in parts, because that could not be checked.
//! `PRAGMA mmap_size` is always 0.
//!
//! # The file
//!
//! The file is an ordinary SQLite database with eight reserved bytes at the end of each page (byte
//! 20 of the file is 8). They contain the checksum of the rest of the page and of its number, see
//! [`checksum`]. Any SQLite can read such a file, but must not write to it without this crate: that
//! leaves checksums that do not match. The same applies to a copy that the backup API makes through
//! a connection that was not opened by [`open`].
//!
//! The page at offset 2^30, which SQLite uses for file locks, is never written and has no checksum.
//!
//! # Limits
//!
//! - Checksums cannot be added to a database or removed from it, and the page size of a database
//!   with checksums cannot change. An attempt fails with `SQLITE_IOERR_WRITE` and changes nothing:
//!   a backup over an existing database of the other kind, or `VACUUM` after `PRAGMA page_size`.
//! - A database that `ATTACH` creates has no checksums. A copy that `VACUUM INTO` or the backup API
//!   makes in a new file has them if its source has.
//! - A write that never reached the disk leaves an older version of a page, whose checksum is right.
//! - Queries and `PRAGMA integrity_check` do not read free pages. A backup does, so it fails if one
//!   of them is damaged.
//! - SQLite's own checksum extension reserves the same bytes for another checksum. Its databases
//!   cannot be read.

pub mod checksum;
mod database;
mod file;
mod header;
mod vfs;

use std::ffi::c_int;
use std::path::Path;

use rusqlite::{Connection, OpenFlags, Result, ffi};

use vfs::kind;

/// The extended error code of a query that needs a damaged page.
pub const MISMATCH: i32 = ffi::SQLITE_IOERR_DATA;

/// Opens a database whose pages have checksums.
///
/// A missing or empty database gets them when it is first written to. An existing database without
/// them works without checks.
///
/// `path` may be a URI if the flags allow that. A `vfs` parameter in it bypasses this crate.
pub fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    vfs::register()?;
    let db = Connection::open_with_flags_and_vfs(path, flags, vfs::NAME)?;
    if control(&db, vfs::KIND, -1)? == Some(kind::EMPTY) {
        let reserved = c_int::try_from(checksum::LEN).unwrap_or_default();
        control(&db, ffi::SQLITE_FCNTL_RESERVE_BYTES, reserved)?;
    }
    Ok(db)
}

/// Returns whether the pages of a connection's main database have checksums that are compared.
///
/// Returns `false` for a database that is still empty.
pub fn is_checked(db: &Connection) -> Result<bool> {
    Ok(control(db, vfs::KIND, -1)? == Some(kind::CHECKED))
}

/// Sends the main database a file control that takes an integer and returns one. Returns `None` if
/// its VFS does not support the control.
fn control(db: &Connection, op: c_int, mut argument: c_int) -> Result<Option<c_int>> {
    // SAFETY: the connection is open, and the controls used here take a pointer to an integer. A
    // VFS that does not support them does not touch it.
    let code = unsafe {
        ffi::sqlite3_file_control(db.handle(), c"main".as_ptr(), op, (&raw mut argument).cast())
    };
    match code {
        ffi::SQLITE_OK => Ok(Some(argument)),
        ffi::SQLITE_NOTFOUND => Ok(None),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}
