//! Reads sources with the agent that wrote them.

use std::io;

use rustc_hash::FxHashSet;

use crate::agent::{Agents, Detail, Resume, Scan};
use crate::assemble::{ScannedSource, keys};
use crate::discover::Source;
use crate::facts::{Contents, SourceFacts};
use crate::fault::FaultKind;
use crate::read::bytes::Bytes;

/// A source that was read, and the state needed to continue when it grows.
pub(super) struct Reading {
    pub(super) scanned: ScannedSource,
    pub(super) resume: Option<Resume>,
    /// For a source that was continued: the keys of the messages that were known before.
    pub(super) known_keys: FxHashSet<i64>,
    /// The extract that was read instead of the file.
    pub(super) extract: Option<Vec<u8>>,
}

impl Reading {
    fn new(source: Source, scan: io::Result<Scan>) -> Self {
        let scan = scan.unwrap_or_else(|error| {
            let mut facts = SourceFacts::of(Contents::Unreadable);
            facts.faults.push(None, None, FaultKind::Unreadable(error.to_string()));
            Scan::whole(facts)
        });
        let Scan { facts, resume } = scan;
        let known_keys = FxHashSet::default();
        Self { scanned: ScannedSource { source, facts }, resume, known_keys, extract: None }
    }

    /// Creates the reading of a source that cannot be read, which is a fault like any other.
    pub(super) fn unreadable(source: Source, error: io::Error) -> Self {
        Self::new(source, Err(error))
    }

    /// Creates the reading of a source that is archived without being read.
    pub(super) fn unread(source: Source) -> Self {
        Self::of(source, SourceFacts::of(Contents::Attachment))
    }

    /// Creates the reading of a source whose facts are known.
    pub(super) fn of(source: Source, facts: SourceFacts) -> Self {
        Self::new(source, Ok(Scan::whole(facts)))
    }
}

/// Reads a source from its beginning.
pub(super) fn read(agents: Agents, source: Source, bytes: &dyn Bytes, detail: Detail) -> Reading {
    let scan = match agents.get(&source.agent) {
        Some(agent) => agent.scan(&source, bytes, detail),
        // Another program added it; its bytes are kept.
        None => Ok(Scan::whole(SourceFacts::of(Contents::Attachment))),
    };
    Reading::new(source, scan)
}

/// Continues a source where an earlier reading ended. Returns `None` if it must be read from its
/// beginning.
pub(super) fn read_on(
    agents: Agents,
    source: &Source,
    earlier: SourceFacts,
    state: &[u8],
    bytes: &dyn Bytes,
) -> Option<Reading> {
    let agent = agents.get(&source.agent)?;
    let earlier = ScannedSource { source: source.clone(), facts: earlier };
    let known_keys = keys(&earlier).into_iter().collect();
    let scan = agent.continue_scan(source, bytes, earlier.facts, state)?;
    Some(Reading { known_keys, ..Reading::new(source.clone(), Ok(scan)) })
}
