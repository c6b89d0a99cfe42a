//! The agents that a program can read.

use std::path::Path;

use super::{Agent, gemini};
use crate::discover::Discovery;
use crate::env::Env;
use crate::model::AgentId;

/// A list of agents.
#[derive(Debug, Clone, Copy)]
pub struct Agents(&'static [&'static dyn Agent]);

/// All agents of this library.
static ALL: [&dyn Agent; 1] = [&gemini::Gemini];

impl Default for Agents {
    fn default() -> Self {
        Self(&ALL)
    }
}

impl Agents {
    /// Returns a list of other agents than those of this library.
    pub const fn of(agents: &'static [&'static dyn Agent]) -> Self {
        Self(agents)
    }

    /// Iterates over the agents.
    pub fn iter(self) -> impl Iterator<Item = &'static dyn Agent> {
        self.0.iter().copied()
    }

    /// Returns the agent of a name; none for one that this program cannot read.
    pub fn get(self, id: &AgentId) -> Option<&'static dyn Agent> {
        self.iter().find(|agent| agent.id() == *id)
    }

    /// Finds the files of all agents in their usual places.
    pub fn discover(self, env: &Env) -> Discovery {
        let mut all = Discovery::default();
        for agent in self.iter() {
            all.add(agent.discover(env));
        }
        all.settle();
        all
    }

    /// Finds the files of all agents at or below a path that the user named.
    pub fn discover_at(self, path: &Path) -> Discovery {
        let mut all = Discovery::default();
        for agent in self.iter() {
            all.add(agent.discover_at(path));
        }
        all.settle();
        all
    }

    /// Returns the revisions of all agents, by which stored facts are known to be outdated.
    pub fn revisions(self) -> String {
        let revision = |agent: &dyn Agent| format!("{}={}", agent.id(), agent.revision());
        self.iter().map(revision).collect::<Vec<_>>().join(",")
    }
}
