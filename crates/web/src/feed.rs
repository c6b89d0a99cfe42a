//! The sessions that pages show, replaced as a whole when files change.

use std::collections::HashMap;
use std::sync::Arc;

use backstory_core::archive::{Archive, ArchiveError};
use backstory_core::collection::Collection;
use backstory_core::discover::Discovery;
use backstory_core::model::SessionId;
use backstory_core::query::usage::Costs;
use backstory_core::{PriceTable, Session};
use jiff::tz::TimeZone;
use tokio::sync::watch;

use crate::readers::Memo;

/// The sessions of an archive at one moment.
pub struct Snapshot {
    pub(crate) all: Collection,
    pub(crate) costs: Costs,
    /// Counts the snapshots.
    pub(crate) version: u64,
    /// The version at which each session last changed; those of the first snapshot are not listed.
    pub(crate) changed: HashMap<SessionId, u64>,
    /// Whether the files have been read since the start.
    pub(crate) is_fresh: bool,
    /// Answers that take long and stay the same.
    pub(crate) memo: Memo,
}

/// The current snapshot, and the news that it has changed.
#[derive(Clone)]
pub struct Feed {
    current: Arc<watch::Sender<Arc<Snapshot>>>,
}

impl Feed {
    /// Returns a feed of the sessions that the archive has before files are read.
    pub fn new(archive: &Archive, prices: &PriceTable) -> Result<Self, ArchiveError> {
        let all = Collection::new(archive, Discovery::default())?;
        let costs = costs(archive, prices)?;
        let snapshot = Snapshot {
            all,
            costs,
            version: 0,
            changed: HashMap::new(),
            is_fresh: false,
            memo: Memo::default(),
        };
        Ok(Self { current: Arc::new(watch::Sender::new(Arc::new(snapshot))) })
    }

    /// Returns the version of what is published, to be asked for before sessions are read for [`Self::publish`].
    pub fn version(&self) -> u64 {
        self.now().version
    }

    /// Publishes sessions that were read when `version` was current. If others have been published since then, they
    /// are read again, because one of the two readings may lack what the other one has.
    pub fn publish(
        &self,
        archive: &Archive,
        prices: &PriceTable,
        mut version: u64,
        mut all: Collection,
    ) -> Result<(), ArchiveError> {
        loop {
            let costs = costs(archive, prices)?;
            let Some(found) = self.replace(version, all, costs) else { return Ok(()) };
            version = self.version();
            all = Collection::new(archive, found)?;
        }
    }

    /// Replaces the snapshot of a version; if there is a newer one, returns what `all` was found in.
    fn replace(&self, version: u64, all: Collection, costs: Costs) -> Option<Discovery> {
        let mut new = Some((all, costs));
        self.current.send_if_modified(|current| {
            if current.version != version {
                return false;
            }
            let Some((all, costs)) = new.take() else { return false };
            let version = version + 1;
            let mut changed = current.changed.clone();
            for session in &all.sessions {
                if current.all.get(&session.id).is_none_or(|old| is_other(old, session)) {
                    changed.insert(session.id.clone(), version);
                }
            }
            let is_fresh = current.is_fresh || !all.found.looked.is_empty();
            let memo = Memo::default();
            *current = Arc::new(Snapshot { all, costs, version, changed, is_fresh, memo });
            true
        });
        new.map(|(all, _)| all.found)
    }

    pub(crate) fn now(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.borrow())
    }

    pub(crate) fn follow(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.current.subscribe()
    }
}

/// Returns the cost of each session. It does not depend on the zone.
fn costs(archive: &Archive, prices: &PriceTable) -> Result<Costs, ArchiveError> {
    backstory_core::Reports::new(archive, &TimeZone::UTC, prices).session_costs()
}

/// Returns whether a page that shows a session must change.
fn is_other(old: &Session, new: &Session) -> bool {
    old.updated != new.updated
        || old.messages_full != new.messages_full
        || old.messages_current != new.messages_current
        || old.usage != new.usage
        || old.tool_calls != new.tool_calls
        || old.state != new.state
        || old.name != new.name
        || old.tags != new.tags
}
