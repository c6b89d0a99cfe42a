//! The project of the current folder, and projects whose names are misspelt.

use std::collections::BTreeSet;
use std::path::Path;

use backstory_core::collection::Collection;
use backstory_core::model::Session;

use crate::context::Context;
use crate::error::{Failure, Result};

/// The maximum number of names that are suggested.
const SUGGESTED: usize = 3;

/// Returns the path of the project that a folder belongs to.
pub(crate) fn project(ctx: &Context, all: &Collection, folder: &Path) -> Result<String> {
    if let Some(project) = all.project_of(folder) {
        return Ok(project.to_owned());
    }
    // A folder of projects selects all of them.
    let is_above = |path: &str| Path::new(path).starts_with(folder);
    let mut paths = all.sessions.iter().filter_map(|session| session.project.path.as_deref());
    match folder.to_str().filter(|_| paths.any(is_above)) {
        Some(folder) => Ok(folder.to_owned()),
        None => Err(Failure::nothing(format!("no session ran in `{}`", ctx.show(folder)))
            .hint("`backstory projects` lists the projects that have sessions")),
    }
}

/// Returns the latest session of a day or another period, in the project of this folder if it has one.
pub(crate) fn session_of<'a>(
    ctx: &Context,
    all: &'a Collection,
    word: &str,
) -> Option<&'a Session> {
    let (start, end) = ctx.parse_period(word)?;
    let is_in_period =
        |session: &&Session| session.updated.is_some_and(|at| start <= at && at < end);
    let mut sessions = all.listed();
    sessions.retain(is_in_period);
    let is_here = |s: &&&Session| all.here().is_some() && s.project.path.as_deref() == all.here();
    sessions.iter().find(is_here).or(sessions.first()).copied()
}

/// Explains that no project has a name, and suggests those with a similar one. Returns `None` if one has it.
pub(crate) fn unknown(all: &Collection, wanted: &[String]) -> Option<Failure> {
    let is_unknown = |wanted: &&String| {
        let mut sessions = all.sessions.iter();
        !wanted.starts_with('.') && !sessions.any(|session| session.project.matches(wanted))
    };
    let wanted = wanted.iter().find(is_unknown)?;
    let names: BTreeSet<&str> = all.sessions.iter().map(|s| s.project.name.as_str()).collect();
    let near = nearest(wanted, &names);
    let mut failure = Failure::nothing(format!("no project is called `{wanted}`"));
    if !near.is_empty() {
        let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
        failure = failure.hint(format!("did you mean {}?", near.join(" or ")));
    }
    Some(failure.hint("`backstory projects` lists them"))
}

/// Returns whether a word may be a misspelt name.
pub(crate) fn is_similar(word: &str, name: &str) -> bool {
    let [word, name] = [word, name].map(|text| text.trim_start_matches('-').to_lowercase());
    distance(&word, &name) <= (word.chars().count() / 3).max(1)
}

/// Returns the names that are most like a word, the most similar first.
fn nearest<'a>(word: &str, names: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let most = word.chars().count() / 3 + 1;
    let mut near: Vec<(usize, &str)> = names
        .iter()
        .map(|name| {
            let lower = name.to_lowercase();
            // A word is often only part of a name.
            let parts = lower.split(|c: char| !c.is_alphanumeric()).chain([lower.as_str()]);
            (parts.map(|part| distance(&word, part)).min().unwrap_or(usize::MAX), *name)
        })
        .filter(|(distance, _)| *distance <= most)
        .collect();
    near.sort_unstable();
    near.into_iter().take(SUGGESTED).map(|(_, name)| name).collect()
}

/// Returns the number of characters to insert, delete, replace or swap with their neighbour to get from one word to
/// the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_are_suggested() {
        let names = BTreeSet::from(["harbor-api", "tidepool", "dotfiles", "ledger-etl"]);
        assert_eq!(nearest("harbour", &names), ["harbor-api"]);
        assert_eq!(nearest("tidepol", &names), ["tidepool"]);
        assert_eq!(nearest("HABROR", &names), ["harbor-api"]);
        assert_eq!(nearest("etl", &names), ["ledger-etl"]);
        assert!(nearest("nosuch", &names).is_empty());
    }

    #[test]
    fn other_words_are_not_misspelt_ones() {
        for (word, name) in [("--projct", "--project"), ("sesions", "sessions"), ("Modl", "model")]
        {
            assert!(is_similar(word, name), "{word}");
        }
        for (word, name) in [("price", "project"), ("--budget", "--quiet"), ("--foo", "--from")] {
            assert!(!is_similar(word, name), "{word}");
        }
    }

    proptest::proptest! {
        #[test]
        fn the_distance_is_a_metric(a in "[ab]{0,6}", b in "[ab]{0,6}") {
            proptest::prop_assert_eq!(distance(&a, &b), distance(&b, &a));
            proptest::prop_assert_eq!(distance(&a, &b) == 0, a == b);
            proptest::prop_assert!(distance(&a, &b) <= a.len().max(b.len()));
        }
    }
}
