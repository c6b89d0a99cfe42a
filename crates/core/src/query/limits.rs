//! Reports the limits of the user's plans.

use std::collections::BTreeMap;

use super::filter::Filter;
use crate::archive::{Archive, ArchiveError, Limit};

/// The limits of plans.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The last report about each limit: one row per agent, plan, limit and window.
    pub newest: Vec<Limit>,
    /// All reports, the oldest first.
    pub history: Vec<Limit>,
}

/// Returns the limits that agents, machines and the period of a filter select.
pub fn limits(archive: &Archive, filter: &Filter) -> Result<Answer, ArchiveError> {
    let any = |wanted: &[String], has: &str| wanted.is_empty() || wanted.iter().any(|w| w == has);
    let is_wanted = |limit: &Limit| {
        let facts = &limit.facts;
        let is_timely = match (facts.at, facts.seen) {
            (Some(at), Some(seen)) => filter.period.overlaps(at, seen),
            _ => filter.period.is_everything(),
        };
        any(&filter.agents, limit.agent.as_str())
            && any(&filter.machines, &limit.machine)
            && is_timely
    };
    let mut history = archive.limits()?;
    history.retain(is_wanted);
    let mut newest = BTreeMap::new();
    for limit in &history {
        let facts = &limit.facts;
        let key = (limit.agent.as_str(), &facts.plan, &facts.name, facts.window);
        newest.insert(key, limit.clone());
    }
    let newest = newest.into_values().collect();
    Ok(Answer { newest, history })
}
