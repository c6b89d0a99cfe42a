//! Adds up the uses of files in a session.

use jiff::Timestamp;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::extent::Extent;
use super::{Archive, ArchiveError};
use crate::activity::FileAccess;
use crate::model::SessionId;
use crate::time::Period;

/// The uses of a file in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileSum {
    /// The path as the calls name it.
    pub(crate) path: String,
    /// The number of reads.
    pub(crate) reads: u64,
    /// The times of all uses.
    pub(crate) times: Extent,
    /// The changes that succeeded.
    pub(crate) changes: Changes,
}

/// Changes of a file that succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Changes {
    /// Their number.
    pub(crate) count: u64,
    /// The lines added and removed.
    pub(crate) lines: (u64, u64),
    /// The time of the last one.
    #[serde(with = "crate::time::stored")]
    pub(crate) last: Option<Timestamp>,
}

/// Adds up uses by path.
pub(super) fn file_sums<'a>(uses: impl IntoIterator<Item = &'a FileAccess>) -> Vec<FileSum> {
    let mut sums: Vec<FileSum> = Vec::new();
    let mut places: FxHashMap<&str, usize> = FxHashMap::default();
    for used in uses {
        let place = *places.entry(&used.path).or_insert(sums.len());
        if place == sums.len() {
            sums.push(FileSum { path: used.path.clone(), ..FileSum::default() });
        }
        sums[place].add(used);
    }
    sums
}

impl FileSum {
    fn add(&mut self, used: &FileAccess) {
        self.times.add(used.at);
        match used.is_change {
            false => self.reads += 1,
            true if used.has_failed => {}
            true => {
                let (added, removed) = used.lines.unwrap_or_default();
                let lines = &mut self.changes.lines;
                *lines = (lines.0 + added, lines.1 + removed);
                self.changes.count += 1;
                self.changes.last = self.changes.last.max(used.at);
            }
        }
    }
}

impl Archive {
    /// Passes the sums of the uses of files of each session in a period to `each`, in the order of `ids`.
    pub(crate) fn each_file_sum<'i>(
        &self,
        ids: &'i [SessionId],
        period: &Period,
        mut each: impl FnMut(&'i SessionId, FileSum),
    ) -> Result<(), ArchiveError> {
        let activities = self.activities(ids)?;
        for (id, mut sums) in ids.iter().zip(activities.parts::<Vec<FileSum>>(ids)?) {
            if sums.iter().any(|sum| sum.times.is_in(period).is_none()) {
                let uses: Vec<FileAccess> = activities.part(id)?;
                sums = file_sums(uses.iter().filter(|used| period.includes(used.at)));
            } else {
                sums.retain(|sum| sum.times.is_in(period) == Some(true));
            }
            for sum in sums {
                each(id, sum);
            }
        }
        Ok(())
    }
}
