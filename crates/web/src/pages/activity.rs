//! Tools and shell commands: how often, how often in vain, and where.

use backstory_core::number::{count, percent};
use backstory_core::query::commands::{self, commands as count_commands};
use backstory_core::query::failures;
use backstory_core::query::tools::{Group, Question, Row, tools as count_tools};
use maud::{Markup, html};

use super::attention::{failed, sessions};
use crate::app::Ask;
use crate::chart::strip;
use crate::layout::{Frame, frame, nothing};
use crate::query::Query;
use crate::reply::{Problem, Reply};
use crate::scope::Scope;
use crate::words::{age, float, session_path, title};

/// The maximum number of rows of a table.
const ROWS: usize = 200;
const FAILURES: usize = 40;

const GROUPS: [(&str, &str, Group); 4] = [
    ("tool", "Tool", Group::Tool),
    ("label", "Name", Group::Label),
    ("category", "Category", Group::Category),
    ("server", "Server", Group::Server),
];

pub(crate) fn tools(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let scope = ask.scope()?;
    let wanted = ask.query.get("group").unwrap_or("label");
    let Some((_, label, group)) = GROUPS.into_iter().find(|(name, ..)| *name == wanted) else {
        return Err(Problem::invalid(format!("`{wanted}` is not a grouping.")));
    };
    let question = Question {
        group,
        period: scope.period,
        sessions: scope.sessions(ask.all()),
        checkpoints: false,
    };
    let mut rows = count_tools(ask.archive, &question)?;
    if ask.query.get("sort") == Some("failed") {
        rows.sort_by_key(|row| std::cmp::Reverse(row.counts.error));
    }
    let failures = failed(ask, &scope)?;
    let body = html! {
        header.row {
            h1 { "Tools" }
            div.switch role="group" aria-label="Group by" {
                @for (name, label, _) in GROUPS { a href=(ask.query.with("group", Some(name)).address("/tools")) aria-current=[(name == wanted).then_some("true")] { (label) } }
            }
            div.switch role="group" aria-label="Order" {
                @for (value, name) in [(None, "most used"), (Some("failed"), "most failures")] { a href=(ask.query.with("sort", value).address("/tools")) aria-current=[(ask.query.get("sort") == value).then_some("true")] { (name) } }
            }
        }
        @if rows.is_empty() { (nothing("No tool calls in this period.", &html! { a href="/tools?period=all" { "Show all time" } })) }
        @else { section.panel { (tool_table(label, &rows, &scope)) } }
        @if !failures.is_empty() { section.panel id="failures" { h2 { "Most frequent errors" } (failure_table(ask, &failures, FAILURES)) } }
    };
    Ok(frame(
        ask,
        Frame {
            title: "Tools",
            section: "/tools",
            scope: Some(&scope),
            class: "tools",
            script: None,
            body,
        },
    ))
}

fn tool_table(label: &str, rows: &[Row], scope: &Scope) -> Markup {
    let most = rows.iter().map(|row| float(row.counts.calls)).fold(0.0, f64::max);
    html! {
        div.scroll tabindex="0" role="region" aria-label="Tools" {
            table.numbers data-rows {
                thead { tr { th scope="col" { (label) } th.n scope="col" { "Calls" } th.n scope="col" { "Failed" } th.n scope="col" { "Rate" } th.n scope="col" { "Cancelled" } th.n scope="col" { "Lines" } } }
                tbody {
                    @for row in rows.iter().take(ROWS) {
                        tr {
                            th scope="row" { a href=(scope.query.with("q", Some(&format!("tool:{}", quoted(&row.name.name)))).address("/search")) { (row.key) } (strip(float(row.counts.calls), most)) }
                            td.n { (count(row.counts.calls)) }
                            (failures_of(row.counts.error, row.counts.calls))
                            td.n { (count(row.counts.cancelled)) }
                            td.n { @if row.counts.lines_added + row.counts.lines_removed > 0 { span.good { "+" (count(row.counts.lines_added)) } " " span.bad { "−" (count(row.counts.lines_removed)) } } }
                        }
                    }
                }
            }
        }
    }
}

