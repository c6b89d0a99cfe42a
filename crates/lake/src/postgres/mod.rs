//! The lake in PostgreSQL: `connect` (TLS and passwords), `migrate` (tables, roles and views), `push` (what changed),
//! `report` (answers computed in the database) and `admin` (what administrators remove). `docs/lake.md` describes it
//! for administrators.

mod admin;
mod connect;
mod migrate;
mod password;
mod push;
pub(crate) mod report;
mod stage;

use std::io::Write;

pub(crate) use migrate::sql;

use backstory_core::time;
use clap::{Args, Subcommand};
use jiff::tz::TimeZone;
use postgres::Client;

use crate::error::{Error, Result};
use crate::receipt::Receipt;
use crate::rows::Outgoing;
use crate::sending::Sending;

/// The commands of this module.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Count tokens and cost in PostgreSQL, as `backstory usage` does
    Usage(report::UsageReport),
    /// List the sessions in PostgreSQL, as `backstory sessions` does
    Sessions(report::Sessions),
    /// Count the tool calls in PostgreSQL, as `backstory tools` does
    Tools(report::Tools),
    /// Create the tables in PostgreSQL, or update them (for administrators)
    Migrate(Database),
    /// Remove a machine and its rows from PostgreSQL (for administrators)
    Retire(Retire),
    /// Remove old rows from PostgreSQL, for good (for administrators)
    Purge(Purge),
}

#[derive(Debug, Args)]
pub(crate) struct Database {
    /// The database: `postgres://USER@HOST/DATABASE`
    #[arg(value_name = "URL", env = "BACKSTORY_LAKE")]
    url: String,
    /// Allow connections without TLS to other machines
    #[arg(long)]
    insecure: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Retire {
    /// The id of the machine
    machine: String,
    #[command(flatten)]
    database: Database,
}

#[derive(Debug, Args)]
pub(crate) struct Purge {
    /// Remove everything before the beginning of this day in UTC: 2026-08-01, 2026-08, 90d
    #[arg(long, value_name = "DATE")]
    before: String,
    #[command(flatten)]
    database: Database,
}

/// Runs a command.
pub(crate) fn run(command: &Command, out: &mut dyn Write) -> Result<()> {
    match command {
        Command::Usage(args) => return report::usage(args, out),
        Command::Sessions(args) => return report::sessions(args, out),
        Command::Tools(args) => return report::tools(args, out),
        Command::Migrate(database) => match &*migrate::migrate(&mut database.connect()?)? {
            [] => writeln!(out, "the tables are up to date")?,
            names => writeln!(out, "migrated: {}", names.join(", "))?,
        },
        Command::Retire(args) => {
            let rows = admin::retire(&mut args.database.open()?, &args.machine)?;
            writeln!(out, "{rows} rows of `{}` removed", args.machine)?;
        }
        Command::Purge(args) => {
            let now = crate::now().to_zoned(TimeZone::UTC);
            let (before, _) = time::parse_period(&args.before, &now).ok_or_else(|| {
                let (word, forms) = (&args.before, time::FORMS);
                Error::target(format!("`--before`: `{word}` is not a valid time; write {forms}"))
            })?;
            let rows = admin::purge(&mut args.database.open()?, before)?;
            writeln!(out, "{rows} rows from before {before} removed")?;
        }
    }
    Ok(())
}

impl Database {
    fn connect(&self) -> Result<Client> {
        connect::connect(&self.url, self.insecure, &crate::env)
    }

    /// Connects to a database that has the schema of this program.
    fn open(&self) -> Result<Client> {
        let mut client = self.connect()?;
        migrate::require(&mut client)?;
        Ok(client)
    }
}

/// Writes what changed since the last push, or prints it.
pub(crate) fn push(
    outgoing: &Outgoing<'_>,
    sending: &Sending,
    receipt: &mut Receipt,
    out: &mut dyn Write,
) -> Result<()> {
    let database = Database { url: sending.url.clone(), insecure: sending.insecure };
    // Tests make batches smaller.
    let batch_size = crate::env("BACKSTORY_BATCH").and_then(|size| size.parse().ok());
    let mut push = push::Push { client: database.connect()?, receipt, batch_size };
    push.check_login()?;
    migrate::require(&mut push.client)?;
    if sending.dry_run { push.dry_run(outgoing, out) } else { push.run(outgoing) }
}
