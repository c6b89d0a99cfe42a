//! The list of sessions: words, facets, order, and further rows as the reader scrolls.

use std::collections::{BTreeMap, HashSet};

use backstory_core::Session;
use backstory_core::archive::Order;
use backstory_core::collection::newest_first;
use backstory_core::model::{SessionKind, State};
use backstory_core::number::{count, plural};
use backstory_core::pricing::Bill;
use maud::{Markup, html};

use super::{list, search};
use crate::app::Ask;
use crate::layout::{Frame, frame, nothing};
use crate::reply::{Problem, Reply};
use crate::scope::Scope;
use crate::words::{dollars, is_running};

/// The rows of a page.
const PAGE: usize = 60;

/// The maximum number of values of a facet.
const VALUES: usize = 8;

/// The orders: the value in the address, and the name of the column.
const SORTS: [(&str, &str, &str); 7] = [
    ("title", "Session", ""),
    ("project", "Project", ""),
    ("agent", "Agent", ""),
    ("prompts", "Prompts", "n"),
    ("tokens", "Tokens", "n"),
    ("cost", "Cost", "n"),
    ("updated", "Updated", "n"),
];

pub(crate) fn sessions(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let scope = ask.scope()?;
    let words = ask.query.get("q");
    let (mut found, kinds) = selected(ask, &scope)?;
    let facets = facets(ask, &found, &kinds);
    retain_facets(ask, &mut found);
    sort(ask, &mut found);
    let page: usize = ask.query.get("page").and_then(|page| page.parse().ok()).unwrap_or(1).max(1);
    let shown: Vec<&Session> =
        found.iter().skip((page - 1).saturating_mul(PAGE)).take(PAGE).copied().collect();
    let more = found.len() > page.saturating_mul(PAGE);
    let next = ask.query.with("page", Some(&(page + 1).to_string())).address("/sessions");
    let bills: Vec<Bill> = found.iter().map(|session| ask.snapshot.costs.of(&session.id)).collect();
    let total: Bill = bills.iter().collect();
    let body = html! {
        header.row {
            h1 { "Sessions" }
            form.words role="search" action="/sessions" {
                @for (name, value) in ask.query.with("q", None).with("page", None).pairs() { input type="hidden" name=(name) value=(value); }
                input type="search" name="q" value=(words.unwrap_or_default()) placeholder="Words in title or text" aria-label="Words in title or text";
            }
        }
        p.sum {
            (plural(found.len() as u64, "session", "sessions")) ", " (scope.label)
            @if let Some(cost) = total.short() { "; " span title="The whole sessions, also before this period" { (cost) " together" } }
        }
        div.with-facets {
            (facets)
            div {
                @if shown.is_empty() { (none(ask, &scope)) }
                @else {
                    (list::table(ask, &heads(ask), &list::rows(ask, shown.into_iter())))
                    @if more { p.next { a href=(next) rel="next" data-more { "More sessions" } } }
                }
            }
        }
    };
    let page = Frame {
        title: "Sessions",
        section: "/sessions",
        scope: Some(&scope),
        class: "sessions",
        script: None,
        body,
    };
    Ok(frame(ask, page))
}

/// The number of sessions of each kind.
type Kinds = [(SessionKind, u64); SessionKind::ALL.len()];

/// Returns the sessions of a scope that contain the words and are of the chosen kind, and how many there are of each.
fn selected<'a>(ask: &'a Ask<'_>, scope: &Scope) -> Result<(Vec<&'a Session>, Kinds), Problem> {
    let mut filter = scope.filter();
    filter.tags = ask.query.all("tag").filter(|tag| !tag.is_empty()).map(str::to_owned).collect();
    filter.models =
        ask.query.all("model").filter(|model| !model.is_empty()).map(str::to_owned).collect();
    let wanted = ask.query.get("kind").unwrap_or(SessionKind::Main.name());
    let known = SessionKind::ALL.into_iter().find(|known| known.name() == wanted);
    let kind =
        known.ok_or_else(|| Problem::invalid(format!("`{wanted}` is not a kind of session.")))?;
    filter.kinds = SessionKind::ALL.to_vec();
    let mut found: Vec<&Session> = ask.all().sessions.iter().filter(|s| filter.takes(s)).collect();
    // Conversations are those of the default list.
    found.retain(|session| session.kind != SessionKind::Main || session.is_listed());
    if let Some(words) = ask.query.get("q") {
        let said = with_words(ask, words)?;
        let lower: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
        found.retain(|session| {
            let title = session.title().0.to_lowercase();
            said.contains(session.id.as_str()) || lower.iter().all(|word| title.contains(word))
        });
    }
    let number = |kind| found.iter().filter(|session| session.kind == kind).count() as u64;
    let kinds = SessionKind::ALL.map(|kind| (kind, number(kind)));
    found.retain(|session| session.kind == kind);
    Ok((found, kinds))
}