/// Shows how often something failed, and the share; no failure is no news.
fn failures_of(failed: u64, all: u64) -> Markup {
    let class = if failed > 0 { "n bad" } else { "n quiet" };
    html! { td class=(class) { (count(failed)) } td.n.quiet[failed == 0] { (percent(failed, all)) } }
}

/// Quotes a name for a query if it has a blank.
fn quoted(name: &str) -> String {
    if name.contains(char::is_whitespace) { format!("\"{name}\"") } else { name.to_owned() }
}

/// Shows errors, each with the session of the last one.
pub(super) fn failure_table(ask: &Ask<'_>, rows: &[failures::Row], most: usize) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Errors" {
            table.numbers {
                thead { tr { th scope="col" { "Error" } th scope="col" { "Tool" } th.n scope="col" { "Times" } th scope="col" { "Last in" } th.n scope="col" { "When" } } }
                tbody {
                    @for row in rows.iter().take(most) {
                        tr {
                            td.wrap { code { (if row.count == 1 { &row.example } else { &row.text }) } }
                            td { (row.tool) }
                            td.n { (count(row.count)) }
                            td.wrap { @if let Some(session) = ask.all().get(&row.session) { a href=(Query::default().with("find", Some(&row.example.chars().take(60).collect::<String>())).address(&session_path(session))) { (title(session)) } } }
                            td.n { (age(row.last, ask.now, &ask.app.site.zone)) }
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn commands(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let scope = ask.scope()?;
    let is_full = ask.query.get("full").is_some();
    let key =
        format!("commands {is_full} {:?} {:?} {:?}", scope.period, scope.agent, scope.project);
    let rows = ask.snapshot.memo.get(&key, || {
        count_commands(ask.archive, &scope.counted(ask.all()), &scope.period, is_full, usize::MAX)
            .map_err(Problem::from)
    })?;
    let runs: u64 = rows.iter().map(|row| row.runs).sum();
    let body = html! {
        header.row {
            h1 { "Commands" }
            div.switch role="group" aria-label="Group by" {
                @for (value, name) in [(None, "programs"), (Some("1"), "whole commands")] { a href=(ask.query.with("full", value).address("/commands")) aria-current=[(value.is_some() == is_full).then_some("true")] { (name) } }
            }
        }
        p.sum { (count(runs)) " runs that agents' shell tools made, " (scope.label) }
        @if rows.is_empty() { (nothing("No shell commands in this period.", &html! { a href="/commands?period=all" { "Show all time" } })) }
        @else { section.panel { (command_table(ask, &rows, &scope)) } }
    };
    Ok(frame(
        ask,
        Frame {
            title: "Commands",
            section: "/commands",
            scope: Some(&scope),
            class: "commands",
            script: None,
            body,
        },
    ))
}

fn command_table(ask: &Ask<'_>, rows: &[commands::Row], scope: &Scope) -> Markup {
    let most = rows.iter().map(|row| float(row.runs)).fold(0.0, f64::max);
    html! {
        div.scroll tabindex="0" role="region" aria-label="Commands" {
            table.numbers data-rows {
                thead { tr { th scope="col" { "Command" } th.n scope="col" { "Runs" } th.n scope="col" { "Failed" } th.n scope="col" { "Rate" } th scope="col" { "In" } th.n scope="col" { "Last" } th scope="col" { "Example" } } }
                tbody {
                    @for row in rows.iter().take(ROWS) {
                        tr {
                            th scope="row" { a href=(scope.query.with("q", Some(&format!("\"{}\" where:tool", row.program.replace('"', " ")))).address("/search")) { code { (row.program) } } (strip(float(row.runs), most)) }
                            td.n { (count(row.runs)) }
                            (failures_of(row.failures, row.runs))
                            td { (sessions(row.sessions)) }
                            td.n { (age(row.last, ask.now, &ask.app.site.zone)) }
                            td.example { code { (row.example.chars().take(120).collect::<String>()) } }
                        }
                    }
                }
            }
        }
        @if rows.len() > ROWS { p.note { "The first " (count(ROWS as u64)) " of " (count(rows.len() as u64)) "." } }
    }
}
