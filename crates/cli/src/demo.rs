//! The bundled sample home: made-up sessions to look around in before there are any of one's own.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use tempfile::TempDir;

use crate::interrupt;

/// The moment at which the sample sessions are fresh.
pub(crate) const NOW: &str = "2026-08-14T16:30:00Z";

/// Every file below `demo/home`: its path with `/`, and what is in it.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/demo.rs"));

/// Unpacks the sample into a folder that goes away with the value.
pub(crate) fn unpack(now: SystemTime) -> io::Result<TempDir> {
    let make = || {
        let folder = tempfile::Builder::new().prefix("backstory-demo-").tempdir()?;
        for (path, content) in FILES {
            write(&folder.path().join(path), content, now)?;
        }
        Ok(folder)
    };
    interrupt::make(make, |folder| Some(folder.path()))
}

fn write(path: &Path, content: &[u8], modified: SystemTime) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create(path)?;
    file.write_all(content)?;
    file.set_modified(modified)
}
