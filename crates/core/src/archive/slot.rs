//! Decides which row a source is written into.

use rusqlite::Transaction;

use super::ArchiveError;
use super::capture::distrust;
use super::ingest::{Incoming, Origin};
use super::sources::{self, Version};
use super::versions::lacks_messages;
use crate::agent::Agents;
use crate::discover::SourceState;
use crate::facts::Contents;

/// The row that a source is written to.
pub(super) enum Slot {
    /// A new row, in this state.
    New(SourceState),
    /// The existing row of the file, which the source continues or supersedes.
    Known(i64),
    /// No row: the existing one already has this content.
    Same(i64),
}

/// Chooses the row for a source and updates the versions of it that already exist.
pub(super) fn slot(
    db: &Transaction<'_>,
    agents: Agents,
    incoming: &Incoming,
) -> Result<Slot, ArchiveError> {
    let path = &incoming.reading.scanned.source.path;
    let versions = sources::versions(db, &incoming.machine, path)?;
    let current = versions.last().filter(|version| version.state != SourceState::Replaced);
    match incoming.origin {
        Origin::Archive { is_own } => slot_of_import(db, incoming, &versions, current, is_own),
        Origin::Disk | Origin::Grown => match current {
            Some(current) => slot_of_read(db, agents, incoming, current),
            None => Ok(Slot::New(incoming.state)),
        },
    }
}

/// Chooses the row for a file that was read again.
fn slot_of_read(
    db: &Transaction<'_>,
    agents: Agents,
    incoming: &Incoming,
    current: &Version,
) -> Result<Slot, ArchiveError> {
    let facts = &incoming.reading.scanned.facts;
    if facts.contents == Contents::Unreadable && current.digest.is_some() {
        // Keeps the content read before and retries the file next time.
        distrust(db, current.number)?;
        return Ok(Slot::Same(current.number));
    }
    if current.digest.is_some() && current.digest == incoming.digest {
        sources::set_fingerprint(db, current.number, incoming.fingerprint)?;
        return Ok(Slot::Same(current.number));
    }
    if incoming.origin == Origin::Grown || (current.digest.is_none() && current.captured == 0) {
        return Ok(Slot::Known(current.number));
    }
    // Without its bytes, an older version is only worth keeping for facts the new one lacks.
    let is_worth_keeping = current.captured > 0
        || sources::has_typed(db, current.number)?
        || sources::scanned(db, agents, current.number)?
            .is_some_and(|old| lacks_messages(facts, &old.facts));
    if is_worth_keeping {
        sources::replace(db, current.number)?;
        return Ok(Slot::New(incoming.state));
    }
    Ok(Slot::Known(current.number))
}

/// Chooses the row for a version from another archive. The newest version is the current one; no
/// version is overwritten.
fn slot_of_import(
    db: &Transaction<'_>,
    incoming: &Incoming,
    versions: &[Version],
    current: Option<&Version>,
    is_own: bool,
) -> Result<Slot, ArchiveError> {
    let Incoming { state, fingerprint, digest, .. } = incoming;
    let version = Version {
        number: 0,
        state: *state,
        modified: fingerprint.modified,
        size: fingerprint.size,
        digest: digest.clone(),
        captured: 0,
        lost: 0,
        is_whole: false,
    };
    let is_same = |known: &&Version| match (&known.digest, digest) {
        (Some(known), Some(digest)) => known == digest,
        _ => (known.size, known.modified) == (version.size, version.modified),
    };
    if let Some(same) = versions.iter().find(is_same) {
        if *state == SourceState::Gone && same.state == SourceState::Live && !is_own {
            sources::set_state(db, same.number, SourceState::Gone)?;
        }
        return Ok(Slot::Same(same.number));
    }
    for older in versions.iter().filter(|known| known.state == SourceState::Replaced) {
        sources::replace(db, older.number)?;
    }
    Ok(match current {
        _ if *state == SourceState::Replaced => Slot::New(SourceState::Replaced),
        None => Slot::New(*state),
        Some(current) if current.age() >= version.age() => Slot::New(SourceState::Replaced),
        Some(current) => {
            sources::replace(db, current.number)?;
            Slot::New(*state)
        }
    })
}
