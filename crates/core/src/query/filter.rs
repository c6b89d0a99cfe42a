//! Which sessions are meant.

use jiff::Timestamp;

use crate::model::{Session, SessionKind};
use crate::project::Project;
use crate::time::Period;

/// Every condition must hold; an empty one always does.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Names, path parts or beginnings of hashes; one must fit.
    pub projects: Vec<String>,
    pub agents: Vec<String>,
    /// Parts of model names; one must fit.
    pub models: Vec<String>,
    /// The user's tags, and names of machines; one of each must fit.
    pub tags: Vec<String>,
    pub machines: Vec<String>,
    pub period: Period,
    /// None for conversations in which something was said.
    pub kinds: Vec<SessionKind>,
    /// Everything, also what holds no turn and what only a log of prompts knows.
    pub all: bool,
}

impl Filter {
    pub fn takes(&self, session: &Session) -> bool {
        self.takes_kind(session)
            && self.takes_owner(session)
            && (self.models.is_empty() || self.models.iter().any(|m| uses(session, m)))
            && self.takes_time(session)
    }

    /// Whether only some projects, agents, tags or machines are meant.
    pub fn narrows(&self) -> bool {
        let Self { projects, agents, tags, machines, .. } = self;
        [projects, agents, tags, machines].iter().any(|wanted| !wanted.is_empty())
    }

    /// Whether what the session belongs to is meant, whatever happened in it.
    pub fn takes_owner(&self, session: &Session) -> bool {
        let any = |wanted: &[String], has: &dyn Fn(&str) -> bool| {
            wanted.is_empty() || wanted.iter().any(|wanted| has(wanted))
        };
        self.takes_project(&session.project)
            && any(&self.agents, &|agent| agent == session.agent.as_str())
            && any(&self.tags, &|tag| session.tags.iter().any(|has| has == tag))
            && any(&self.machines, &|machine| machine == session.machine)
    }

    fn takes_kind(&self, session: &Session) -> bool {
        if self.kinds.is_empty() {
            return self.all || session.is_listed();
        }
        self.kinds.contains(&session.kind)
            && (self.all || session.turns > 0 || session.kind != SessionKind::Main)
    }

    /// Whether a call of that time and model is meant.
    pub fn takes_call(&self, at: Option<Timestamp>, model: Option<&str>) -> bool {
        let model = model.unwrap_or("unknown").to_lowercase();
        let fits = |wanted: &String| model.contains(&wanted.to_lowercase());
        (self.models.is_empty() || self.models.iter().any(fits))
            && at.map_or(self.period.is_everything(), |at| self.period.contains(at))
    }

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
