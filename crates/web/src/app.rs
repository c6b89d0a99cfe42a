//! The state that all requests share, and a request for a page with everything that the page is made from.

use std::collections::BTreeSet;
use std::sync::Arc;

use backstory_core::archive::Archive;
use backstory_core::collection::Collection;
use backstory_core::model::SessionId;
use backstory_core::query::usage::{Answer, Group, Question};
use backstory_core::time::Period;
use backstory_core::{Reports, Session};
use jiff::{Timestamp, Zoned};

use crate::Site;
use crate::feed::{Feed, Snapshot};
use crate::guard::Guard;
use crate::query::Query;
use crate::readers::Readers;
use crate::reply::{Problem, Reply};
use crate::scope::Scope;

pub(crate) struct App {
    pub(crate) site: Site,
    pub(crate) feed: Feed,
    pub(crate) readers: Readers,
    pub(crate) guard: Guard,
}

pub(crate) type Shared = Arc<App>;

/// A page: makes a reply from a request.
pub(crate) type Page = fn(&Ask<'_>) -> Result<Reply, Problem>;

/// A request for a page.
pub(crate) struct Ask<'a> {
    pub(crate) app: &'a App,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) archive: &'a Archive,
    /// The parts of the path.
    pub(crate) path: &'a [String],
    /// The values after `?`, or those of a form.
    pub(crate) query: &'a Query,
    pub(crate) now: Timestamp,
}

impl Ask<'_> {
    pub(crate) fn all(&self) -> &Collection {
        &self.snapshot.all
    }

    pub(crate) fn zoned(&self) -> Zoned {
        self.now.to_zoned(self.app.site.zone.clone())
    }

    pub(crate) fn reports(&self) -> Reports<'_> {
        Reports::new(self.archive, &self.app.site.zone, &self.app.site.prices)
    }

    /// Returns the period, agent and project that the address names.
    pub(crate) fn scope(&self) -> Result<Scope, Problem> {
        Scope::of(self.query, &self.zoned())
    }

    /// Returns the scope of a search, which is all time unless the address names a period.
    pub(crate) fn scope_of_search(&self) -> Result<Scope, Problem> {
        let is_open =
            ["period", "since", "until"].iter().all(|name| self.query.get(name).is_none());
        let query =
            if is_open { self.query.with("period", Some("all")) } else { self.query.clone() };
        Scope::of(&query, &self.zoned())
    }

    /// Adds up calls of a scope in a period, once per snapshot.
    pub(crate) fn usage(
        &self,
        scope: &Scope,
        period: Period,
        group: Group,
    ) -> Result<Arc<Answer>, Problem> {
        let key = format!("usage {group:?} {period:?} {:?} {:?}", scope.agent, scope.project);
        self.snapshot.memo.get(&key, || self.usage_of(period, scope.sessions(self.all()), group))
    }

    /// Adds up calls of some sessions in a period.
    pub(crate) fn usage_of(
        &self,
        period: Period,
        sessions: Option<BTreeSet<SessionId>>,
        group: Group,
    ) -> Result<Answer, Problem> {
        let question = Question { period, sessions, ..Question::new(group) };
        Ok(self.reports().usage(&question)?)
    }

    /// Returns the session that the path names: `/sessions/AGENT/ID`.
    pub(crate) fn session(&self) -> Result<&Session, Problem> {
        let agent = self.path.get(1).map_or("", String::as_str);
        let id = self.path.get(2).map_or("", String::as_str);
        let found = self.all().get(id).filter(|session| session.agent.as_str() == agent);
        found.ok_or_else(|| {
            Problem::not_found("There is no such session.")
                .hint("It may have been forgotten, or its id is incomplete.")
        })
    }

    /// Returns the name of an agent for people.
    pub(crate) fn agent_name(&self, id: &str) -> String {
        let known = self.archive.agents().iter().find(|agent| agent.id().as_str() == id);
        known.map_or(id, |agent| agent.name()).to_owned()
    }
}
