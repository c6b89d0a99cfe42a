//! Drops calls that are only the running total of the file whose history another file continues.

use super::Part;
use super::branches::{Files, Groups, ancestors, files, lineage};
use crate::facts::{CallKey, FirstTotal};

/// Drops the call of each file that begins with the last total of its history.
pub(super) fn drop(groups: &mut Groups<'_>) {
    for (group, place, key) in repeats(groups) {
        let Some(parts) = groups.get_mut(&group) else { continue };
        let messages = parts[place].facts.messages.iter_mut();
        for message in messages.filter(|message| message.global_key() == Some(&*key)) {
            message.call = None;
            message.key = CallKey::Local;
            message.is_copy |= message.spans.is_empty() && message.tools.is_empty();
        }
    }
}

/// Returns the calls to drop, by group, place of the part and key.
fn repeats(groups: &Groups<'_>) -> Vec<(String, usize, Box<str>)> {
    let files = files(groups);
    let mut out = Vec::new();
    for (group, parts) in groups {
        for (place, part) in parts.iter().enumerate() {
            let first = lineage(part).and_then(|lineage| lineage.first_total.as_ref());
            if let Some(first) = first.filter(|first| is_repeat(first, part, groups, &files)) {
                out.push((group.clone(), place, first.key.clone()));
            }
        }
    }
    out
}

fn is_repeat(first: &FirstTotal, part: &Part<'_>, groups: &Groups<'_>, files: &Files<'_>) -> bool {
    let (ancestors, missing) = ancestors(part, groups, files);
    let last = ancestors.iter().find_map(|(group, place, end)| {
        let totals = &lineage(&groups[*group][*place])?.totals;
        totals.iter().rev().find(|(position, _)| position < end)
    });
    match last {
        Some((_, hash)) => *hash == first.hash,
        None => missing.is_some() && first.seems_repeated,
    }
}
