//! Detects a damaged write-ahead log.
//!
//! SQLite reads its log up to the first frame that does not verify and silently drops the rest.
//! That is right after a crash in the middle of a write, and wrong if committed frames were damaged
//! or cut off later. The format is described in <https://sqlite.org/walformat.html>.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;
#[cfg(unix)]
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use super::temporary::with_ending;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// Two copies of the header of the index.
const INDEX_HEADER: usize = 96;

/// The number of attempts to read a log that seems damaged but keeps changing.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Returns whether the log next to a database has lost frames that were written completely.
///
/// While another process writes, the parts that are read first and last may not belong together. A
/// log therefore counts as damaged only if it is still the same after a pause.
pub(super) fn is_damaged(database: &Path) -> io::Result<bool> {
    let mut before = None;
    for _ in 0..TRIES {
        let state = state(database);
        if !seems_damaged(database)? {
            return Ok(false);
        }
        if before.as_ref() == Some(&state) {
            return Ok(true);
        }
        before = Some(state);
        thread::sleep(PAUSE);
    }
    Ok(true)
}

/// Returns everything that a write changes: the size and time of the log, and the header of its
/// index.
fn state(database: &Path) -> (Option<(u64, Option<SystemTime>)>, [u8; INDEX_HEADER]) {
    let log = fs::metadata(with_ending(database, "-wal")).ok();
    let log = log.map(|log| (log.len(), log.modified().ok()));
    (log, index_header(database).unwrap_or([0; INDEX_HEADER]))
}

fn seems_damaged(database: &Path) -> io::Result<bool> {
    let file = match File::open(with_ending(database, "-wal")) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(false);
    }
    let mut input = BufReader::with_capacity(1 << 16, file);
    let mut header = [0; HEADER];
    if input.read_exact(&mut header).is_err() {
        return Ok(length < HEADER as u64 && index_knows_frames(database, None, 0));
    }
    let big_endian = match word(&header, 0) {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return Ok(true),
    };
    let mut sum = Sum { big_endian, a: 0, b: 0 };
    sum.add(&header[..24]);
    if (sum.a, sum.b) != (word(&header, 24), word(&header, 28)) {
        return Ok(true);
    }
    let page = word(&header, 8) as usize;
    if !(512..=65536).contains(&page) || !page.is_power_of_two() {
        return Ok(true);
    }
    let salts = [word(&header, 16), word(&header, 20)];
    let mut frame = vec![0; FRAME_HEADER + page];
    let mut frames = 0;
    while input.read_exact(&mut frame).is_ok() {
        let is_of_this_log = [word(&frame, 8), word(&frame, 12)] == salts;
        let mut next = sum;
        next.add(&frame[..8]);
        next.add(&frame[FRAME_HEADER..]);
        if !is_of_this_log || (next.a, next.b) != (word(&frame, 16), word(&frame, 20)) {
            break;
        }
        sum = next;
        frames += 1;
    }
    // The rest is left over from an earlier log or was never finished, so it has no frame of this
    // log.
    while input.read_exact(&mut frame).is_ok() {
        if [word(&frame, 8), word(&frame, 12)] == salts {
            return Ok(true);
        }
    }
    Ok(index_knows_frames(database, Some(salts), frames))
}

/// Returns whether the index of the log, which survives a killed process, lists more frames than
/// exist.
fn index_knows_frames(database: &Path, salts: Option<[u32; 2]>, frames: u32) -> bool {
    // If the two copies of its header differ, it was being written.
    let Some(index) = index_header(database).filter(|index| index[..48] == index[48..]) else {
        return false;
    };
    let native =
        |at: usize| u32::from_ne_bytes([index[at], index[at + 1], index[at + 2], index[at + 3]]);
    let is_same_log = salts.is_none_or(|salts| [word(&index, 32), word(&index, 36)] == salts);
    index[12] == 1 && is_same_log && native(16) > frames
}

/// Index files that were read. They stay open: closing one would release the locks that SQLite holds on it
/// for every other connection of this process.
#[cfg(unix)]
static OPENED: Mutex<Vec<File>> = Mutex::new(Vec::new());

#[cfg(unix)]
fn index_header(database: &Path) -> Option<[u8; INDEX_HEADER]> {
    use std::os::unix::fs::{FileExt, MetadataExt};

    let path = with_ending(database, "-shm");
    let identity = |about: &fs::Metadata| (about.dev(), about.ino());
    let wanted = identity(&fs::metadata(&path).ok()?);
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    // Nobody else can open a file that was deleted, so its locks do not matter.
    opened.retain(|file| file.metadata().is_ok_and(|about| about.nlink() > 0));
    let is_it = |file: &File| file.metadata().is_ok_and(|about| identity(&about) == wanted);
    if !opened.iter().any(is_it) {
        opened.push(File::open(&path).ok()?);
    }
    let mut header = [0; INDEX_HEADER];
    opened.iter().find(|file| is_it(file))?.read_exact_at(&mut header, 0).ok()?;
    Some(header)
}

#[cfg(not(unix))]
fn index_header(database: &Path) -> Option<[u8; INDEX_HEADER]> {
    let mut header = [0; INDEX_HEADER];
    File::open(with_ending(database, "-shm")).ok()?.read_exact(&mut header).ok()?;
    Some(header)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// The log's running checksum.
#[derive(Clone, Copy)]
struct Sum {
    big_endian: bool,
    a: u32,
    b: u32,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let read = |word: &[u8; 4]| {
            if self.big_endian { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) }
        };
        let (mut a, mut b) = (self.a, self.b);
        for [x, y] in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
            a = a.wrapping_add(read(x)).wrapping_add(b);
            b = b.wrapping_add(read(y)).wrapping_add(a);
        }
        (self.a, self.b) = (a, b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::open::open_file;

    #[cfg(unix)]
    #[test]
    fn the_index_is_opened_once_and_never_closed() {
        use std::os::unix::fs::MetadataExt;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let db = rusqlite::Connection::open(&path).unwrap();
        db.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
        let index = fs::metadata(with_ending(&path, "-shm")).unwrap();
        for _ in 0..3 {
            assert!(index_header(&path).is_some());
        }
        let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |file: &&File| file.metadata().is_ok_and(|about| about.ino() == index.ino());
        assert_eq!(opened.iter().filter(is_it).count(), 1);
    }

    #[test]
    fn a_log_that_is_being_written_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.db");
        let db = open_file(&path).unwrap();
        // Checkpoints are frequent, so that the log restarts often.
        let setup = "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
                     PRAGMA wal_autocheckpoint = 30; CREATE TABLE t (x);";
        db.execute_batch(setup).unwrap();
        let is_done = AtomicBool::new(false);
        let (path, is_done) = (&path, &is_done);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                while !is_done.load(Ordering::Relaxed) {
                    db.execute("INSERT INTO t VALUES (randomblob(20000))", []).unwrap();
                }
            });
            let found =
                (0..4000).map(|_| is_damaged(path)).find(|found| !matches!(found, Ok(false)));
            is_done.store(true, Ordering::Relaxed);
            assert!(found.is_none(), "{found:?}");
        });
    }
}
