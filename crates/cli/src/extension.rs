//! Runs extensions: `backstory NAME` starts the program `backstory-NAME`, as git and cargo start theirs.
//!
//! Extensions are separate programs because they have many dependencies that most people do not need.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::context::{self, Context};
use crate::error::{Exit, Failure, Result};
use crate::options::Global;
use crate::output::Printer;
use crate::program;

/// The extensions in the repository of this program.
pub(crate) const KNOWN: [(&str, &str); 2] = [
    ("share", "Keep one history on several machines, through a shared folder (extension)"),
    ("lake", "Send usage to a team's database or warehouse, and report on it (extension)"),
];

/// A command line that an extension answers.
#[derive(Debug)]
pub(crate) struct Extension {
    pub(crate) global: Global,
    pub(crate) name: String,
    pub(crate) arguments: Vec<OsString>,
}

/// Returns whether a name is that of an extension, installed or known.
pub(crate) fn exists(name: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == name) || find(name).is_some()
}

/// Returns the program of an extension: beside this program, or else on `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.starts_with('-') || !name.chars().all(is_plain) {
        return None;
    }
    let program = format!("backstory-{name}");
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent);
    beside
        .and_then(|folder| program::on_path(folder.as_os_str(), &program))
        .or_else(|| program::on_path(&context::search_path()?, &program))
}

impl Extension {
    /// Runs the extension, which learns from the environment which archive to use and how to call this
    /// program.
    pub(crate) fn run(&self, printer: &mut Printer) -> Result<ExitCode> {
        let Self { global, name, arguments } = self;
        let file = find(name).ok_or_else(|| self.not_installed())?;
        let ctx = Context::new(global)?;
        printer.adopt(ctx.color, ctx.env.home.as_deref(), &ctx.follow_up);
        let mut command = Command::new(&file);
        command.args(arguments);
        let own = std::env::current_exe().ok();
        for (name, value) in [
            ("BACKSTORY_PROGRAM", own.as_ref()),
            ("BACKSTORY_ARCHIVE", ctx.own_archive.as_ref()),
            ("BACKSTORY_CONFIG", ctx.config.as_ref().filter(|file| file.exists())),
        ] {
            match value {
                Some(value) => {
                    command.env(name, std::path::absolute(value).unwrap_or(value.clone()))
                }
                None => command.env_remove(name),
            };
        }
        let status = program::replace(&mut command).map_err(|error| {
            Failure::new(format!("cannot run `{}`", ctx.show(&file))).because(error)
        })?;
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        Ok(ExitCode::from(code.unwrap_or(Exit::Failed as u8)))
    }

    fn not_installed(&self) -> Failure {
        let repository = env!("CARGO_PKG_REPOSITORY");
        let name = &self.name;
        Failure::new(format!("the extension `backstory-{name}` is not installed"))
            .hint(format!("install it: `cargo install --git {repository} backstory-{name}`"))
    }
}
