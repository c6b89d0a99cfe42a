//! What is around the messages of a session: its facts above them, its prompts beside them.

use std::collections::BTreeMap;

use backstory_core::Session;
use backstory_core::clean;
use backstory_core::export::html::write_minimap;
use backstory_core::export::{Document, Options};
use backstory_core::model::Message;
use backstory_core::number::{count, date, duration, plural};
use backstory_core::pricing::Bill;
use maud::{Markup, PreEscaped, html};

use super::Reading;
use super::story::{View, cannot};
use crate::app::Ask;
use crate::pages::list::marks;
use crate::query::Query;
use crate::reply::Problem;
use crate::words::{cost, is_running, session_path, title, tokens};

/// The maximum number of characters of a prompt in the list.
const PROMPT: usize = 110;

/// Returns the list of prompts, each with the work that it caused, and the subagents.
pub(super) fn side(ask: &Ask<'_>, reading: &Reading<'_>) -> Markup {
    let turns = turns(ask, &reading.messages);
    let children: Vec<&Session> = ask
        .all()
        .sessions
        .iter()
        .filter(|session| session.parent.as_ref() == Some(&reading.session.id))
        .collect();
    html! {
        aside.side id="side" aria-label="Prompts" {
            div.find-here {
                input type="search" id="find" placeholder="Find in this session" aria-label="Find in this session" autocomplete="off" value=(ask.query.get("find").unwrap_or_default());
                output id="found" for="find" {}
            }
            details open {
                summary { (plural(turns.len() as u64, "prompt", "prompts")) }
                ol.prompts {
                    @for turn in &turns {
                        li class=(turn.fate) {
                            a href=(format!("{}#m{}", reading.link("at", &turn.place.to_string()), turn.place)) data-place=(turn.place) {
                                span { (turn.words) }
                                @if !turn.work.is_empty() { small { (turn.work) } }
                            }
                        }
                    }
                }
            }
            @if !children.is_empty() {
                details open {
                    summary { (plural(children.len() as u64, "subagent", "subagents")) }
                    ul.children { @for child in children { li { a href=(session_path(child)) { (title(child)) } small { (tokens(child.usage.total())) " tokens" } } } }
                }
            }
        }
    }
}

/// A prompt and the work that it caused.
struct Turn {
    place: usize,
    fate: &'static str,
    words: String,
    work: String,
}

fn turns(ask: &Ask<'_>, messages: &[Message]) -> Vec<Turn> {
    let mut out: Vec<Turn> = Vec::new();
    let mut starts: Vec<usize> = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| message.kind.is_typed())
        .map(|(place, _)| place)
        .collect();
    starts.push(messages.len());
    for pair in starts.windows(2) {
        let prompt = &messages[pair[0]];
        let mut line = clean::one_line(prompt.words());
        let mut words: String = line.by_ref().take(PROMPT).collect();
        if line.next().is_some() {
            words.push('…');
        }
        let work = work(ask, &messages[pair[0]..pair[1]]);
        out.push(Turn { place: pair[0], fate: prompt.fate.name(), words, work });
    }
    out
}

/// Describes the tools and the cost of a turn.
fn work(ask: &Ask<'_>, messages: &[Message]) -> String {
    let mut tools: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failed = 0_u64;
    let mut bill = Bill::default();
    for message in messages {
        for call in &message.tool_calls {
            *tools.entry(&call.name.label).or_default() += 1;
            failed += u64::from(call.has_failed());
        }
        if !message.is_imported {
            bill.add(&ask.app.site.prices.bill_message(message, message.at));
        }
    }
    let mut tools: Vec<(&str, u64)> = tools.into_iter().collect();
    tools.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let mut parts: Vec<String> = tools
        .iter()
        .take(3)
        .map(|(name, number)| format!("{number} {}", clean::line(name)))
        .collect();
    if tools.len() > 3 {
        parts.push("…".to_owned());
    }
    if failed > 0 {
        parts.push(format!("{failed} failed"));
    }
    parts.extend(bill.short());
    parts.join(" · ")
}

