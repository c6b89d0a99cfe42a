//! Decides what to write: as little as possible, into as few parcels as possible.
//!
//! New and changed files go into a new parcel. It also takes up older parcels that are not much larger than
//! itself, so that each parcel is more than twice as large as the next one: their number grows with the logarithm of
//! the archive, and a file is rewritten as often. Everything is written again if most of it is outdated.

use std::collections::{BTreeMap, BTreeSet};

use crate::state::WrittenParcel;

/// The size of a parcel without files, roughly.
const EMPTY: u64 = 1 << 16;

/// What to write next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The files to write, by stamp.
    pub(crate) stamps: BTreeSet<i64>,
    /// The number of older parcels that stay.
    pub(crate) stays: usize,
}

/// Decides what to write; none if the folder is up to date. `files` are those of the archive with their sizes,
/// `written` the parcels in the folder, oldest first.
pub(crate) fn plan(
    files: &BTreeMap<i64, u64>,
    written: &[WrittenParcel],
    has_new_annotations: bool,
    must_start_over: bool,
) -> Option<Plan> {
    let is_current = |stamp: &i64| files.contains_key(stamp);
    let known: BTreeMap<i64, u64> =
        written.iter().flat_map(|one| &one.files).map(|(stamp, size)| (*stamp, *size)).collect();
    let outdated: u64 = known.iter().filter(|(stamp, _)| !is_current(stamp)).map(|(_, n)| n).sum();
    let starts_over = must_start_over || outdated > EMPTY.max(files.values().sum());
    let mut stamps: BTreeSet<i64> =
        files.keys().filter(|stamp| !known.contains_key(stamp)).copied().collect();
    if stamps.is_empty() && !has_new_annotations && !starts_over {
        return None;
    }
    let size = |stamps: &BTreeSet<i64>| -> u64 {
        EMPTY + stamps.iter().filter_map(|stamp| files.get(stamp)).sum::<u64>()
    };
    let mut stays = written.len();
    while let Some(last) = stays.checked_sub(1).and_then(|last| written.get(last))
        && (starts_over || last.parcel.size <= 2 * size(&stamps))
    {
        stamps.extend(last.files.keys().copied().filter(is_current));
        stays -= 1;
    }
    Some(Plan { stamps, stays })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::folder::Parcel;

    fn written(n: usize, files: BTreeMap<i64, u64>) -> WrittenParcel {
        let size = EMPTY + files.values().sum::<u64>();
        let parcel: Parcel = serde_json::from_value(
            serde_json::json!({ "name": n.to_string(), "size": size, "modified": 0 }),
        )
        .unwrap();
        WrittenParcel { parcel, files }
    }

    proptest! {
        /// Files appear, change and vanish; after each step the folder has all of them, in few parcels and
        /// without much that is outdated.
        #[test]
        fn the_folder_has_everything_in_few_parcels(
            steps in proptest::collection::vec(
                proptest::collection::vec((0..60_i64, 0..1_000_000_u64, any::<bool>()), 0..8), 1..40),
        ) {
            let mut files: BTreeMap<i64, (i64, u64)> = BTreeMap::new();
            let mut parcels: Vec<WrittenParcel> = Vec::new();
            let mut stamp = 0;
            for (n, step) in steps.into_iter().enumerate() {
                for (file, size, stays) in step {
                    stamp += 1;
                    files.remove(&file);
                    if stays {
                        files.insert(file, (stamp, size));
                    }
                }
                let current: BTreeMap<i64, u64> = files.values().copied().collect();
                if let Some(plan) = plan(&current, &parcels, false, false) {
                    parcels.truncate(plan.stays);
                    let taken = plan.stamps.iter().map(|stamp| (*stamp, current[stamp]));
                    parcels.push(written(n, taken.collect()));
                }
                let kept: BTreeSet<i64> =
                    parcels.iter().flat_map(|one| one.files.keys()).copied().collect();
                prop_assert!(current.keys().all(|stamp| kept.contains(stamp)));
                let sizes: Vec<u64> = parcels.iter().map(|one| one.parcel.size).collect();
                prop_assert!(sizes.is_sorted_by(|a, b| a > &(2 * b)), "{:?}", sizes);
                let outdated: u64 = parcels.iter().flat_map(|one| &one.files)
                    .filter(|(stamp, _)| !current.contains_key(stamp)).map(|(_, size)| size).sum();
                prop_assert!(outdated <= EMPTY.max(current.values().sum()));
                prop_assert_eq!(plan(&current, &parcels, false, false), None);
            }
        }
    }

    #[test]
    fn little_news_are_a_small_parcel() {
        let old: BTreeMap<i64, u64> = (0..100).map(|stamp| (stamp, 1_000_000)).collect();
        let mut files = old.clone();
        files.insert(100, 5_000);
        let parcels = [written(0, old)];
        let expected = Plan { stamps: [100].into(), stays: 1 };
        assert_eq!(plan(&files, &parcels, false, false), Some(expected));
        assert_eq!(plan(&parcels[0].files, &parcels, false, false), None);
        let names_only = Plan { stamps: BTreeSet::new(), stays: 1 };
        assert_eq!(plan(&parcels[0].files, &parcels, true, false), Some(names_only));
    }

    #[test]
    fn what_was_forgotten_is_in_no_parcel() {
        let files: BTreeMap<i64, u64> = [(1, 1_000_000), (2, 10)].into();
        let parcels = [written(0, [(1, 1_000_000), (3, 10)].into()), written(1, [(2, 10)].into())];
        let all = Plan { stamps: [1, 2].into(), stays: 0 };
        assert_eq!(plan(&files, &parcels, true, true), Some(all));
    }
}
