//! The web app: everything that backstory can answer, as pages in a browser on the same machine.
//!
//! Pages are rendered here from the library's answers, on a few threads that each have a connection to the
//! archive ([`readers`](crate)); the asynchronous part only moves bytes. What the program alone can do
//! (documents of the command line, exports, names and tags) is a [`Program`] that the caller provides. The
//! caller also keeps the archive up to date and publishes every change through a [`Feed`].
//!
//! Nothing is reachable without the token that [`Server::url`] contains: see `guard`.
//!
//! `server` routes requests, `connection` carries them, `readers` and `feed` provide the data. A page in `pages` is
//! made from an `app` and a `scope` (period, agent, project), inside the frame of `layout`, with the charts of `chart`.
//! `live` streams changes, and `api` serves the documents of the command line.

#![warn(missing_docs)]

mod api;
mod app;
mod assets;
mod chart;
mod connection;
mod feed;
mod guard;
mod layout;
mod live;
mod pages;
mod query;
mod readers;
mod reply;
mod scope;
mod server;
mod words;

use std::path::PathBuf;

use backstory_core::PriceTable;
use backstory_core::env::Env;
use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use feed::{Feed, Snapshot};
pub use server::{Options, Server, StartError};
pub use words::session_path;

/// The archive to show, and everything that belongs to it.
pub struct Site {
    /// The archive.
    pub archive: PathBuf,
    /// The prices.
    pub prices: PriceTable,
    /// The time zone of days and times.
    pub zone: TimeZone,
    /// The name of the time zone.
    pub zone_name: String,
    /// The environment that agents' settings are looked up in.
    pub env: Env,
    /// Returns the current time.
    pub clock: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// Whether the sessions are the bundled sample.
    pub is_demo: bool,
    /// The program.
    pub program: Box<dyn Program>,
}

/// The commands of the program, run on behalf of a request.
pub trait Program: Send + Sync {
    /// Runs a command and returns what it prints. `arguments` are the name and the value of each option or
    /// positional argument; only those of the command itself are accepted.
    fn run(
        &self,
        command: &str,
        arguments: &[(String, String)],
        json: bool,
    ) -> Result<Vec<u8>, Refusal>;
}

/// The reason why a command was not run, or failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Whether nothing matched, or the request is wrong, or the program failed.
    pub kind: RefusalKind,
    /// The reason, for people.
    pub what: String,
}

/// The kind of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// Nothing matches.
    Nothing,
    /// The command or its arguments are wrong.
    Invalid,
    /// The command failed.
    Failed,
}