/// Returns the facts of a session, what can be done with it, and the map of its turns.
pub(super) fn header(ask: &Ask<'_>, reading: &Reading<'_>) -> Result<Markup, Problem> {
    let session = reading.session;
    let bill = ask.snapshot.costs.of(&session.id);
    let calls = reading.messages.iter().flat_map(|message| &message.tool_calls);
    let failed = calls.filter(|call| call.has_failed()).count() as u64;
    let project = &session.project;
    let resume = format!("backstory resume {}", ask.all().short(session));
    let zone = &ask.app.site.zone;
    Ok(html! {
        header.about id="about" data-running=[is_running(session, ask.now).then_some("true")] {
            p.place {
                a href=(Query::default().with("project", Some(&project.name)).with("period", Some("all")).address("/sessions")) { (project.name) }
                @if let Some(path) = &project.path { " " code { (path) } }
                @if let Some(branch) = &session.branch { " on " code { (branch) } }
            }
            h1 { (title(session)) }
            p.facts {
                span { (ask.agent_name(session.agent.as_str())) }
                @for model in &session.models { span { (model) } }
                @if let (Some(from), Some(to)) = (session.started, session.updated) {
                    span { (date(from, zone)) " – " (to.to_zoned(zone.clone()).strftime(if from.to_zoned(zone.clone()).date() == to.to_zoned(zone.clone()).date() { "%H:%M" } else { "%Y-%m-%d %H:%M" })) }
                    span { (duration(to.duration_since(from))) }
                }
                @if let Some(parent) = session.parent.as_deref().and_then(|id| ask.all().get(id)) { span { "started by " a href=(session_path(parent)) { (title(parent)) } } }
                (marks(ask, session))
            }
            dl.sums {
                (sum(count(session.prompts as u64).as_str(), "prompts"))
                (sum(count(session.calls as u64).as_str(), "model calls"))
                div { dt { "tool calls" } dd { (count(session.tool_calls as u64)) @if failed > 0 { " " small.bad { (count(failed)) " failed" } } } }
                div { dt { "tokens" } dd { (tokens(session.usage.total())) } }
                div { dt { "at list price" } dd { (cost(&bill)) } }
            }
            (minimap(ask, reading)?)
            div.actions {
                div.switch role="group" aria-label="View" {
                    @for view in View::ALL {
                        a href=(Query::default().with("view", (view != View::Full).then(|| view.name())).address(&session_path(session))) aria-current=[(view == reading.view).then_some("true")] data-view=(view.name()) title=(what(view)) { (view.name()) }
                    }
                }
                code.resume id="resume" { (resume) }
                button.copy-text type="button" data-copy=(resume) hidden { "Copy resume command" }
                button.copy-link type="button" hidden { "Copy link" }
                button.unfold type="button" hidden { "Unfold all" }
                details.menu {
                    summary { "Export" }
                    div { @for (format, name) in [("html", "HTML page"), ("markdown", "Markdown"), ("json", "JSON")] { a href=(format!("{}/export/{format}", session_path(session))) download { (name) } } small { "Secrets are removed." } }
                }
                (annotations(ask, session))
            }
        }
    })
}

fn sum(value: &str, name: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn what(view: View) -> &'static str {
    match view {
        View::Full => "Everything that happened, with what became of it",
        View::Current => "What the agent itself would load",
        View::Focused => "Each prompt with the last answer to it",
    }
}

/// Returns the forms for its name and tags.
fn annotations(ask: &Ask<'_>, session: &Session) -> Markup {
    let path = session_path(session);
    let token = ask.app.guard.form();
    html! {
        details.menu {
            summary { "Name, tags" }
            div {
                form method="post" action=(format!("{path}/name")) {
                    input type="hidden" name="token" value=(token);
                    label { "Name " input name="name" value=(session.name.as_deref().unwrap_or_default()) maxlength="120" autocomplete="off"; }
                    button { "Save" }
                }
                form method="post" action=(format!("{path}/tags")) {
                    input type="hidden" name="token" value=(token);
                    label { "Tags " input name="tags" value=(session.tags.join(" ")) maxlength="200" autocomplete="off"; }
                    button { "Save" }
                }
            }
        }
    }
}

/// Draws the tokens of each turn.
fn minimap(ask: &Ask<'_>, reading: &Reading<'_>) -> Result<Markup, Problem> {
    let options = Options::default();
    let site = &ask.app.site;
    let document = Document {
        session: reading.session,
        messages: &reading.messages,
        cost: Bill::default(),
        options: &options,
        prices: &site.prices,
        zone: &site.zone,
        agents: &|_| Ok(None),
    };
    let link = |place: usize| format!("{}#m{place}", reading.link("at", &place.to_string()));
    let mut out = Vec::new();
    write_minimap(&document, &link, &mut out).map_err(|error| cannot(&error))?;
    Ok(PreEscaped(String::from_utf8_lossy(&out).into_owned()))
}
