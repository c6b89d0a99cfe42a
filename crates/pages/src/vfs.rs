//! Implements the VFS: the platform's default one, except that database files go through
//! [`Database`].
//!
//! SQLite allocates the memory of a file, and the VFS lays it out: here it is a [`File`] followed by
//! the file of the wrapped VFS. Only databases and their write-ahead logs need that. Rollback
//! journals and temporary files are opened in place by the wrapped VFS, as if this one did not exist.
//!
//! SQLite calls the methods of a file from one thread at a time, between `xOpen` and `xClose`, and
//! closes a write-ahead log before its database.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use rusqlite::ffi;

use crate::database::Database;
use crate::file::InnerFile;
use crate::header::{self, Header};

/// The name by which connections request the VFS.
pub(crate) const NAME: &CStr = c"backstory-pages";

/// The file control that requests the [`kind`] of a database. Numbers over 100 are for VFSs to use.
pub(crate) const KIND: c_int = 0x6270;

/// The answers to [`KIND`].
pub(crate) mod kind {
    /// The file does not have a header yet.
    pub(crate) const EMPTY: i32 = 0;
    /// The pages do not have checksums.
    pub(crate) const PLAIN: i32 = 1;
    /// The pages have checksums.
    pub(crate) const CHECKED: i32 = 2;
}

/// The length of the header before each page in a write-ahead log.
const FRAME_HEADER: usize = 24;

/// Registers the VFS, unless it already is.
pub(crate) fn register() -> rusqlite::Result<()> {
    static RESULT: OnceLock<c_int> = OnceLock::new();
    match *RESULT.get_or_init(install) {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

fn install() -> c_int {
    // SAFETY: a null name asks for the default VFS.
    let inner = unsafe { ffi::sqlite3_vfs_find(ptr::null()) };
    // SAFETY: a VFS is never freed. Versions before 3 have a shorter struct, of which only the
    // version may be read; no platform that SQLite supports has one.
    if inner.is_null() || unsafe { (*inner).iVersion } < 3 {
        return ffi::SQLITE_ERROR;
    }
    // SAFETY: as above.
    let mut vfs = unsafe { *inner };
    let own = c_int::try_from(size_of::<File>()).ok();
    let Some(size) = own.and_then(|own| own.checked_add(vfs.szOsFile)) else {
        return ffi::SQLITE_ERROR;
    };
    vfs.iVersion = 3;
    vfs.szOsFile = size;
    vfs.pNext = ptr::null_mut();
    vfs.zName = NAME.as_ptr();
    vfs.pAppData = inner.cast();
    vfs.xOpen = Some(open);
    forward_all(&mut vfs);
    // SAFETY: the struct is complete and lives as long as the process.
    unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(vfs)), 0) }
}

/// A file of this VFS. The file of the wrapped VFS follows it in memory.
#[repr(C)]
struct File {
    base: ffi::sqlite3_file,
    role: Role,
}

enum Role {
    Database(Database),
    Wal(Wal),
}

/// A write-ahead log. It is written unchanged, but a first page that would change the format of the
/// database is refused, see [`Header::may_become`].
struct Wal {
    database: *const File,
    /// Whether the next write is the first page of the database.
    first_page: bool,
}

impl Wal {
    /// Returns whether bytes may be written to the log.
    fn admits(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() == FRAME_HEADER {
            self.first_page = bytes.starts_with(&[0, 0, 0, 1]);
            return true;
        }
        if !std::mem::take(&mut self.first_page) || bytes.len() < header::MIN_PAGE {
            return true;
        }
        // SAFETY: the database is open for longer than its log, and the thread that writes the log
        // is the one that may use it.
        match unsafe { &(*self.database).role } {
            Role::Database(database) => {
                Header::may_become(database.known_header(), Header::parse(bytes))
            }
            Role::Wal(_) => true,
        }
    }
}

