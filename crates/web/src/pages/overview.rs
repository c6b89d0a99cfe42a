//! The first page: what runs, what needs attention, what it cost, and what was done last.

use backstory_core::Session;
use backstory_core::number::{count, percent, plural};
use backstory_core::query::usage::{Answer, Group, Row};
use backstory_core::time::Period;
use maud::{Markup, html};

use super::attention::{self, Notice};
use super::over_time::{chart, group_of, project_name, switches};
use super::{heatmap, list};
use crate::app::Ask;
use crate::chart::{Bar, bars};
use crate::layout::{Frame, frame, nothing, ticked};
use crate::reply::{Problem, Reply};
use crate::scope::Scope;
use crate::words::{
    age, change, cost, dollars, float, is_running, session_path, share, title, tokens,
};

/// The rows of short lists.
const SHOWN: usize = 6;
const RECENT: usize = 10;

pub(crate) fn overview(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let scope = ask.scope()?;
    let body = if ask.all().sessions.is_empty() { empty(ask) } else { full(ask, &scope)? };
    let page = Frame {
        title: "Overview",
        section: "/",
        scope: Some(&scope),
        class: "overview",
        script: None,
        body,
    };
    Ok(frame(ask, page))
}

fn full(ask: &Ask<'_>, scope: &Scope) -> Result<Markup, Problem> {
    let filter = scope.filter();
    let running: Vec<&Session> = ask
        .all()
        .listed()
        .into_iter()
        .filter(|session| is_running(session, ask.now) && filter.takes_owner(session))
        .collect();
    let notices = attention::notices(ask, scope)?;
    let models = ask.usage(scope, scope.period, Group::Model)?;
    let projects = ask.usage(scope, scope.period, Group::Project)?;
    let year = ask.usage(scope, Period::default(), Group::Daily)?;
    let mut recent = ask.all().listed();
    recent.retain(|session| filter.takes(session));
    Ok(html! {
        h1.sr { "Overview" }
        div data-live="now" { (now(ask, &running)) }
        (attention_list(&notices))
        (cards(ask, scope, &models, recent.len())?)
        section.panel {
            header.row {
                h2 { "Over time" }
                (switches(ask, "/"))
                a.file href=(scope.link("/usage/daily")) { "All numbers" }
            }
            (spend(ask, scope, models.total.calls)?)
        }
        div.pair {
            section.panel { h2 { a href=(scope.link("/usage/model")) { "Models" } } (shares("Cost by model", &models, &|row| (row.key.clone(), Some(scope.link_with("/sessions", "model", &row.key))))) }
            section.panel { h2 { a href=(scope.link("/projects")) { "Projects" } }
                (shares("Cost by project", &projects, &|row| {
                    let name = project_name(ask, &row.key);
                    let link = scope.link_with("/sessions", "project", &name);
                    (name, Some(link))
                }))
            }
        }
        section.panel { h2 { "Year" } (heatmap::draw(&year.rows, ask.zoned().date(), scope)) }
        section.panel {
            header.row { h2 { "Recent sessions" } a.file href=(scope.link("/sessions")) { "All " (count(recent.len() as u64)) } }
            @if recent.is_empty() { (nothing("No session in this period.", &html! { a href="/?period=all" { "Show all time" } })) }
            @else { (list::table(ask, &list::plain_head(), &list::rows(ask, recent.iter().take(RECENT).copied()))) }
        }
    })
}