/// Returns the ids of sessions whose text, or that of their subagents, has some words.
fn with_words<'a>(ask: &'a Ask<'_>, words: &str) -> Result<HashSet<&'a str>, Problem> {
    let Ok(query) = search::query(ask, words) else { return Ok(HashSet::new()) };
    let found = ask.archive.matches(&query, &ask.all().sessions, Order::Date, &|session| {
        query.filters.takes_session(session)
    })?;
    Ok(found.iter().map(|hit| ask.all().main_of(hit.session)).collect())
}

fn retain_facets(ask: &Ask<'_>, found: &mut Vec<&Session>) {
    match ask.query.get("state") {
        Some("running") => found.retain(|session| is_running(session, ask.now)),
        Some("gone") => found.retain(|session| session.state == State::Gone),
        _ => {}
    }
}

fn sort(ask: &Ask<'_>, sessions: &mut [&Session]) {
    newest_first(sessions);
    let cost = |session: &Session| dollars(&ask.snapshot.costs.of(&session.id));
    match ask.query.get("sort").unwrap_or("updated") {
        "cost" => sessions.sort_by(|a, b| cost(b).total_cmp(&cost(a))),
        "tokens" => sessions.sort_by_key(|session| std::cmp::Reverse(session.usage.total())),
        "prompts" => sessions.sort_by_key(|session| std::cmp::Reverse(session.prompts)),
        "project" => sessions.sort_by_cached_key(|session| session.project.name.to_lowercase()),
        "agent" => sessions.sort_by(|a, b| a.agent.as_str().cmp(b.agent.as_str())),
        "title" => sessions.sort_by_cached_key(|session| session.title().0.to_lowercase()),
        _ => {}
    }
    if ask.query.get("reverse").is_some() {
        sessions.reverse();
    }
}

/// Returns the heads of the columns, each of which sorts; a second time reverses.
fn heads(ask: &Ask<'_>) -> Markup {
    let by = ask.query.get("sort").unwrap_or("updated");
    let is_reverse = ask.query.get("reverse").is_some();
    let descends = |name: &str| !matches!(name, "title" | "project" | "agent");
    let link = |name: &str| {
        let reverse = (by == name && !is_reverse).then_some("1");
        ask.query
            .with("page", None)
            .with("sort", Some(name))
            .with("reverse", reverse)
            .address("/sessions")
    };
    let order = |name: &str| {
        (by == name).then(|| if descends(name) == is_reverse { "ascending" } else { "descending" })
    };
    html! {
        @for (name, label, class) in SORTS {
            th scope="col" class=[(!class.is_empty()).then_some(class)] aria-sort=[order(name)] { a href=(link(name)) { (label) } }
        }
    }
}

