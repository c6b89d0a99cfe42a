//! Selects sessions.

use jiff::Timestamp;

use crate::model::{Session, SessionKind};
use crate::project::Project;
use crate::time::Period;

/// Conditions on sessions. All of them must hold; an empty one always does.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Names, parts of paths or beginnings of hashes; one must match.
    pub projects: Vec<String>,
    /// Names of agents; one must match.
    pub agents: Vec<String>,
    /// Parts of model names; one must match.
    pub models: Vec<String>,
    /// The user's tags; one must match.
    pub tags: Vec<String>,
    /// Names of machines; one must match.
    pub machines: Vec<String>,
    /// Names of git branches; one must match.
    pub branches: Vec<String>,
    /// The period that sessions must overlap.
    pub period: Period,
    /// The kinds to include; if empty, conversations with any content.
    pub kinds: Vec<SessionKind>,
    /// Includes everything, even sessions without a turn and those known only from a prompt log.
    pub all: bool,
}

impl Filter {
    /// Returns whether a session is selected.
    pub fn takes(&self, session: &Session) -> bool {
        self.takes_kind(session)
            && self.takes_owner(session)
            && (self.models.is_empty() || self.models.iter().any(|m| uses(session, m)))
            && self.takes_time(session)
    }

    /// Returns whether it selects only some projects, agents, tags, machines or branches.
    pub fn narrows(&self) -> bool {
        let Self { projects, agents, tags, machines, branches, .. } = self;
        [projects, agents, tags, machines, branches].iter().any(|wanted| !wanted.is_empty())
    }

    /// Returns whether the session's project, agent, tags, machine and branch match, regardless of
    /// its content.
    pub fn takes_owner(&self, session: &Session) -> bool {
        let any = |wanted: &[String], has: &dyn Fn(&str) -> bool| {
            wanted.is_empty() || wanted.iter().any(|wanted| has(wanted))
        };
        self.takes_project(&session.project)
            && any(&self.agents, &|agent| agent == session.agent.as_str())
            && any(&self.tags, &|tag| session.tags.iter().any(|has| has == tag))
            && any(&self.machines, &|machine| machine == session.machine)
            && any(&self.branches, &|branch| session.branch.as_deref() == Some(branch))
    }

    fn takes_kind(&self, session: &Session) -> bool {
        if self.kinds.is_empty() {
            return self.all || session.is_listed();
        }
        self.kinds.contains(&session.kind)
            && (self.all || session.turns > 0 || session.kind != SessionKind::Main)
    }

    /// Returns whether a call of that time and model is selected.
    pub fn takes_call(&self, at: Option<Timestamp>, model: Option<&str>) -> bool {
        let model = model.unwrap_or("unknown").to_lowercase();
        let fits = |wanted: &String| model.contains(&wanted.to_lowercase());
        (self.models.is_empty() || self.models.iter().any(fits))
            && at.map_or(self.period.is_everything(), |at| self.period.contains(at))
    }

    /// Returns whether a project is selected.
    pub fn takes_project(&self, project: &Project) -> bool {
        self.projects.is_empty() || self.projects.iter().any(|wanted| project.matches(wanted))
    }

    fn takes_time(&self, session: &Session) -> bool {
        match (session.started, session.updated) {
            (Some(started), Some(updated)) => self.period.overlaps(started, updated),
            (Some(at), None) | (None, Some(at)) => self.period.contains(at),
            (None, None) => self.period.is_everything(),
        }
    }
}

fn uses(session: &Session, model: &str) -> bool {
    let model = model.to_lowercase();
    session.models.iter().any(|used| used.to_lowercase().contains(&model))
}