/// Returns the wrapped VFS.
///
/// # Safety
///
/// `vfs` is the struct that [`install`] made.
unsafe fn inner_vfs(vfs: *mut ffi::sqlite3_vfs) -> *mut ffi::sqlite3_vfs {
    // SAFETY: by the caller's promise.
    unsafe { (*vfs).pAppData.cast() }
}

/// Returns the file of the wrapped VFS that belongs to a file of this one.
///
/// # Safety
///
/// `file` has the size that the VFS asks for.
unsafe fn inner_file(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: that size is the sum of both. SQLite aligns the memory to eight bytes, which is enough
    // for any file, and the size of a `File` is a multiple of its alignment.
    unsafe { file.cast::<File>().add(1).cast() }
}

/// Returns the two halves of a file.
///
/// # Safety
///
/// `file` has been opened by [`open`] as a [`File`], and the result is not used after it is closed.
unsafe fn parts<'a>(file: *mut ffi::sqlite3_file) -> (&'a mut Role, InnerFile) {
    // SAFETY: `open` has initialised both, and SQLite does not use a file from two threads at once.
    // The inner file is not part of the `File`, so the two do not overlap.
    unsafe { (&mut (*file.cast::<File>()).role, InnerFile::new(inner_file(file))) }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls this with the VFS and with memory for a file of `szOsFile` bytes. The
    // parameters of a URI follow the name, so the pointer is handed on as it is.
    unsafe {
        (*file).pMethods = ptr::null();
        let vfs = inner_vfs(vfs);
        let Some(open) = (*vfs).xOpen else { return ffi::SQLITE_CANTOPEN };
        let role = if flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
            Role::Database(Database::default())
        } else if let Some(database) = database_of_wal(name, flags) {
            Role::Wal(Wal { database, first_page: false })
        } else {
            return open(vfs, name, file, flags, out);
        };
        let inner = inner_file(file);
        (*inner).pMethods = ptr::null();
        let code = open(vfs, name, inner, flags, out);
        let Some(methods) = (*inner).pMethods.as_ref() else {
            return if code == ffi::SQLITE_OK { ffi::SQLITE_CANTOPEN } else { code };
        };
        if code != ffi::SQLITE_OK {
            // A file that has methods must be closed even if it could not be opened.
            if let Some(close) = methods.xClose {
                close(inner);
            }
            return code;
        }
        if let Some(control) = methods.xFileControl {
            let mut none: i64 = 0;
            control(inner, ffi::SQLITE_FCNTL_MMAP_SIZE, (&raw mut none).cast());
        }
        let shared = methods.iVersion >= 2 && methods.xShmMap.is_some();
        let own = if shared { &raw const SHARED } else { &raw const UNSHARED };
        ptr::write(file.cast(), File { base: ffi::sqlite3_file { pMethods: own }, role });
        ffi::SQLITE_OK
    }
}

