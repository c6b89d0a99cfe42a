//! Runs `backstory` itself, which knows the user's settings: what to read, and what to keep out.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::args::Args;
use crate::error::{Failure, Result};

pub(crate) struct Program {
    file: PathBuf,
    archive: PathBuf,
    config: Option<PathBuf>,
    is_quiet: bool,
}

/// `backstory.archive-merge/1`
#[derive(Debug, Deserialize)]
pub(crate) struct Merged {
    pub(crate) files: u64,
    pub(crate) lost: Vec<String>,
    pub(crate) doubtful: Vec<String>,
    pub(crate) refused: Vec<String>,
}

impl Program {
    pub(crate) fn new(args: &Args) -> Result<Self> {
        let archive = args.archive.clone().ok_or_else(|| {
            Failure::new("there is no archive to share")
                .hint("run it as `backstory share`, which names the archive")
        })?;
        let file = args.program.clone().unwrap_or_else(|| "backstory".into());
        Ok(Self { file, archive, config: args.config.clone(), is_quiet: args.quiet || args.json })
    }

    pub(crate) fn archive(&self) -> &Path {
        &self.archive
    }

    /// Reads and captures everything new on this machine.
    pub(crate) fn sync(&self) -> Result<()> {
        self.run(&["sync".as_ref()]).map(|_| ())
    }

    /// Imports a parcel.
    pub(crate) fn merge(&self, parcel: &Path) -> Result<Merged> {
        let answer =
            self.run(&["--json".as_ref(), "archive".as_ref(), "merge".as_ref(), parcel])?;
        serde_json::from_slice(&answer).map_err(|error| {
            Failure::new("the answer of `backstory archive merge` cannot be understood")
                .because(error)
                .hint("`backstory` and `backstory-share` must have the same version")
        })
    }

    /// Runs a command, which prints its own errors, and returns its answer.
    fn run(&self, words: &[&Path]) -> Result<Vec<u8>> {
        let mut command = Command::new(&self.file);
        command.arg("--archive").arg(&self.archive);
        if let Some(config) = &self.config {
            command.arg("--config").arg(config);
        }
        if self.is_quiet {
            command.arg("--quiet");
        }
        command.args(words).stdin(Stdio::null()).stderr(Stdio::inherit());
        let ran = command.output().and_then(|output| {
            if output.status.success() {
                return Ok(output.stdout);
            }
            Err(io::Error::other(output.status.to_string()))
        });
        ran.map_err(|error| {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            Failure::new(format!("`backstory {}` failed", words.join(" "))).because(error)
        })
    }
}
