//! Tokens and costs: every report of `backstory usage`, with a chart, the period before, and files to save.

use std::sync::Arc;

use backstory_core::number::{count, date, percent};
use backstory_core::query::usage::{Answer, Group, Row, Sum};
use jiff::civil::Date;
use maud::{Markup, html};

use super::over_time::{chart, group_of, project_name, switches};
use crate::app::Ask;
use crate::chart::strip;
use crate::layout::{Frame, frame, nothing};
use crate::query::Query;
use crate::reply::{Problem, Reply};
use crate::scope::Scope;
use crate::words::{change, cost, dollars, float, session_path, title, tokens};

/// The maximum number of rows of a table; the files have all of them.
const ROWS: usize = 500;

pub(crate) fn usage(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let wanted = ask.path.get(1).map_or("daily", String::as_str);
    let (name, file) = match wanted.rsplit_once('.') {
        Some((name, ending @ ("csv" | "json"))) => (name, Some(ending)),
        _ => (wanted, None),
    };
    let group = Group::named(name).ok_or_else(|| {
        Problem::not_found(format!("There is no report `{name}`."))
            .hint("Choose one of the reports on the page Usage.")
    })?;
    let scope = ask.scope()?;
    match file {
        Some(ending) => save(ask, &scope, group, ending),
        None => show(ask, &scope, group),
    }
}

/// Returns the same report as the command line prints it.
fn save(ask: &Ask<'_>, scope: &Scope, group: Group, ending: &str) -> Result<Reply, Problem> {
    let mut arguments = scope.arguments();
    arguments.push(("group".to_owned(), group.name().to_owned()));
    if ending == "csv" {
        arguments.push(("format".to_owned(), "csv".to_owned()));
    }
    let body = ask.app.site.program.run("usage", &arguments, ending == "json")?;
    let kind = if ending == "csv" { "text/csv; charset=utf-8" } else { "application/json" };
    Ok(Reply::Data { kind, body, save_as: Some(format!("usage-{}.{ending}", group.name())) })
}

fn show(ask: &Ask<'_>, scope: &Scope, group: Group) -> Result<Reply, Problem> {
    let path = format!("/usage/{}", group.name());
    let answer = ask.usage(scope, scope.period, group)?;
    let before = match scope.before(&ask.zoned()) {
        Some((period, from, to)) => Some((ask.usage(scope, period, group)?, from, to)),
        None => None,
    };
    let length = match group {
        Group::Daily | Group::Weekly | Group::Monthly => group,
        _ => group_of(scope, ask),
    };
    let body = html! {
        header.row {
            h1 { "Usage" }
            div.formats {
                a.file href=(scope.link(&format!("{path}.csv"))) { "CSV" }
                a.file href=(scope.link(&format!("{path}.json"))) { "JSON" }
            }
        }
        nav.tabs aria-label="Reports" {
            @for known in Group::ALL { a href=(scope.link(&format!("/usage/{}", known.name()))) aria-current=[(known == group).then_some("page")] { (label(known)) } }
        }
        (totals(&answer.total, before.as_ref()))
        @if answer.total.calls == 0 {
            (nothing("No calls in this period.", &html! { a href=(Query::default().with("period", Some("all")).address(&path)) { "Show all time" } }))
        } @else {
            section.panel {
                header.row {
                    h2 { "Over time" }
                    (switches(ask, &path))
                }
                (chart(ask, scope, length)?)
            }
            section.panel { h2 { (heading(group)) } (table(ask, scope, group, &answer, before.as_ref().map(|(answer, ..)| &**answer))) }
            @if !answer.unpriced_models.is_empty() {
                p.note { "No price is known for " @for (n, model) in answer.unpriced_models.iter().enumerate() { @if n > 0 { ", " } code { (model) } } "; costs are at least what is shown. " code { "backstory pricing" } " explains how to add one." }
            }
        }
    };
    let name = format!("{} · Usage", label(group));
    let page = Frame {
        title: &name,
        section: "/usage/daily",
        scope: Some(scope),
        class: "usage",
        script: None,
        body,
    };
    Ok(frame(ask, page))
}

fn totals(total: &Sum, before: Option<&(Arc<Answer>, Date, Date)>) -> Markup {
    let usage = &total.usage;
    let compared = |now: f64, old: &dyn Fn(&Sum) -> f64| {
        before.map(|(answer, ..)| change(now, old(&answer.total)))
    };
    let cards = [
        ("cost", cost(&total.bill), compared(dollars(&total.bill), &|old| dollars(&old.bill))),
        (
            "tokens",
            tokens(usage.total()),
            compared(float(usage.total()), &|old| float(old.usage.total())),
        ),
        (
            "calls",
            html! { (count(total.calls)) },
            compared(float(total.calls), &|old| float(old.calls)),
        ),
        ("cache hits", html! { (percent(usage.cached, usage.prompt())) }, None),
    ];
    html! {
        section.cards aria-label="Totals" {
            @for (name, value, change) in &cards {
                div.card { span.name { (name) } strong { (value) } @if let Some(change) = change { span.change { (change) } } }
            }
        }
        @if let Some((_, from, to)) = before { p.compared { "Compared with " (from.strftime("%-d %b %Y")) " to " (to.strftime("%-d %b %Y")) "." } }
    }
}