/// Returns the database that a write-ahead log belongs to. Returns `None` for other files.
///
/// # Safety
///
/// These are the arguments of `xOpen`.
unsafe fn database_of_wal(name: ffi::sqlite3_filename, flags: c_int) -> Option<*const File> {
    if flags & ffi::SQLITE_OPEN_WAL == 0 || name.is_null() {
        return None;
    }
    // SAFETY: SQLite made the name, so it can find the database by it, which is open.
    unsafe {
        let database = ffi::sqlite3_database_file_object(name);
        let methods = (*database).pMethods;
        (ptr::eq(methods, &raw const SHARED) || ptr::eq(methods, &raw const UNSHARED))
            .then_some(database.cast_const().cast())
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the file is open, and this is its last use.
    unsafe {
        let inner = inner_file(file);
        let code = (*(*inner).pMethods).xClose.map_or(ffi::SQLITE_OK, |close| close(inner));
        ptr::drop_in_place(&raw mut (*file.cast::<File>()).role);
        code
    }
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: the file is open.
    let (role, inner) = unsafe { parts(file) };
    // SAFETY: SQLite passes a buffer of this size.
    let code = unsafe { inner.read_raw(buffer, amount, offset) };
    let (Role::Database(database), Ok(len)) = (role, usize::try_from(amount)) else { return code };
    let accepted = match code {
        ffi::SQLITE_OK => {
            // SAFETY: the buffer has this size, the read has filled it, and nobody else uses it
            // before SQLite has it back.
            let bytes = unsafe { std::slice::from_raw_parts_mut(buffer.cast(), len) };
            database.has_valid_checksum(inner, bytes, offset)
        }
        ffi::SQLITE_IOERR_SHORT_READ => database.accepts_short(inner, len, offset),
        _ => true,
    };
    if accepted { code } else { crate::MISMATCH }
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    amount: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: the file is open.
    let (role, inner) = unsafe { parts(file) };
    let Ok(len) = usize::try_from(amount) else { return ffi::SQLITE_IOERR_WRITE };
    // SAFETY: SQLite passes a buffer of this size and does not change it during the call.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.cast(), len) };
    match role {
        Role::Database(database) => database.write(inner, bytes, offset),
        Role::Wal(wal) => {
            if wal.admits(bytes) {
                inner.write(bytes, offset)
            } else {
                ffi::SQLITE_IOERR_WRITE
            }
        }
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size: i64) -> c_int {
    // SAFETY: the file is open.
    unsafe {
        if let (Role::Database(database), _) = parts(file) {
            database.truncated(size);
        }
        forward_truncate(file, size)
    }
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, level: c_int) -> c_int {
    // SAFETY: the file is open.
    unsafe {
        if let (Role::Database(database), _) = parts(file) {
            database.forget_end();
        }
        forward_lock(file, level)
    }
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    op: c_int,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the file is open, and the argument is of the type that the operation has.
    unsafe {
        if let (Role::Database(database), inner) = parts(file) {
            match op {
                KIND => {
                    *argument.cast::<c_int>() = match database.header(inner) {
                        None => kind::EMPTY,
                        Some(header) if header.checked => kind::CHECKED,
                        Some(_) => kind::PLAIN,
                    };
                    return ffi::SQLITE_OK;
                }
                // Pages in mapped memory would be used without a check.
                ffi::SQLITE_FCNTL_MMAP_SIZE => {
                    *argument.cast::<i64>() = 0;
                    return ffi::SQLITE_OK;
                }
                // Space that is allocated ahead has pages without checksums in it.
                ffi::SQLITE_FCNTL_CHUNK_SIZE => return ffi::SQLITE_OK,
                ffi::SQLITE_FCNTL_CKPT_START => database.set_checkpoint(true),
                ffi::SQLITE_FCNTL_CKPT_DONE => database.set_checkpoint(false),
                _ => {}
            }
        }
        forward_file_control(file, op, argument)
    }
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the file is open.
    let (all, (role, inner)) = unsafe { (forward_device_characteristics(file), parts(file)) };
    if let Role::Database(database) = role
        && database.header(inner).is_none_or(|header| header.checked)
    {
        // Parts of pages cannot be checked, so SQLite must read whole ones.
        return all & !ffi::SQLITE_IOCAP_SUBPAGE_READ;
    }
    all
}

/// Defines methods of a file that call those of the wrapped file.
macro_rules! forward_file {
    ($($name:ident = $method:ident ($($argument:ident: $type:ty),*) or $default:expr;)*) => { $(
        unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file, $($argument: $type),*) -> c_int {
            // SAFETY: the file is open, so the wrapped one is. SQLite's arguments are handed on.
            unsafe {
                let inner = inner_file(file);
                (*(*inner).pMethods).$method.map_or($default, |method| method(inner, $($argument),*))
            }
        }
    )* };
}

forward_file! {
    forward_truncate = xTruncate(size: i64) or ffi::SQLITE_IOERR_TRUNCATE;
    sync = xSync(flags: c_int) or ffi::SQLITE_OK;
    file_size = xFileSize(size: *mut i64) or ffi::SQLITE_IOERR_FSTAT;
    forward_lock = xLock(level: c_int) or ffi::SQLITE_OK;
    unlock = xUnlock(level: c_int) or ffi::SQLITE_OK;
    check_reserved_lock = xCheckReservedLock(out: *mut c_int) or ffi::SQLITE_IOERR_CHECKRESERVEDLOCK;
    forward_file_control = xFileControl(op: c_int, argument: *mut c_void) or ffi::SQLITE_NOTFOUND;
    sector_size = xSectorSize() or 0;
    forward_device_characteristics = xDeviceCharacteristics() or 0;
    shm_map = xShmMap(page: c_int, size: c_int, extend: c_int, out: *mut *mut c_void)
        or ffi::SQLITE_IOERR_SHMMAP;
    shm_lock = xShmLock(offset: c_int, count: c_int, flags: c_int) or ffi::SQLITE_IOERR_SHMLOCK;
    shm_unmap = xShmUnmap(delete: c_int) or ffi::SQLITE_OK;
}

unsafe extern "C" fn shm_barrier(file: *mut ffi::sqlite3_file) {
    // SAFETY: the file is open, so the wrapped one is.
    unsafe {
        let inner = inner_file(file);
        if let Some(barrier) = (*(*inner).pMethods).xShmBarrier {
            barrier(inner);
        }
    }
}

/// The methods of files without shared memory, which cannot use a write-ahead log.
static UNSHARED: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// The methods of files with shared memory. Version 2 leaves out memory-mapped reads.
static SHARED: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    ..UNSHARED
};

