//! Counts calls that only the growth of the total shows, because their lines are gone.
//!
//! A migration drops the turns that were rolled back. If the archive has an earlier version of the file, their
//! calls are still known, and the growth must not count them again.

use std::convert::Infallible;
use std::sync::Arc;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::steps::total_in;
use crate::agent::codex::format::{RolloutName, Tokens};
use crate::assemble::{Part, SessionFacts};
use crate::facts::{BilledLine, CallFacts, CallKey, MessageFacts};
use crate::model::{Bucket, Usage};

/// The beginning of the key of lost calls.
pub(super) const LOST: &str = "lost:";

/// A prompt that is shorter than every limit above which a request costs more.
const SHORT: u64 = 200_000;

/// The maximum number of requests that lost calls are assumed to be.
const MOST: u64 = 16;

/// The maximum number of stretches of lost calls that are compared with other versions of a file: each may have to be
/// compared with every call.
const MOST_LOST: usize = 256;

/// The calls between two totals, whose lines are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Lost {
    from: Tokens,
    to: Tokens,
}

impl Lost {
    /// Returns what was lost between two totals; `None` if that is not a call.
    pub(super) fn between(from: Tokens, to: Tokens) -> Option<Self> {
        to.growth(&from).filter(Tokens::is_call).map(|_| Self { from, to })
    }

    /// Appends the totals to a key.
    pub(super) fn push_key(&self, key: &mut String) {
        self.from.push_key(key);
        key.push(':');
        self.to.push_key(key);
    }

    /// Reads the lost calls from the key of their message.
    fn of(facts: &MessageFacts) -> Option<Self> {
        let CallKey::Id(key) = &facts.key else { return None };
        let (rest, to) = key.strip_prefix(LOST)?.rsplit_once(':')?;
        let (_, from) = rest.rsplit_once(':')?;
        Some(Self { from: Tokens::from_key(from)?, to: Tokens::from_key(to)? })
    }

    /// Returns the tokens between both totals.
    pub(super) fn usage(&self) -> Usage {
        self.to.growth(&self.from).map(|tokens| tokens.usage()).unwrap_or_default()
    }

    /// Returns whether a call after which the total was `total` is one of them.
    fn contains(&self, total: &Tokens) -> bool {
        total.covers(&self.from) && *total != self.from && self.to.covers(total)
    }

    /// Returns whether all calls of another stretch are among them.
    fn includes(&self, other: &Self) -> bool {
        other.from.covers(&self.from) && self.to.covers(&other.to)
    }
}

/// Returns lost calls as one bill. A long prompt has another price, and how many requests they were is not known,
/// so the bill has as many items as are needed to keep each prompt short, or as short as that of the `next` call.
pub(super) fn bill(usage: &Usage, next: &Usage, model: Option<&Arc<str>>) -> CallFacts {
    let longest = next.prompt().max(SHORT);
    let count = usage.prompt().div_ceil(longest).clamp(1, MOST);
    let lines =
        (1..count).map(|n| BilledLine { model: model.cloned(), usage: share(usage, n, count) });
    CallFacts::new(share(usage, 0, count)).with_lines(lines.collect())
}

/// Returns one of `count` equal shares; the first ones get what remains.
fn share(usage: &Usage, n: u64, count: u64) -> Usage {
    let of = |tokens: u64| tokens / count + u64::from(n < tokens % count);
    let Ok(share) = Usage::try_from_buckets(|bucket| Ok::<_, Infallible>(of(usage.get(bucket))));
    share
}

