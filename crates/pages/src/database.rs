//! Adds checksums to the pages that are written to a database file, and verifies those of the pages
//! that are read.

use std::ffi::c_int;
use std::ops::Range;

use rusqlite::ffi;

use crate::checksum;
use crate::file::InnerFile;
use crate::header::{self, Header};

/// The offset of the page that SQLite's file locks are on. It is never written or read.
const LOCK_PAGE: i64 = 0x4000_0000;

/// The state of an open database file.
#[derive(Default)]
pub(crate) struct Database {
    /// The format of the file. `None` if it does not have a header yet.
    header: Option<Header>,
    /// The pages that were written before the header and therefore have no checksums.
    loose: Range<i64>,
    /// A lower bound for the length of the file.
    end: i64,
    /// Whether pages are being copied from the write-ahead log.
    checkpoint: bool,
    /// The copy of a page that gets the checksum. SQLite's own copy must not change, because the
    /// write-ahead log has checksums over it.
    page: Vec<u8>,
}

impl Database {
    /// Returns the format of the file. Looks for a header if there was none so far, because another
    /// connection may have created the database since.
    pub(crate) fn header(&mut self, file: InnerFile) -> Option<Header> {
        if self.header.is_none() {
            self.header = file.header();
        }
        self.header
    }

    /// Returns the format of the file without looking for a header.
    pub(crate) fn known_header(&self) -> Option<Header> {
        self.header
    }

    /// Resets the known length of the file, because another process may have changed it.
    pub(crate) fn forget_end(&mut self) {
        self.end = 0;
    }

    /// Records that a checkpoint begins or ends.
    pub(crate) fn set_checkpoint(&mut self, running: bool) {
        self.checkpoint = running;
        self.forget_end();
    }

    /// Records that the file has been cut to a size.
    pub(crate) fn truncated(&mut self, size: i64) {
        self.forget_end();
        self.loose.end = self.loose.end.min(size);
        if size == 0 {
            self.header = None;
        }
    }

    /// Returns whether bytes that were read from the file have the right checksum. Reads of less than a page have none,
    /// and are accepted.
    pub(crate) fn has_valid_checksum(
        &mut self,
        file: InnerFile,
        bytes: &mut [u8],
        offset: i64,
    ) -> bool {
        if offset == 0 && bytes.len() >= header::LEN {
            let header = Header::parse(bytes);
            let whole = header.filter(|header| header.page_size == bytes.len());
            let sound = whole.is_none_or(|header| header.vouches_for(bytes));
            if sound {
                self.header = header;
            }
            return sound;
        }
        bytes.len() < header::MIN_PAGE
            || self
                .page_number(file, bytes.len(), offset)
                .is_none_or(|number| checksum::matches(bytes, number))
    }

    /// Returns whether a read beyond the end of the file may be used. It may not if the page begins
    /// before the end, because it is then cut short.
    pub(crate) fn accepts_short(&mut self, file: InnerFile, amount: usize, offset: i64) -> bool {
        amount < header::MIN_PAGE
            || self.page_number(file, amount, offset).is_none()
            || file.size().is_ok_and(|size| offset >= size)
    }

    /// Writes bytes to the file, with a checksum if they are a page, and returns SQLite's result code.
    pub(crate) fn write(&mut self, file: InnerFile, bytes: &[u8], offset: i64) -> c_int {
        self.try_write(file, bytes, offset).err().unwrap_or(ffi::SQLITE_OK)
    }

    fn try_write(&mut self, file: InnerFile, bytes: &[u8], offset: i64) -> Result<(), c_int> {
        if offset == 0 {
            return self.write_first(file, bytes);
        }
        if self.header(file).is_none() {
            // A new database whose first transaction outgrew the page cache.
            let start = if self.loose.is_empty() { file.size()? } else { self.loose.start };
            let end = offset.saturating_add_unsigned(bytes.len() as u64);
            self.loose = start.min(offset)..self.loose.end.max(end);
        } else if self.page_number(file, bytes.len(), offset).is_some() {
            self.fill_up_to(file, offset, bytes.len())?;
            return self.write_page(file, bytes, offset);
        }
        ok(file.write(bytes, offset))
    }

