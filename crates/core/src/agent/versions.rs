//! Chooses one version of each file of a session.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::lifecycle::{LeftFile, LeftReason};
use crate::assemble::SessionFacts;

/// Returns the files to restore, the main one first: of several with the same key, the one that was
/// updated last, and of equal ones the one that exists. Of the others, those that are gone are left,
/// with the reason. `keys` are those of all files of the session.
pub(super) fn one_of_each<K: Ord>(
    session: &SessionFacts,
    main: usize,
    keys: Vec<K>,
) -> (Vec<usize>, Vec<LeftFile>) {
    let files = &session.files;
    let updated = |at: usize| session.session.parts.get(at).and_then(|part| part.updated);
    let rank = |at: usize| {
        let file = &files[at];
        (Reverse((!file.is_replaced(), updated(at), file.is_live(), at == main)), at)
    };
    let mut by_key: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for (at, key) in keys.into_iter().enumerate() {
        by_key.entry(key).or_default().push(at);
    }
    let mut groups: Vec<Vec<usize>> = by_key.into_values().collect();
    groups.sort_by_key(|versions| !versions.contains(&main));
    let (mut chosen, mut rest) = (Vec::new(), Vec::new());
    for mut versions in groups {
        versions.sort_by_key(|at| rank(*at));
        chosen.push(versions.remove(0));
        rest.extend(versions);
    }
    // A file can be listed twice: as a part, and as the base of another part.
    let is_chosen: Vec<bool> =
        files.iter().map(|file| chosen.iter().any(|at| files[*at] == *file)).collect();
    let places = session.listed().map(|entry| &entry.places);
    let lost = places.filter(|places| !places.iter().any(|place| is_chosen[place.file]));
    let losing: HashSet<usize> = lost.flatten().map(|place| place.file).collect();
    let is_left = |at: &usize| !is_chosen[*at] && !files[*at].is_live();
    let left = rest.into_iter().filter(is_left).map(|at| LeftFile {
        source: files[at].clone(),
        why: if losing.contains(&at) { LeftReason::Version } else { LeftReason::Copy },
    });
    (chosen, left.collect())
}