/// Takes the calls that another version of a file still has out of its lost calls.
pub(crate) fn refine(parts: &mut [Part<'_>]) {
    if parts.len() < 2 {
        return;
    }
    // Other files of a thread have calls of their own, whatever their totals.
    let mut versions: HashMap<Option<String>, Vec<usize>> = HashMap::default();
    for (at, part) in parts.iter().enumerate() {
        let rollout = RolloutName::of(&part.source.path).map(|name| name.rollout);
        versions.entry(rollout).or_default().push(at);
    }
    for versions in versions.into_values().filter(|versions| versions.len() > 1) {
        refine_versions(parts, &versions);
    }
}

/// Refines the lost calls of the versions of one file.
fn refine_versions(parts: &mut [Part<'_>], versions: &[usize]) {
    let mut all: Vec<(usize, usize, Lost)> = Vec::new();
    for at in versions {
        let messages = parts[*at].facts.messages.iter().enumerate();
        all.extend(messages.filter_map(|(n, facts)| Some((*at, n, Lost::of(facts)?))));
    }
    if all.is_empty() {
        return;
    }
    // Calls that are lost in one version may be among those that are lost in another.
    all.sort_by_key(|(at, n, lost)| (lost.usage().total(), *at, *n));
    let known = Totals::new(parts, versions);
    let mut left: HashMap<Lost, (usize, Usage)> = HashMap::default();
    for (at, n, lost) in all {
        let others = known.among(&lost).filter(|(total, _)| !known.has(at, total));
        let nested = left
            .iter()
            .filter(|(other, (part, _))| *part != at && **other != lost && lost.includes(other));
        let nested = nested.map(|(_, (_, usage))| usage);
        let found: Usage = others.map(|(_, usage)| usage).chain(nested).copied().sum();
        let usage = less(&lost.usage(), &found);
        if left.len() < MOST_LOST {
            left.insert(lost, (at, usage));
        }
        let facts = &mut parts[at].facts.messages[n];
        if let Some(call) = facts.call.as_mut().filter(|_| found != Usage::default()) {
            let (service, is_inherited, is_extra) =
                (call.service, call.is_inherited, call.is_extra);
            *call = bill(&usage, &Usage::default(), facts.model.as_ref()).with_service(service);
            (call.is_inherited, call.is_extra) = (is_inherited, is_extra);
        }
    }
}

/// The calls that counts show, by the total after each.
struct Totals {
    /// Those of all versions, in the order of the total number of tokens.
    all: Vec<(Tokens, Usage)>,
    /// Those of each version.
    of: HashMap<usize, HashSet<Tokens>>,
}

impl Totals {
    fn new(parts: &[Part<'_>], versions: &[usize]) -> Self {
        let (mut all, mut of) = (HashMap::default(), HashMap::default());
        for at in versions {
            let shown =
                |facts: &MessageFacts| Some((total_in(&facts.key)?, facts.call.as_ref()?.usage));
            let own: Vec<_> = parts[*at].facts.messages.iter().filter_map(shown).collect();
            of.insert(*at, own.iter().map(|(total, _)| *total).collect());
            all.extend(own);
        }
        let mut all: Vec<(Tokens, Usage)> = all.into_iter().collect();
        all.sort_by_key(|(total, _)| total.sum());
        Self { all, of }
    }

    /// Returns the calls that are among lost ones.
    fn among(&self, lost: &Lost) -> impl Iterator<Item = &(Tokens, Usage)> {
        let start = self.all.partition_point(|(total, _)| total.sum() < lost.from.sum());
        let near = self.all[start..].iter().take_while(|(total, _)| total.sum() <= lost.to.sum());
        near.filter(|(total, _)| lost.contains(total))
    }

    /// Returns whether a version has a call.
    fn has(&self, version: usize, total: &Tokens) -> bool {
        self.of.get(&version).is_some_and(|own| own.contains(total))
    }
}

fn less(usage: &Usage, by: &Usage) -> Usage {
    let of = |bucket: Bucket| usage.get(bucket).saturating_sub(by.get(bucket));
    let Ok(rest) = Usage::try_from_buckets(|bucket| Ok::<_, Infallible>(of(bucket)));
    rest
}

/// Hides lost calls of which nothing is left.
pub(super) fn hide(session: &mut SessionFacts) {
    for entry in &mut session.messages {
        let facts = &mut entry.facts;
        let is_found = facts.call.as_ref().is_some_and(|call| call.total_usage().total() == 0);
        if is_found && Lost::of(facts).is_some() {
            facts.call = None;
            facts.is_copy = true;
        }
    }
}
