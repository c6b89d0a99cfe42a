//! Reads the sessions that coding agents leave on disk: exact token counts and costs, both views of every
//! session, an archive that keeps them for good, search and export.
//!
//! # Where to begin
//!
//! 1. [`Agents::discover`] finds the files of every known agent in their usual places, or
//!    [`Agents::discover_at`] below a path.
//! 2. [`Archive`] reads them: [`Archive::of`] for one run, in memory; [`Archive::open`] and
//!    [`Archive::sync`] for a file that keeps them.
//! 3. [`Collection`] lists the sessions; [`Reports`] answers what they used and cost; [`Archive::reader`]
//!    reads their text; [`export`] writes them; [`search`] finds words in them.
//!
//! ```
//! use backstory_core::{Agents, Archive, Collection, View};
//! # let home = tempfile::tempdir()?;
//! # let home = home.path();
//!
//! let found = Agents::default().discover_at(home);
//! let archive = Archive::of(&found)?;
//! let all = Collection::new(&archive, found)?;
//! for session in all.listed() {
//!     println!("{}: {} calls, {} tokens", session.id, session.calls, session.usage.total());
//!     if let Some(facts) = archive.assembled(&session.id)? {
//!         for message in archive.reader().transcript(&facts, View::Current, &|_| None)? {
//!             println!("  {}: {}", message.role.name(), message.text);
//!         }
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Costs are in [`Reports`]. Times are those of the crate `jiff`, which callers need too.
//!
//! # Searching
//!
//! [`Archive::index`] indexes the text of new sessions; [`Archive::matches`] answers a [`search::Query`].
//!
//! ```
//! use backstory_core::archive::Order;
//! use backstory_core::search::Query;
//! use backstory_core::{Agents, Archive, Collection};
//! use jiff::{Timestamp, tz::TimeZone};
//! # let home = tempfile::tempdir()?;
//! # let home = home.path();
//!
//! let found = Agents::default().discover_at(home);
//! let mut archive = Archive::of(&found)?;
//! archive.index(&|| {})?;
//! let all = Collection::new(&archive, found)?;
//! let now = Timestamp::now().to_zoned(TimeZone::UTC);
//! let query = Query::parse("parser -test since:7d", &now)?;
//! for hit in archive.matches(&query, &all.sessions, Order::Relevance, &|_| true)? {
//!     println!("{} in {}", hit.score, hit.session.id);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Exporting
//!
//! Each format of [`export`] writes one session with its messages.
//!
//! ```
//! use backstory_core::export::json;
//! use backstory_core::pricing::Bill;
//! use backstory_core::{Agents, Archive, PriceTable, View};
//! # let home = tempfile::tempdir()?;
//! # let home = home.path();
//!
//! let archive = Archive::of(&Agents::default().discover_at(home))?;
//! let prices = PriceTable::embedded();
//! for session in archive.sessions()? {
//!     let Some(facts) = archive.assembled(&session.id)? else { continue };
//!     let messages = archive.reader().transcript(&facts, View::Full, &|_| None)?;
//!     let mut out = Vec::new();
//!     json::write(&session, Bill::default(), &messages, &prices, &mut out)?;
//!     println!("{} bytes", out.len());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How it is made
//!
//! An [`Agent`] scans a [`Source`](discover::Source) into `facts`: plain data without text. The archive
//! stores facts and assembles sessions from them; [`content`] reads text again from where the scan
//! found it. Another agent is a new implementation of [`Agent`], listed in [`Agents`].
//!
//! The library never prints, and reads neither the environment nor the clock: they come in as values
//! ([`env::Env`], timestamps).

#![warn(missing_docs)]

// Modules that are hidden serve the program, and the agents' readers.
#[doc(hidden)]
pub mod activity;
pub mod agent;
pub mod archive;
#[doc(hidden)]
pub mod argument;
#[doc(hidden)]
pub mod assemble;
#[doc(hidden)]
pub mod clean;
pub mod collection;
pub mod content;
#[doc(hidden)]
pub mod diff;
pub mod discover;
#[doc(hidden)]
pub mod doctor;
pub mod env;
pub mod export;
#[doc(hidden)]
pub mod facts;
pub mod fault;
#[doc(hidden)]
pub mod file;
#[doc(hidden)]
pub mod id;
pub(crate) mod metadata;
pub mod model;
pub mod money;
#[doc(hidden)]
pub mod number;
#[doc(hidden)]
pub mod path_text;
pub mod pricing;
pub mod project;
#[doc(hidden)]
pub mod projects;
pub mod query;
#[doc(hidden)]
pub mod read;
pub mod redact;
pub mod search;
#[doc(hidden)]
pub mod shell;
pub mod time;
#[doc(hidden)]
pub mod tools;
#[doc(hidden)]
pub mod transcript;

pub use agent::{Agent, Agents};
pub use archive::{Archive, ArchiveError};
pub use assemble::SessionFacts;
pub use collection::Collection;
pub use content::{Reader, View};
pub use discover::Discovery;
pub use model::{Message, Session, Usage};
pub use pricing::Table as PriceTable;
pub use projects::ProjectHints;
pub use query::Reports;
pub use read::bytes::Bytes;