fn table(
    ask: &Ask<'_>,
    scope: &Scope,
    group: Group,
    answer: &Answer,
    before: Option<&Answer>,
) -> Markup {
    let mut rows: Vec<&Row> = answer.rows.iter().collect();
    if group.is_time() {
        rows.reverse();
    } else {
        rows.sort_by(|a, b| {
            dollars(&b.sum.bill)
                .total_cmp(&dollars(&a.sum.bill))
                .then_with(|| b.sum.usage.total().cmp(&a.sum.usage.total()))
        });
    }
    let longest = rows.iter().map(|row| dollars(&row.sum.bill)).fold(0.0, f64::max);
    let old = |key: &str| before.and_then(|answer| answer.rows.iter().find(|row| row.key == key));
    let compares =
        before.is_some() && !group.is_time() && !matches!(group, Group::Session | Group::Prompt);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(heading(group)) {
            table.numbers data-rows {
                thead { tr {
                    th scope="col" { (label(group)) }
                    th.n scope="col" { "Calls" }
                    th.n scope="col" { "Sessions" }
                    th.n scope="col" { "Input" }
                    th.n scope="col" { "Cached" }
                    th.n scope="col" { "Output" }
                    th.n scope="col" { "Tokens" }
                    th.n scope="col" { "Cost" }
                    @if compares { th.n scope="col" { "Before" } }
                } }
                tbody {
                    @for row in rows.iter().take(ROWS) {
                        @let usage = &row.sum.usage;
                        tr {
                            th scope="row" { (key(ask, scope, group, row)) (strip(dollars(&row.sum.bill), longest)) }
                            td.n { (count(row.sum.calls)) }
                            td.n { (count(row.sum.sessions)) }
                            td.n { (tokens(usage.prompt().saturating_sub(usage.cached))) }
                            td.n { (tokens(usage.cached)) }
                            td.n { (tokens(usage.total().saturating_sub(usage.prompt()))) }
                            td.n { (tokens(usage.total())) }
                            td.n { (cost(&row.sum.bill)) }
                            @if compares { td.n { (old(&row.key).map_or_else(|| "–".to_owned(), |old| change(dollars(&row.sum.bill), dollars(&old.sum.bill)))) } }
                        }
                    }
                }
            }
        }
        @if rows.len() > ROWS { p.note { "The first " (count(ROWS as u64)) " of " (count(rows.len() as u64)) " rows; the CSV file has all of them." } }
    }
}

/// Shows the key of a row, with a link to the sessions behind it.
fn key(ask: &Ask<'_>, scope: &Scope, group: Group, row: &Row) -> Markup {
    let key = row.key.as_str();
    let days = |from: &str, to: &str| scope.link_days("/sessions", from, to);
    match group {
        Group::Daily => {
            let name = key
                .parse::<Date>()
                .map_or_else(|_| key.to_owned(), |day| day.strftime("%a %-d %b %Y").to_string());
            html! { @if key == "undated" { (name) } @else { a href=(days(key, key)) { (name) } } }
        }
        Group::Monthly if key != "undated" => html! { a href=(days(key, key)) { (key) } },
        Group::Session => html! {
            @if let Some(session) = ask.all().get(key) {
                a href=(session_path(session)) { (title(session)) } " " small { (session.project.name) }
            } @else { code { (key) } }
        },
        Group::Prompt => {
            html! { span.prompt { (row.text.as_deref().map_or_else(|| key.to_owned(), |text| text.chars().take(160).collect())) } }
        }
        Group::Project => {
            let name = project_name(ask, key);
            html! { a href=(scope.link_with("/sessions", "project", &name)) title=(key) { (name) } }
        }
        Group::Agent => {
            html! { a href=(scope.link_with("/sessions", "agent", key)) { (ask.agent_name(key)) } }
        }
        Group::Model => html! { a href=(scope.link_with("/sessions", "model", key)) { (key) } },
        Group::Kind => html! { a href=(scope.link_with("/sessions", "kind", key)) { (key) } },
        Group::Blocks => {
            let start = key.parse::<jiff::Timestamp>().ok();
            html! { (start.map_or_else(|| key.to_owned(), |start| date(start, &ask.app.site.zone))) }
        }
        _ => html! { (key) },
    }
}

fn label(group: Group) -> &'static str {
    match group {
        Group::Daily => "Day",
        Group::Weekly => "Week",
        Group::Monthly => "Month",
        Group::Hourly => "Hour",
        Group::Blocks => "5-hour block",
        Group::Session => "Session",
        Group::Prompt => "Prompt",
        Group::Project => "Project",
        Group::Branch => "Branch",
        Group::Model => "Model",
        Group::Kind => "Kind",
        Group::Agent => "Agent",
        Group::Machine => "Machine",
    }
}

fn heading(group: Group) -> String {
    format!("By {}", label(group).to_lowercase())
}
