//! The bundled sample home: made-up sessions to explore before you have any of your own.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use backstory_core::env::Env;
use jiff::Timestamp;
use tempfile::TempDir;

use crate::error::{Failure, Result};
use crate::interrupt;

/// The time that `--demo` pins the clock to, at which the sample sessions are recent.
const NOW: &str = "2026-08-14T16:30:00Z";

/// Every file below `demo/home`: its path, with `/` as the separator, and its content.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/demo.rs"));

/// The sample home, and the time that the clock is pinned to.
pub(crate) struct Demo {
    pub(crate) folder: TempDir,
    pub(crate) now: Timestamp,
}

impl Demo {
    pub(crate) fn new() -> Result<Self> {
        let cannot = "cannot unpack the demo";
        let now: Timestamp =
            NOW.parse().map_err(|error: jiff::Error| Failure::new(cannot).because(error))?;
        let folder = unpack(SystemTime::from(now)).map_err(|error| {
            Failure::new(cannot)
                .because(error)
                .hint("the folder for temporary files must be writable; `TMPDIR` names another one")
        })?;
        Ok(Self { folder, now })
    }

    /// Returns an environment with its own home and none of this machine's settings.
    pub(crate) fn env(&self) -> Env {
        let nowhere = self.folder.path().join("system/settings.json");
        let vars = [("GEMINI_CLI_SYSTEM_SETTINGS_PATH".to_owned(), nowhere.into())];
        Env { home: Some(self.folder.path().to_owned()), vars: vars.into() }
    }
}

/// Unpacks the sample into a temporary folder, which is removed when the value is dropped.
fn unpack(now: SystemTime) -> io::Result<TempDir> {
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