/// Shows the sessions that agents are working on.
fn now(ask: &Ask<'_>, running: &[&Session]) -> Markup {
    html! {
        @if !running.is_empty() {
            section.now aria-labelledby="running" {
                h2 id="running" { "Running" }
                ul {
                    @for session in running {
                        li {
                            a href=(session_path(session)) { (title(session)) }
                            span.facts {
                                span { (session.project.name) }
                                span { (ask.agent_name(session.agent.as_str())) }
                                span { (plural(session.calls as u64, "call", "calls")) }
                                span { (cost(&ask.snapshot.costs.of(&session.id))) }
                                span { (age(session.updated, ask.now, &ask.app.site.zone)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn attention_list(notices: &[Notice]) -> Markup {
    html! {
        @if !notices.is_empty() {
            section.attention aria-labelledby="attention" {
                h2 id="attention" { "Attention" }
                ul { @for notice in notices { li { a href=(notice.link) { (ticked(&notice.text)) } } } }
            }
        }
    }
}

/// Shows four numbers, each with its change and a link to the rows that it counts.
fn cards(ask: &Ask<'_>, scope: &Scope, now: &Answer, sessions: usize) -> Result<Markup, Problem> {
    let before = match scope.before(&ask.zoned()) {
        Some((period, from, to)) => {
            Some((ask.usage(scope, period, Group::Agent)?, period, from, to))
        }
        None => None,
    };
    let old_sessions = before.as_ref().map(|(_, period, ..)| {
        let filter = backstory_core::query::Filter { period: *period, ..scope.filter() };
        ask.all().sessions.iter().filter(|session| filter.takes(session)).count()
    });
    let usage = &now.total.usage;
    let compared = |now: f64, old: &dyn Fn(&Answer) -> f64| {
        before.as_ref().map(|(answer, ..)| change(now, old(answer)))
    };
    let rate = |answer: &Answer| {
        float(answer.total.usage.cached) / float(answer.total.usage.prompt()).max(1.0) * 100.0
    };
    let points = before.as_ref().map(|(old, ..)| {
        let by = (rate(now) - rate(old)).round();
        match by {
            _ if old.total.usage.prompt() == 0 => "nothing before".to_owned(),
            0.0 => "no change".to_owned(),
            by if by > 0.0 => format!("+{by:.0} points"),
            by => format!("−{:.0} points", by.abs()),
        }
    });
    let cards = [
        (
            "spend",
            cost(&now.total.bill),
            compared(dollars(&now.total.bill), &|old| dollars(&old.total.bill)),
            scope.link("/usage/daily"),
        ),
        (
            "tokens",
            tokens(usage.total()),
            compared(float(usage.total()), &|old| float(old.total.usage.total())),
            scope.link("/usage/daily"),
        ),
        (
            "sessions",
            html! { (count(sessions as u64)) },
            old_sessions.map(|old| change(float(sessions as u64), float(old as u64))),
            scope.link("/sessions"),
        ),
        (
            "cache hits",
            html! { (percent(usage.cached, usage.prompt())) },
            points,
            scope.link("/usage/model"),
        ),
    ];
    Ok(html! {
        section.cards aria-label=(format!("Totals, {}", scope.label)) {
            @for (name, value, change, link) in &cards {
                a.card href=(link) {
                    span.name { (name) }
                    strong { (value) }
                    span.change { (change.as_deref().unwrap_or("in all")) }
                }
            }
        }
        @if let Some((_, _, from, to)) = &before { p.compared { "Compared with " (from.strftime("%-d %b %Y")) " to " (to.strftime("%-d %b %Y")) "." } }
    })
}

/// Draws the calls of each day, or week, or month.
fn spend(ask: &Ask<'_>, scope: &Scope, calls: u64) -> Result<Markup, Problem> {
    if calls == 0 {
        let all = html! { a href="/?period=all" { "Show all time" } };
        return Ok(nothing("No calls in this period.", &all));
    }
    chart(ask, scope, group_of(scope, ask))
}

/// Shows the share of each row in the cost.
fn shares(title: &str, answer: &Answer, name: &dyn Fn(&Row) -> (String, Option<String>)) -> Markup {
    let mut rows: Vec<&Row> = answer.rows.iter().collect();
    rows.sort_by(|a, b| dollars(&b.sum.bill).total_cmp(&dollars(&a.sum.bill)));
    let whole = dollars(&answer.total.bill);
    let bar = |row: &&Row| {
        let (name, link) = name(row);
        Bar {
            name,
            length: dollars(&row.sum.bill),
            value: row.sum.bill.short().unwrap_or_else(|| "–".to_owned()),
            note: share(dollars(&row.sum.bill), whole),
            link,
        }
    };
    let shown: Vec<Bar> = rows.iter().take(SHOWN).map(bar).collect();
    html! {
        @if shown.is_empty() { (nothing("Nothing in this period.", &html! {})) } @else { (bars(title, &shown)) }
        @if rows.len() > SHOWN { p.more-rows { (plural((rows.len() - SHOWN) as u64, "more", "more")) } }
    }
}

/// Explains that there are no sessions, where they were looked for, and what to do.
fn empty(ask: &Ask<'_>) -> Markup {
    let looked = &ask.all().found.looked;
    html! {
        section.panel.empty {
            @if ask.snapshot.is_fresh {
                h1 { "No sessions were found" }
                p { "backstory reads what coding agents leave on this disk. It looked here:" }
                ul {
                    @for place in looked {
                        li { code { (place.path.display()) } " " small { (place.why) (if place.exists { ", nothing in it" } else { ", not there" }) } }
                    }
                }
                p { "Read another folder with " code { "backstory serve --from FOLDER" } ", or look around in the sample: " code { "backstory serve --demo" } "." }
            } @else {
                h1 { "Reading your sessions…" }
                p data-wait { "This takes a moment the first time. The page updates itself." }
            }
        }
    }
}
