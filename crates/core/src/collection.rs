//! All sessions of some places: found, read and joined.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::agent::gemini::{self, Assembled, Candidates, Scanned};
use crate::discover::Found;
use crate::model::SessionKind;
use crate::money::Usd;
use crate::pricing::{Table, cost};

/// What was found and what it comes to.
#[derive(Debug)]
pub struct Collection {
    pub found: Found,
    pub files: Vec<Scanned>,
    /// Sorted by id.
    pub sessions: Vec<Assembled>,
    agents: HashMap<String, String>,
}

/// Why a session that was asked for is not given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotOne {
    #[error("no session is called `{0}`")]
    None(String),
    #[error("`{wanted}` could be any of {} sessions", .candidates.len())]
    Several { wanted: String, candidates: Vec<String> },
}

impl Collection {
    /// Reads all sources, on all cores. `progress` is told of each file that is done.
    pub fn read(
        mut found: Found,
        candidates: &Candidates,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Self {
        let sources = std::mem::take(&mut found.sources);
        let mut files: Vec<Scanned> = sources
            .into_par_iter()
            .map(|source| {
                let size = source.size;
                let scanned = gemini::scan(source);
                progress(size);
                scanned
            })
            .collect();
        let sessions = gemini::assemble(&mut files, candidates);
        files.iter_mut().for_each(Scanned::slim);
        let agents = agents(&sessions);
        Self { found, files, sessions, agents }
    }

    /// The sessions of a list that nobody narrowed, the newest first: `latest` and `@N` count here.
    pub fn listed(&self) -> Vec<&Assembled> {
        let mut out: Vec<&Assembled> =
            self.sessions.iter().filter(|assembled| assembled.session.is_listed()).collect();
        newest_first(&mut out);
        out
    }

    /// The session that `wanted` names: its id or a unique beginning of it, `latest`, `@N`, or the
    /// name or stem of one of its files.
    pub fn find(&self, wanted: &str) -> Result<&Assembled, NotOne> {
        let number = match wanted.strip_prefix('@') {
            _ if wanted == "latest" => Some(1),
            Some(number) => number.parse::<usize>().ok(),
            None => None,
        };
        if let Some(number) = number {
            let place = number.checked_sub(1);
            let found = place.and_then(|place| self.listed().get(place).copied());
            return found.ok_or_else(|| NotOne::None(wanted.to_owned()));
        }
        if let Some(exact) = self.sessions.iter().find(|s| s.session.id == wanted) {
            return Ok(exact);
        }
        let by_file: Vec<&Assembled> =
            self.sessions.iter().filter(|assembled| assembled.has_file(wanted)).collect();
        if let Some(one) = one_of(&by_file, wanted)? {
            return Ok(one);
        }
        // A session's own id begins so; one of a subagent's only if nothing else does.
        let starts = |s: &&Assembled| s.session.id.starts_with(wanted) && !wanted.is_empty();
        let by_prefix: Vec<&Assembled> = self.sessions.iter().filter(starts).collect();
        let mains: Vec<&Assembled> =
            by_prefix.iter().copied().filter(|s| s.session.kind == SessionKind::Main).collect();
        if let [one] = mains.as_slice() {
            return Ok(one);
        }
        one_of(&by_prefix, wanted)?.ok_or_else(|| NotOne::None(wanted.to_owned()))
    }

    /// The session of the agent that a tool call names.
    pub fn agent_session(&self, agent_id: &str) -> Option<String> {
        self.agents.get(agent_id).cloned()
    }

    pub fn faults(&self) -> usize {
        self.files.iter().map(|file| file.faults.details.len()).sum()
    }
}

fn one_of<'a>(found: &[&'a Assembled], wanted: &str) -> Result<Option<&'a Assembled>, NotOne> {
    match found {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        several => Err(NotOne::Several {
            wanted: wanted.to_owned(),
            candidates: several.iter().map(|assembled| assembled.session.id.clone()).collect(),
        }),
    }
}

/// What the calls that a session made cost; none when not one has a price.
pub fn session_cost(assembled: &Assembled, prices: &Table) -> Option<Usd> {
    let owned = assembled.listed().filter(|placed| placed.owned);
    let priced = owned.filter_map(|placed| {
        let said = &placed.said;
        let at = said.at.or(assembled.session.started);
        let found = prices.lookup(said.model.as_deref()?, at)?;
        Some(cost(found.row, &said.tokens?.usage()).usd)
    });
    priced.reduce(|a, b| a + b)
}

/// Newest first; sessions without any time last, then by id so that ties have one order.
pub fn newest_first(sessions: &mut [&Assembled]) {
    sessions.sort_by(|a, b| {
        b.session.updated.cmp(&a.session.updated).then_with(|| a.session.id.cmp(&b.session.id))
    });
}

/// Agent ids (the stem of a subagent's file, which is also its id) to session ids.
fn agents(sessions: &[Assembled]) -> HashMap<String, String> {
    let mut out = HashMap::new();
    for assembled in sessions.iter().filter(|s| s.session.kind == SessionKind::Subagent) {
        for file in &assembled.files {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            out.insert(stem, assembled.session.id.clone());
        }
        out.insert(assembled.session.id.clone(), assembled.session.id.clone());
    }
    out
}
