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
//! Costs are in [`Reports`], search in [`Archive::matches`], exports in [`export`].
//!
//! # How it is made
//!
//! An [`Agent`] scans a [`Source`](discover::Source) into [`facts`]: plain data without text. The archive
//! stores facts and [`assemble`]s sessions from them; [`content`] reads text again from where the scan
//! found it. Another agent is a new implementation of [`Agent`], listed in [`Agents`].
//!
//! The library never prints, and reads neither the environment nor the clock: they come in as values
//! ([`env::Env`], timestamps).

#![warn(missing_docs)]

pub mod activity;
pub mod agent;
pub mod archive;
pub mod argument;
pub mod assemble;
pub mod clean;
pub mod collection;
pub mod content;
pub mod discover;
pub mod doctor;
pub mod env;
pub mod export;
pub mod facts;
pub mod fault;
pub mod file;
pub mod id;
pub(crate) mod metadata;
pub mod model;
pub mod money;
pub mod number;
pub mod path_text;
pub mod pricing;
pub mod project;
pub mod projects;
pub mod query;
pub mod read;
pub mod redact;
pub mod search;
pub mod shell;
pub mod time;
pub mod tools;
pub mod transcript;

pub use agent::{Agent, Agents};
pub use archive::{Archive, ArchiveError};
pub use assemble::SessionFacts;
pub use collection::Collection;
pub use content::{Reader, View};
pub use discover::Discovery;
pub use model::{Message, Session, Usage};
pub use pricing::Table as PriceTable;
pub use query::Reports;
