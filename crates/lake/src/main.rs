//! `backstory-lake`: brings the sessions of many machines into one database or lake.
//!
//! `policy` decides what may leave, `project` and `pseudonym` under which names, and `filter` removes secrets and
//! dropped columns. `rows` makes the rows of an archive, one unit at a time, and `tables` is the one list of their
//! columns. `export` writes them as Parquet files, `postgres` to a database, and `sql` has the views of each engine.
//! `receipt` and `dry_run` report what leaves.

mod args;
mod dry_run;
mod error;
mod export;
mod filter;
mod policy;
mod postgres;
mod project;
mod pseudonym;
mod receipt;
mod rows;
mod sending;
mod sql;
mod tables;
mod value;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use args::{Arguments, Command};
use backstory_core::Archive;
use clap::Parser;
use error::{Error, Result};
use jiff::Timestamp;
use policy::Policy;
use receipt::Receipt;
use rows::Outgoing;
use sending::Sending;

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(anstream::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Arguments) -> Result<()> {
    let mut out = std::io::BufWriter::new(anstream::stdout());
    match &args.command {
        Command::Export(sending) => send(args, sending, "export", export::export, &mut out)?,
        Command::Push(sending) => send(args, sending, "push", postgres::push, &mut out)?,
        Command::Postgres(command) => postgres::run(command, &mut out)?,
        Command::Sql(sql) => {
            let policy = || Policy::read(&args.policy, &env).ok();
            let min_group = sql.min_group.or_else(|| Some(policy()?.min_group));
            let min_group = min_group.unwrap_or_else(policy::min_group);
            out.write_all(sql::views(sql, min_group)?.as_bytes())?;
        }
        Command::Receipts => {
            for receipt in receipt::list(archive(args)?)? {
                writeln!(out, "{}", receipt.display())?;
            }
        }
        Command::Columns => out.write_all(sql::columns().as_bytes())?,
    }
    out.flush()?;
    Ok(())
}

/// Sends what may leave, or prints it.
type Send = fn(&Outgoing<'_>, &Sending, &mut Receipt, &mut dyn Write) -> Result<()>;

fn send(
    args: &Arguments,
    sending: &Sending,
    command: &'static str,
    send: Send,
    out: &mut dyn Write,
) -> Result<()> {
    let path = archive(args)?;
    let policy = Policy::read(&args.policy, &env)?;
    // Two exports at once would each replace the objects and the manifest of the other.
    let _lock = if sending.dry_run { None } else { Some(lock(path)?) };
    let archive = Archive::open(path)?;
    let now = now();
    let outgoing = Outgoing::of(&archive, &policy, now)?;
    let mut receipt = Receipt::new(command, &sending.url, &outgoing, &policy, now);
    let sent = send(&outgoing, sending, &mut receipt, out);
    // What left before a failure is on the receipt as well.
    if !sending.dry_run && (sent.is_ok() || !receipt.sent.is_empty()) {
        let rows: u64 = receipt.rows.values().sum();
        let (sent, removed) = (receipt.sent.len(), receipt.removed.len());
        writeln!(out, "{rows} rows of {sent} sessions and other units sent, {removed} removed")?;
        writeln!(out, "receipt: {}", receipt.write(path)?.display())?;
    }
    sent
}

/// Waits for other pushes and exports of an archive to end. Returns the file that is locked.
fn lock(archive: &Path) -> Result<File> {
    let path = archive.with_extension("lake");
    let file = File::options().create(true).write(true).truncate(false).open(&path);
    let lock = |file: File| file.lock().map(|()| file);
    file.and_then(lock).map_err(|error| Error::file(path, error))
}

#[expect(clippy::disallowed_methods, reason = "the one place where the clock is read")]
fn now() -> Timestamp {
    Timestamp::now()
}

#[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns the path of the archive, which must exist: opening another would create it.
fn archive(args: &Arguments) -> Result<&Path> {
    let path = args.archive.as_deref().ok_or_else(|| {
        Error::Policy("which archive? Run `backstory lake`, or give `--archive FILE`".to_owned())
    })?;
    if path.is_file() { Ok(path) } else { Err(Error::file(path, "there is no such archive")) }
}
