//! An open file as the platform's own VFS implements it.

use std::ffi::{c_int, c_void};

use rusqlite::ffi;

use crate::header::{self, Header};

/// A file of the wrapped VFS.
///
/// Its methods are safe because [`InnerFile::new`] demands that the file is open for as long as the
/// value is used.
#[derive(Clone, Copy)]
pub(crate) struct InnerFile(*mut ffi::sqlite3_file);

impl InnerFile {
    /// Wraps an open file.
    ///
    /// # Safety
    ///
    /// `file` has been opened by its VFS, is not closed before the last use of the value, and is not
    /// used by another thread meanwhile.
    pub(crate) unsafe fn new(file: *mut ffi::sqlite3_file) -> Self {
        Self(file)
    }

    fn methods(&self) -> &ffi::sqlite3_io_methods {
        // SAFETY: the file is open, so it has methods.
        unsafe { &*(*self.0).pMethods }
    }

    /// Fills a buffer from the file and returns SQLite's result code.
    ///
    /// # Safety
    ///
    /// `buffer` has room for `amount` bytes.
    pub(crate) unsafe fn read_raw(self, buffer: *mut c_void, amount: c_int, offset: i64) -> c_int {
        let Some(read) = self.methods().xRead else { return ffi::SQLITE_IOERR_READ };
        // SAFETY: the file is open, and the caller vouches for the buffer.
        unsafe { read(self.0, buffer, amount, offset) }
    }

    /// Fills a buffer from the file and returns SQLite's result code.
    pub(crate) fn read(self, buffer: &mut [u8], offset: i64) -> c_int {
        let Ok(amount) = c_int::try_from(buffer.len()) else { return ffi::SQLITE_IOERR_READ };
        // SAFETY: the buffer has this length.
        unsafe { self.read_raw(buffer.as_mut_ptr().cast(), amount, offset) }
    }

    /// Writes bytes to the file and returns SQLite's result code.
    pub(crate) fn write(self, bytes: &[u8], offset: i64) -> c_int {
        let Ok(amount) = c_int::try_from(bytes.len()) else { return ffi::SQLITE_IOERR_WRITE };
        let Some(write) = self.methods().xWrite else { return ffi::SQLITE_IOERR_WRITE };
        // SAFETY: the file is open, and `xWrite` only reads the bytes.
        unsafe { write(self.0, bytes.as_ptr().cast(), amount, offset) }
    }

    /// Returns the size of the file, or SQLite's result code.
    pub(crate) fn size(self) -> Result<i64, c_int> {
        let Some(file_size) = self.methods().xFileSize else { return Err(ffi::SQLITE_IOERR_FSTAT) };
        let mut size = 0;
        // SAFETY: the file is open, and `size` outlives the call.
        match unsafe { file_size(self.0, &raw mut size) } {
            ffi::SQLITE_OK => Ok(size),
            code => Err(code),
        }
    }

    /// Reads the file's header. Returns `None` if there is not one yet.
    pub(crate) fn header(self) -> Option<Header> {
        let mut bytes = [0; header::LEN];
        (self.read(&mut bytes, 0) == ffi::SQLITE_OK).then(|| Header::parse(&bytes))?
    }
}