    /// Writes the first page, which has the header.
    fn write_first(&mut self, file: InnerFile, bytes: &[u8]) -> Result<(), c_int> {
        let header = Header::parse(bytes);
        // The log was checked when it was written. If the header differs, the file is damaged.
        let admitted = self.checkpoint || Header::may_become(self.header(file), header);
        let checked = header.filter(|header| header.checked);
        if !admitted || checked.is_some_and(|header| header.page_size != bytes.len()) {
            return Err(ffi::SQLITE_IOERR_WRITE);
        }
        if let Some(header) = checked {
            self.stamp_loose(file, header.page_size)?;
            self.write_page(file, bytes, 0)?;
        } else {
            ok(file.write(bytes, 0))?;
        }
        self.header = header;
        Ok(())
    }

    /// Writes a page with its checksum.
    fn write_page(&mut self, file: InnerFile, bytes: &[u8], offset: i64) -> Result<(), c_int> {
        let page = self.page(bytes.len())?;
        page.copy_from_slice(bytes);
        checksum::stamp(page, number(offset, bytes.len()));
        ok(file.write(page, offset))?;
        self.end = self.end.max(offset.saturating_add_unsigned(bytes.len() as u64));
        Ok(())
    }

    /// Writes pages of zeros between the end of the file and an offset.
    ///
    /// SQLite does not write a page that is allocated and freed in the same transaction. Nothing
    /// uses the hole that this leaves in the file, but a backup reads it.
    fn fill_up_to(&mut self, file: InnerFile, offset: i64, size: usize) -> Result<(), c_int> {
        if offset <= self.end {
            return Ok(());
        }
        self.end = file.size()?;
        let step = i64::try_from(size).map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        let mut hole = (self.end + step - 1) / step * step;
        while hole < offset {
            if hole != LOCK_PAGE {
                let page = self.page(size)?;
                page.fill(0);
                checksum::stamp(page, number(hole, size));
                ok(file.write(page, hole))?;
            }
            hole += step;
        }
        Ok(())
    }

    /// Adds checksums to the pages that were written before the header.
    fn stamp_loose(&mut self, file: InnerFile, size: usize) -> Result<(), c_int> {
        let step = i64::try_from(size).map_err(|_| ffi::SQLITE_IOERR_WRITE)?;
        let mut offset = (self.loose.start / step * step).max(step);
        while offset < self.loose.end {
            if offset != LOCK_PAGE {
                let page = self.page(size)?;
                ok(file.read(page, offset))?;
                checksum::stamp(page, number(offset, size));
                ok(file.write(page, offset))?;
            }
            offset += step;
        }
        self.loose = 0..0;
        Ok(())
    }

    /// Returns the buffer for a page. Allocates memory only the first time.
    fn page(&mut self, size: usize) -> Result<&mut [u8], c_int> {
        if self.page.len() != size {
            self.page.clear();
            self.page.try_reserve_exact(size).map_err(|_| ffi::SQLITE_IOERR_NOMEM)?;
            self.page.resize(size, 0);
        }
        Ok(&mut self.page)
    }

    /// Returns the number of the page that begins at an offset, if pages have checksums and the
    /// amount is that of a whole one.
    fn page_number(&mut self, file: InnerFile, amount: usize, offset: i64) -> Option<u64> {
        let size = self.header(file).filter(|header| header.checked)?.page_size;
        let whole = amount == size && u64::try_from(offset).ok()? % size as u64 == 0;
        whole.then(|| number(offset, size))
    }
}

/// Returns the number of the page at an offset, counted from 1.
fn number(offset: i64, size: usize) -> u64 {
    offset.unsigned_abs() / size as u64 + 1
}

/// Converts SQLite's result code to a result.
fn ok(code: c_int) -> Result<(), c_int> {
    if code == ffi::SQLITE_OK { Ok(()) } else { Err(code) }
}
