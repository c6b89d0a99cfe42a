//! `backstory-share`, an extension of `backstory`: keeps one history on several machines.
//!
//! Each machine writes *parcels* into a shared folder: encrypted files with the captured sessions of that machine. The
//! others merge them into their archives. `exchange` is one run, `plan` chooses the files for a parcel, `folder` names
//! and places files, `key` encrypts them, and `state` remembers earlier runs.

mod args;
mod ask;
mod error;
mod exchange;
mod folder;
mod key;
mod plan;
mod program;
mod state;
mod work;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use backstory_core::clean;
use backstory_core::number::{bytes, plural};
use clap::Parser as _;
use serde::Serialize;

use args::Args;
use error::{Failure, Result};
use exchange::{Exchange, Report};
use key::Key;
use program::Program;
use work::Work;

/// The exit code of a failure, as of all commands of `backstory`.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    work::listen();
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(FAILED)
        }
    }
}

fn run(args: &Args) -> Result<()> {
    if let Some(file) = &args.new_key {
        key::create(file)?;
        note(args, &format!("Created `{}`.", file.display()));
        note(args, "Copy it to the other machines, but not through the shared folder.");
        return Ok(());
    }
    let program = Program::new(args)?;
    let folder = shared_folder(args.folder.as_deref().unwrap_or(Path::new("")))?;
    let secrets = [args.key.as_deref(), args.passphrase_file.as_deref(), Some(program.archive())];
    for file in secrets.into_iter().flatten() {
        keep_out(file, &folder)?;
    }
    let key = match (&args.key, &args.passphrase_file) {
        (Some(file), _) => Key::read(file)?,
        (_, Some(file)) => Key::read_passphrase(file)?,
        _ => ask::passphrase(folder::parcels(&folder).is_ok_and(|found| found.is_empty()))?,
    };
    program.sync()?;
    let work = Work::begin(program.archive(), || {
        note(args, "Waiting for another `backstory share` to finish.");
    })?;
    let say = |what: &str| {
        if std::io::stderr().is_terminal() {
            note(args, what);
        }
    };
    let exchange = Exchange { folder, key, program: &program, work, say: &say };
    let report = exchange.run()?;
    print(args, &report)
}

/// Returns the folder, which must exist: a drive that is not mounted must not become a folder on this disk.
fn shared_folder(folder: &Path) -> Result<PathBuf> {
    let what = || Failure::new(format!("cannot use the folder `{}`", folder.display()));
    let found = folder.canonicalize().map_err(|error| {
        what().because(error).hint("create it, or mount the drive that it is on")
    })?;
    if found.is_dir() { Ok(found) } else { Err(what().because("it is not a folder")) }
}

/// Fails if a file with a secret is inside the shared folder.
fn keep_out(file: &Path, folder: &Path) -> Result<()> {
    let real = file.canonicalize().or_else(|_| std::path::absolute(file));
    if real.is_ok_and(|file| file.starts_with(folder)) {
        return Err(Failure::new(format!("`{}` is inside the shared folder", file.display()))
            .hint("move it elsewhere: whoever reads the folder could read everything"));
    }
    Ok(())
}

/// `backstory.share/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    report: &'a Report,
}

fn print(args: &Args, report: &Report) -> Result<()> {
    let mut err = anstream::stderr().lock();
    for problem in &report.problems {
        // Warnings are worth a try even if nobody reads them.
        let _ = writeln!(err, "warning: {}", clean::line(problem));
    }
    drop(err);
    let cannot = |error: std::io::Error| Failure::new("cannot write the answer").because(error);
    if args.json {
        let document = Document { schema: "backstory.share/1", report };
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        return writeln!(anstream::stdout(), "{text}").map_err(cannot);
    }
    for (machine, files) in report.received.iter().filter(|(_, files)| **files > 0) {
        note(args, &format!("Received {} from {machine}.", plural(*files, "file", "files")));
    }
    let sent = match (report.sent, report.bytes) {
        (0, 0) => "Nothing new to send".to_owned(),
        (files, sent) => format!("Sent {} ({})", plural(files, "file", "files"), bytes(sent)),
    };
    note(args, &format!("{sent}; this machine has {} in the folder.", bytes(report.parcel_bytes)));
    Ok(())
}

/// Prints a sentence, unless the user asked for quiet or for a document.
fn note(args: &Args, text: &str) {
    if !args.quiet && !args.json {
        let _ = writeln!(anstream::stderr(), "{}", clean::line(text));
    }
}
