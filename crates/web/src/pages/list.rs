//! A table of sessions, as the overview and the list of sessions show it.

use backstory_core::Session;
use backstory_core::model::{SessionKind, State};
use backstory_core::number::count;
use maud::{Markup, html};

use crate::app::Ask;
use crate::words::{age, cost, is_running, session_path, title, tokens};

/// Returns a table of sessions; `head` are the names of its columns.
pub(super) fn table(ask: &Ask<'_>, head: &Markup, rows: &Markup) -> Markup {
    html! {
        table.list data-rows aria-label=(if ask.path.len() > 1 { "Sessions" } else { "Recent sessions" }) {
            thead { tr { (head) } }
            tbody { (rows) }
        }
    }
}

/// Returns the names of the columns without links.
pub(super) fn plain_head() -> Markup {
    html! {
        th scope="col" { "Session" }
        th scope="col" { "Project" }
        th scope="col" { "Agent" }
        th.n scope="col" { "Prompts" }
        th.n scope="col" { "Tokens" }
        th.n scope="col" { "Cost" }
        th.n scope="col" { "Updated" }
    }
}

/// Returns one row for each session.
pub(super) fn rows<'a>(ask: &Ask<'_>, sessions: impl Iterator<Item = &'a Session>) -> Markup {
    html! { @for session in sessions { (row(ask, session)) } }
}

fn row(ask: &Ask<'_>, session: &Session) -> Markup {
    let bill = ask.snapshot.costs.of(&session.id);
    html! {
        tr data-session=(session.id) {
            td.title {
                a href=(session_path(session)) { (title(session)) }
                (marks(ask, session))
            }
            td.project { (session.project.name) }
            td.agent { (ask.agent_name(session.agent.as_str())) }
            td.n data-label=(if session.prompts == 1 { "prompt" } else { "prompts" }) { (count(session.prompts as u64)) }
            td.n data-label="tokens" { (tokens(session.usage.total())) }
            td.n data-label="cost" { (cost(&bill)) }
            td.n.when { (age(session.updated, ask.now, &ask.app.site.zone)) }
        }
    }
}

/// Shows the state of a session, where it is not an ordinary one.
pub(super) fn marks(ask: &Ask<'_>, session: &Session) -> Markup {
    html! {
        @if is_running(session, ask.now) { span.mark.running { "running" } }
        @if session.kind != SessionKind::Main { span.mark { (session.kind.name()) } }
        @match session.state {
            State::Live => "",
            State::Gone => span.mark title="Deleted by the agent, kept in the archive" { "deleted, archived" },
            State::LogOnly => span.mark title="Only its prompts are left" { "prompts only" },
        }
        @for tag in &session.tags { a.mark.tag href=(crate::query::Query::default().with("tag", Some(tag)).address("/sessions")) { "#" (tag) } }
    }
}
