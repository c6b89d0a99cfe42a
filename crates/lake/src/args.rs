//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::policy::PLACE;
use crate::sending::Sending;

/// Brings the sessions of many machines into one database or lake
#[derive(Debug, Parser)]
#[command(name = "backstory lake", bin_name = "backstory lake", version)]
pub(crate) struct Arguments {
    /// The archive to read
    #[arg(long, env = "BACKSTORY_ARCHIVE", value_name = "FILE", global = true)]
    pub(crate) archive: Option<PathBuf>,
    /// The policy that says what may leave
    #[arg(long, env = "BACKSTORY_POLICY", value_name = "FILE", default_value = PLACE, global = true)]
    pub(crate) policy: PathBuf,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write to a `PostgreSQL` database what changed since the last push
    Push(Sending),
    /// Write Parquet files to a folder or an object store
    Export(Sending),
    /// Print the views for an engine
    Sql(Sql),
    #[command(flatten)]
    Postgres(Box<crate::postgres::Command>),
    /// List earlier pushes and exports
    Receipts,
    /// Print the columns of all tables
    Columns,
}

#[derive(Debug, Args)]
pub(crate) struct Sql {
    /// The engine
    pub(crate) engine: Engine,
    /// Where the Parquet files are
    #[arg(value_name = "URL", default_value = ".")]
    pub(crate) url: String,
    /// Read the files of one month only
    #[arg(long, value_name = "YYYY-MM")]
    pub(crate) month: Option<String>,
    /// The fewest people that a row about people may cover, unless the policy says it
    #[arg(long, value_name = "N")]
    pub(crate) min_group: Option<u32>,
}

/// An engine that reads the lake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    Duckdb,
    Clickhouse,
    Spark,
    Postgresql,
}
