//! The bundled sample home: made-up sessions to explore before you have any of your own.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use tempfile::TempDir;

use crate::interrupt;

/// The time that `--demo` pins the clock to, at which the sample sessions are recent.
pub(crate) const NOW: &str = "2026-08-14T16:30:00Z";

/// Every file below `demo/home`: its path, with `/` as the separator, and its content.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/demo.rs"));

/// Unpacks the sample into a temporary folder, which is removed when the value is dropped.
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
