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
//! [`open`] registers a VFS, SQLite's layer over the operating system, that hands everything on to
//! the platform's default one. It adds the checksum when a page is written to the database file and
//! compares it when a page is read. Journals, write-ahead logs and temporary files stay as they are:
//! the first two have checksums of their own.
//!
//! Pages are not read through mapped memory, and not in parts, because neither could be checked.
//! `PRAGMA mmap_size` is always 0.
//!
//! # The file
//!
//! The file is an ordinary SQLite database with eight reserved bytes at the end of each page (byte
//! 20 of the file is 8). They hold the checksum of the rest of the page and of its number, see
//! [`checksum`]. Any SQLite can read such a file. One that writes to it without this crate leaves
//! checksums behind that do not match, and so does the backup API into a connection that was not
//! opened by [`open`].
//!
//! The page at offset 2^30, on which SQLite has its locks, is never written and has no checksum.
//!
//! # Limits
//!
//! - A database has checksums for life, or never. What would change that, or the page size of a
//!   database with checksums, fails with `SQLITE_IOERR_WRITE` and changes nothing: copying a
//!   database over one of the other kind by the backup API, and `VACUUM` after `PRAGMA page_size`.
//!   Copy it to a new file instead.
//! - A new database that is created by `ATTACH` has no checksums. The copies that `VACUUM INTO` and
//!   the backup API make in a new file are like their source.
//! - A page that is missing in its entirety, or an old version of a page in its own place, has no
//!   wrong checksum. SQLite notices the former by the size in the header.
//! - Databases of SQLite's own checksum extension look the same but have other checksums, so they
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
/// An empty or missing database gets them when it is first written to. One that exists without them
/// is opened as it is and works without checks.
///
/// `path` may be a URI if the flags allow that. A URI with a `vfs` parameter goes around this crate.
pub fn open(path: &Path, flags: OpenFlags) -> Result<Connection> {
    vfs::register()?;
    let db = Connection::open_with_flags_and_vfs(path, flags, vfs::NAME)?;
    if control(&db, vfs::KIND, -1)? == Some(kind::EMPTY) {
        let reserved = c_int::try_from(checksum::LEN).unwrap_or_default();
        control(&db, ffi::SQLITE_FCNTL_RESERVE_BYTES, reserved)?;
    }
    Ok(db)
}

/// Returns whether the main database of a connection has checksums that are compared.
///
/// An empty database does not have them yet.
pub fn is_checked(db: &Connection) -> Result<bool> {
    Ok(control(db, vfs::KIND, -1)? == Some(kind::CHECKED))
}

/// Sends the main database a file control that takes an integer and returns one. Returns `None` if
/// its VFS does not know the control.
fn control(db: &Connection, op: c_int, mut argument: c_int) -> Result<Option<c_int>> {
    // SAFETY: the connection is open, and the controls used here take a pointer to an integer. A VFS
    // that does not know them does not touch it.
    let code = unsafe {
        ffi::sqlite3_file_control(db.handle(), c"main".as_ptr(), op, (&raw mut argument).cast())
    };
    match code {
        ffi::SQLITE_OK => Ok(Some(argument)),
        ffi::SQLITE_NOTFOUND => Ok(None),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}
