//! The frame of every page: navigation, the choice of period, agent and project, and the footer.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use axum::http::Response;
use backstory_core::number::plural;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::app::Ask;
use crate::assets;
use crate::reply::{Problem, Reply};
use crate::scope::{PERIODS, Scope};

/// The pages in the bar, with the letter that follows `g`, and those behind `More`.
const MAIN: [(&str, &str, &str); 5] = [
    ("/", "Overview", "o"),
    ("/sessions", "Sessions", "s"),
    ("/search", "Search", "f"),
    ("/usage/daily", "Usage", "u"),
    ("/insights", "Insights", "i"),
];
const MORE: [(&str, &str, &str); 5] = [
    ("/projects", "Projects", "p"),
    ("/tools", "Tools", "t"),
    ("/commands", "Commands", "c"),
    ("/files", "Files", "l"),
    ("/health", "Health", "h"),
];

/// A page to be framed.
pub(crate) struct Frame<'a> {
    pub(crate) title: &'a str,
    /// The address of the page in the bar that it belongs to.
    pub(crate) section: &'a str,
    /// The scope, for pages that have one.
    pub(crate) scope: Option<&'a Scope>,
    /// A class for the main part.
    pub(crate) class: &'a str,
    /// The address of another script.
    pub(crate) script: Option<&'a str>,
    pub(crate) body: Markup,
}

/// Puts a page into its frame.
pub(crate) fn frame(ask: &Ask<'_>, page: Frame<'_>) -> Reply {
    let Frame { title, section, scope, class, script, body } = page;
    let link = |path: &str| scope.map_or_else(|| path.to_owned(), |scope| scope.link(path));
    let item = |(path, name, key): (&str, &str, &str)| {
        html! {
            a href=(link(path)) aria-current=[(path == section).then_some("page")] data-key=(key) { (name) }
        }
    };
    let is_more = MORE.iter().any(|(path, ..)| *path == section);
    let markup = html! {
        (head(title, script))
        body data-version=(ask.snapshot.version) {
            a.skip href="#main" { "Skip to the content" }
            header.top {
                a.brand href=(link("/")) { (mark()) "backstory" }
                nav aria-label="Main" {
                    @for page in MAIN { (item(page)) }
                    details.more {
                        summary class=[is_more.then_some("current")] { "More" }
                        div { @for page in MORE { (item(page)) } }
                    }
                }
                form.find role="search" action="/search" {
                    input type="search" name="q" placeholder="Search" aria-label="Search all sessions" autocomplete="off" value=(ask.query.get("q").filter(|_| section == "/search").unwrap_or_default());
                    kbd aria-hidden="true" { "/" }
                }
            }
            @if let Some(scope) = scope { (chooser(ask, scope, section)) }
            main id="main" class=(class) tabindex="-1" { (body) }
            (footer(ask))
            div id="say" role="status" aria-live="polite" {}
        }
    };
    Reply::Html(markup)
}

fn head(title: &str, script: Option<&str>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en";
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (title) " · backstory" }
            link rel="icon" href=(assets::icon_address()) type="image/svg+xml";
            link rel="stylesheet" href=(assets::style());
            script src=(assets::script()) defer {}
            @if let Some(script) = script { script src=(script) defer {} }
        }
    }
}

/// The mark of the program: two layers, the older one below.
fn mark() -> Markup {
    html! {
        svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" {
            path d="M4 4h9v9H4z" class="back" {}
            path d="M7 7h9v9H7z" class="front" {}
        }
    }
}

/// The choice of period, agent and project, as a form that works without a script.
fn chooser(ask: &Ask<'_>, scope: &Scope, section: &str) -> Markup {
    let mut projects: BTreeMap<String, &str> = BTreeMap::new();
    let mut agents: BTreeSet<&str> = BTreeSet::new();
    for session in &ask.all().sessions {
        agents.insert(session.agent.as_str());
        projects.entry(session.project.name.to_lowercase()).or_insert(&session.project.name);
    }
    let keep: Vec<&(String, String)> = ask
        .query
        .pairs()
        .iter()
        .filter(|(name, value)| {
            !matches!(
                name.as_str(),
                "period" | "agent" | "project" | "since" | "until" | "page" | "token"
            ) && !value.is_empty()
        })
        .collect();
    let path = format!(
        "/{}",
        ask.path.iter().map(|part| crate::query::encode(part)).collect::<Vec<_>>().join("/")
    );
    let action = if ask.path.first().is_some_and(|first| !first.is_empty()) {
        path.as_str()
    } else {
        section
    };
    html! {
        form.scope action=(action) aria-label="Filter" {
            @for (name, value) in keep { input type="hidden" name=(name) value=(value); }
            label { span.sr { "Period" }
                select name="period" {
                    @if scope.choice.is_none() { option value="" selected { (scope.label) } }
                    @for (value, name, _) in PERIODS {
                        option value=(value) selected[scope.choice == Some(value)] { (name) }
                    }
                }
            }
            label { span.sr { "Agent" }
                select name="agent" {
                    option value="" { "all agents" }
                    @for agent in &agents {
                        option value=(agent) selected[scope.agent.as_deref() == Some(agent)] { (ask.agent_name(agent)) }
                    }
                }
            }
            label { span.sr { "Project" }
                select name="project" {
                    option value="" { "all projects" }
                    @for name in projects.values() {
                        option value=(name) selected[scope.project.as_deref() == Some(name)] { (name) }
                    }
                    @if let Some(project) = scope.project.as_ref().filter(|wanted| !projects.values().any(|name| name == wanted)) {
                        option value=(project) selected { (project) }
                    }
                }
            }
            noscript { button { "Apply" } }
            @if scope.agent.is_some() || scope.project.is_some() || scope.choice.is_none() {
                a.clear href=(action) { "Clear" }
            }
        }
    }
}

fn footer(ask: &Ask<'_>) -> Markup {
    let site = &ask.app.site;
    let sessions = ask.all().listed().len() as u64;
    html! {
        footer.bottom {
            @if site.is_demo { span { "sample sessions" } }
            span { (plural(sessions, "session", "sessions")) " in all" }
            span { "times in " (site.zone_name) }
            span { "costs at list price of " (site.prices.date()) }
            @if !ask.snapshot.is_fresh { span.reading { "reading files…" } }
            button.keys type="button" hidden { "Keys " kbd { "?" } }
        }
    }
}

/// Returns the page of a problem. It has no navigation, because it may be shown to strangers.
pub(crate) fn problem(problem: &Problem) -> Response<Body> {
    let Problem { status, what, hint } = problem;
    let title = status.canonical_reason().unwrap_or("Problem");
    let markup = html! {
        (head(title, None))
        body.problem {
            main {
                p.code { (status.as_u16()) " " (title) }
                h1 { (ticked(what)) }
                @if let Some(hint) = hint { p { (ticked(hint)) } }
                p { a href="/" { "Overview" } }
            }
        }
    };
    Reply::Html(markup).respond(*status)
}

/// Shows text in which backticks mark code.
pub(crate) fn ticked(text: &str) -> Markup {
    let mut out = String::new();
    for (n, part) in text.split('`').enumerate() {
        let part = html! { (part) }.into_string();
        let is_code = n % 2 == 1;
        let around = if is_code { ["<code>", "</code>"] } else { ["", ""] };
        out.extend([around[0], &part, around[1]]);
    }
    PreEscaped(out)
}

/// Returns what a page shows if it has nothing to show.
pub(crate) fn nothing(what: &str, hint: &Markup) -> Markup {
    html! { div.nothing { p.what { (what) } p { (hint) } } }
}