/// Defines methods of the VFS that call those of the wrapped one, and [`forward_all`].
macro_rules! forward_vfs {
    ($($name:ident = $method:ident ($($argument:ident: $type:ty),*) -> $result:ty, or $default:expr;)*) => {
        $(
            unsafe extern "C" fn $name(vfs: *mut ffi::sqlite3_vfs, $($argument: $type),*) -> $result {
                // SAFETY: SQLite calls this with the VFS. Its arguments are handed on.
                unsafe {
                    let inner = inner_vfs(vfs);
                    (*inner).$method.map_or($default, |method| method(inner, $($argument),*))
                }
            }
        )*

        /// Replaces the methods of the wrapped VFS with those of this one.
        fn forward_all(vfs: &mut ffi::sqlite3_vfs) {
            $( vfs.$method = vfs.$method.map(|_| $name as _); )*
        }
    };
}

/// A function in a shared library, as `xDlSym` returns it.
type Symbol = Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)>;

forward_vfs! {
    delete = xDelete(name: *const c_char, sync: c_int) -> c_int, or ffi::SQLITE_IOERR_DELETE;
    access = xAccess(name: *const c_char, flags: c_int, out: *mut c_int) -> c_int,
        or ffi::SQLITE_IOERR_ACCESS;
    full_path = xFullPathname(name: *const c_char, size: c_int, out: *mut c_char) -> c_int,
        or ffi::SQLITE_CANTOPEN;
    dl_open = xDlOpen(name: *const c_char) -> *mut c_void, or ptr::null_mut();
    dl_error = xDlError(size: c_int, message: *mut c_char) -> (), or ();
    dl_sym = xDlSym(library: *mut c_void, name: *const c_char) -> Symbol, or None;
    dl_close = xDlClose(library: *mut c_void) -> (), or ();
    randomness = xRandomness(size: c_int, out: *mut c_char) -> c_int, or 0;
    sleep = xSleep(microseconds: c_int) -> c_int, or 0;
    current_time = xCurrentTime(out: *mut f64) -> c_int, or ffi::SQLITE_ERROR;
    last_error = xGetLastError(size: c_int, message: *mut c_char) -> c_int, or 0;
    current_time_64 = xCurrentTimeInt64(out: *mut i64) -> c_int, or ffi::SQLITE_ERROR;
    set_call = xSetSystemCall(name: *const c_char, call: ffi::sqlite3_syscall_ptr) -> c_int,
        or ffi::SQLITE_NOTFOUND;
    get_call = xGetSystemCall(name: *const c_char) -> ffi::sqlite3_syscall_ptr, or None;
    next_call = xNextSystemCall(name: *const c_char) -> *const c_char, or ptr::null();
}
