//! Lists the agents whose files can be read.

use std::path::{Path, PathBuf};

use super::{Agent, claude, codex, gemini};
use crate::assemble::{Part, Rules, SessionFacts};
use crate::discover::Discovery;
use crate::env::Env;
use crate::model::{AgentId, MessageKind};

/// A list of agents.
#[derive(Debug, Clone, Copy)]
pub struct Agents(&'static [&'static dyn Agent]);

/// All agents of this library. Those that recognize their files by content come first.
static ALL: [&dyn Agent; 3] = [&claude::Claude, &codex::Codex, &gemini::Gemini];

impl Default for Agents {
    fn default() -> Self {
        Self(&ALL)
    }
}

impl Agents {
    /// Returns a list of agents other than those of this library.
    pub const fn of(agents: &'static [&'static dyn Agent]) -> Self {
        Self(agents)
    }

    /// Iterates over the agents.
    pub fn iter(self) -> impl Iterator<Item = &'static dyn Agent> {
        self.0.iter().copied()
    }

    /// Returns the agent with an id, or `None` if this program cannot read it.
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

    /// Finds the files of all agents at or below a path that the user named. A file belongs to the first
    /// agent that takes it, and so does all that is in a folder of that agent. A path that does not exist has no
    /// files; [`Discovery::looked`] says so.
    pub fn discover_at(self, path: &Path) -> Discovery {
        let mut all = Discovery::default();
        let is_known = self.iter().any(|agent| agent.recognizes(path));
        for agent in self.iter().filter(|agent| !is_known || agent.recognizes(path)) {
            let mut found = agent.discover_at(path);
            // A folder of one agent has nothing for the others, and may have secrets.
            let is_taken = |file: &Path| all.roots.iter().any(|root| file.starts_with(root));
            found.sources.retain(|source| !is_taken(&source.path));
            found.skipped.retain(|skipped| !is_taken(&skipped.path));
            // Beside the folder of another agent, a file that could be anything is not taken.
            if !all.roots.is_empty() {
                let Discovery { roots, sources, .. } = &mut found;
                let is_inside = |file: &Path| roots.iter().any(|root| file.starts_with(root));
                sources.retain(|source| {
                    source.folder().is_some()
                        || is_inside(&source.path)
                        || agent.claims(&source.path)
                });
            }
            all.add(found);
        }
        all.settle();
        all
    }

    /// Finds files in the given places, or, if there are none, in the usual ones and in `roots`.
    pub fn discover_in(self, env: &Env, given: &[PathBuf], roots: &[PathBuf]) -> Discovery {
        let mut all = Discovery::default();
        if given.is_empty() {
            all.add(self.discover(env));
            for root in roots {
                let mut found = self.discover_at(root);
                for place in &mut found.looked {
                    "`roots` in the config file".clone_into(&mut place.why);
                }
                all.add(found);
            }
        } else {
            for path in given {
                all.add(self.discover_at(path));
            }
        }
        all.settle();
        all.roots.sort();
        all.roots.dedup();
        all
    }

    /// Returns the revisions of all agents, which determine whether stored facts are outdated.
    pub fn revisions(self) -> String {
        let revision = |agent: &dyn Agent| format!("{}={}", agent.id(), agent.revision());
        self.iter().map(revision).collect::<Vec<_>>().join(",")
    }
}

impl Rules for Agents {
    fn refine(&self, group: &str, parts: &mut [Part<'_>]) {
        let agent = parts.first().and_then(|part| self.get(&part.source.agent));
        if let Some(agent) = agent {
            agent.refine(group, parts);
        }
    }

    fn mark_copies(&self, sessions: &mut [SessionFacts]) {
        let agent = sessions.first().and_then(|first| self.get(&first.session.agent));
        if let Some(agent) = agent {
            agent.mark_copies(sessions);
        }
    }

    fn kind_of_typed(&self, agent: &AgentId, line: &str) -> MessageKind {
        self.get(agent).map_or(MessageKind::Prompt, |agent| agent.kind_of_typed(line))
    }
}