/// Shows how many sessions have each value, with links that narrow the list.
fn facets(ask: &Ask<'_>, found: &[&Session], kinds: &Kinds) -> Markup {
    let mut agents: BTreeMap<&str, u64> = BTreeMap::new();
    let mut projects: BTreeMap<&str, u64> = BTreeMap::new();
    let mut models: BTreeMap<&str, u64> = BTreeMap::new();
    let mut tags: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut running, mut gone) = (0, 0);
    for session in found {
        *agents.entry(session.agent.as_str()).or_default() += 1;
        *projects.entry(&session.project.name).or_default() += 1;
        for model in &session.models {
            *models.entry(model).or_default() += 1;
        }
        for tag in &session.tags {
            *tags.entry(tag).or_default() += 1;
        }
        running += u64::from(is_running(session, ask.now));
        gone += u64::from(session.state == State::Gone);
    }
    let facet = |title: &str, name: &str, values: Vec<(&str, String, u64)>| {
        let chosen = ask.query.get(name);
        let link = |value: Option<&str>| {
            ask.query.with("page", None).with(name, value).address("/sessions")
        };
        html! {
            @if values.len() > 1 || chosen.is_some() {
                section {
                    h2 { (title) }
                    ul {
                        @for (value, shown, number) in &values {
                            li {
                                a href=(link((chosen != Some(value)).then_some(value))) aria-current=[(chosen == Some(value)).then_some("true")] { (shown) }
                                " " small { (count(*number)) }
                            }
                        }
                        @if chosen.is_some() { li { a.clear href=(link(None)) { "all" } } }
                    }
                }
            }
        }
    };
    let top = |counts: BTreeMap<&str, u64>| {
        let mut values: Vec<(String, u64)> =
            counts.into_iter().map(|(name, number)| (name.to_owned(), number)).collect();
        values.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        values.truncate(VALUES);
        values
    };
    let (agents, projects, models, tags) = (top(agents), top(projects), top(models), top(tags));
    let states = [
        ("running", "running".to_owned(), running),
        ("gone", "deleted, archived".to_owned(), gone),
    ];
    let states: Vec<_> = states
        .into_iter()
        .filter(|(name, _, number)| *number > 0 || ask.query.get("state") == Some(name))
        .collect();
    html! {
        aside.facets aria-label="Narrow the list" {
            (facet("Agent", "agent", agents.iter().map(|(id, number)| (id.as_str(), ask.agent_name(id), *number)).collect()))
            (facet("Project", "project", projects.iter().map(|(name, number)| (name.as_str(), name.clone(), *number)).collect()))
            (facet("Model", "model", models.iter().map(|(name, number)| (name.as_str(), name.clone(), *number)).collect()))
            @if !states.is_empty() { (facet_state(ask, &states)) }
            (facet("Tag", "tag", tags.iter().map(|(name, number)| (name.as_str(), format!("#{name}"), *number)).collect()))
            section {
                h2 { "Kind" }
                ul {
                    @for (kind, number) in kinds {
                        @let chosen = ask.query.get("kind").unwrap_or("main") == kind.name();
                        li {
                            a href=(ask.query.with("page", None).with("kind", (*kind != SessionKind::Main).then_some(kind.name())).address("/sessions")) aria-current=[chosen.then_some("true")] { (kind_name(*kind)) }
                            " " small { (count(*number)) }
                        }
                    }
                }
            }
        }
    }
}

fn facet_state(ask: &Ask<'_>, states: &[(&str, String, u64)]) -> Markup {
    let chosen = ask.query.get("state");
    html! {
        section {
            h2 { "State" }
            ul {
                @for (value, shown, number) in states {
                    li {
                        a href=(ask.query.with("page", None).with("state", (chosen != Some(value)).then_some(value)).address("/sessions")) aria-current=[(chosen == Some(value)).then_some("true")] { (shown) }
                        " " small { (count(*number)) }
                    }
                }
            }
        }
    }
}

fn kind_name(kind: SessionKind) -> &'static str {
    match kind {
        SessionKind::Main => "conversations",
        SessionKind::Subagent => "subagents",
        SessionKind::Background => "background jobs",
        SessionKind::Checkpoint => "saved chats",
    }
}

/// Explains an empty list, and offers to lift what excludes sessions.
fn none(ask: &Ask<'_>, scope: &Scope) -> Markup {
    let everything = ask.all().listed().len();
    let lift = |name: &str| ask.query.with("page", None).with(name, None).address("/sessions");
    nothing(
        "No sessions match.",
        &html! {
            @if !scope.period.is_everything() { a href=(ask.query.with("since", None).with("until", None).with("page", None).with("period", Some("all")).address("/sessions")) { "Search all time" } " " }
            @for name in ["q", "agent", "project", "model", "tag", "state", "kind"] {
                @if let Some(value) = ask.query.get(name) { a href=(lift(name)) { "Without “" (value) "”" } " " }
            }
            @if everything > 0 { a href="/sessions?period=all" { "All " (plural(everything as u64, "session", "sessions")) } }
        },
    )
}
