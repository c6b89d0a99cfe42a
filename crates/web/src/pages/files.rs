//! The files that agents read and changed.

use backstory_core::number::{count, plural};
use backstory_core::query::files::{self, FileRow, FileUse, by_file};
use maud::{Markup, html};

use super::attention::sessions;
use crate::app::Ask;
use crate::layout::{Frame, frame, nothing};
use crate::query::Query;
use crate::reply::{Problem, Reply};
use crate::scope::Scope;
use crate::words::{age, session_path, title};

/// The maximum number of rows of a table.
const ROWS: usize = 300;
const USES: usize = 60;

/// Returns every use of a file in a scope, newest first. It is found once per snapshot.
pub(super) fn uses(ask: &Ask<'_>, scope: &Scope) -> Result<std::sync::Arc<Vec<FileUse>>, Problem> {
    let key = format!("files {:?} {:?} {:?}", scope.period, scope.agent, scope.project);
    ask.snapshot.memo.get(&key, || {
        let ids = scope.counted(ask.all());
        Ok(files::files(ask.archive, ask.all(), &ids, &scope.period, None)?)
    })
}

pub(crate) fn files(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let scope = ask.scope()?;
    let uses = uses(ask, &scope)?;
    let wanted = ask.query.get("path");
    let changed = ask.query.get("changed").is_some();
    let mut rows = by_file(&uses);
    if let Some(wanted) = wanted {
        rows.retain(|row| row.path.contains(wanted));
    }
    if changed {
        rows.retain(|row| row.changes > 0);
    }
    match ask.query.get("sort") {
        Some("changes") => rows.sort_by_key(|row| std::cmp::Reverse(row.changes)),
        Some("reads") => rows.sort_by_key(|row| std::cmp::Reverse(row.reads)),
        _ => {}
    }
    let sort = ask.query.get("sort").unwrap_or("last");
    let one = rows.iter().find(|row| Some(row.path.as_str()) == wanted).cloned();
    let body = html! {
        header.row {
            h1 { "Files" }
            form.words role="search" action="/files" {
                @for (name, value) in ask.query.with("path", None).pairs() { input type="hidden" name=(name) value=(value); }
                input type="search" name="path" value=(wanted.unwrap_or_default()) placeholder="Part of a path" aria-label="Part of a path";
            }
            div.switch role="group" aria-label="Which" {
                @for (value, name) in [(None, "all"), (Some("1"), "changed")] { a href=(ask.query.with("changed", value).address("/files")) aria-current=[(value.is_some() == changed).then_some("true")] { (name) } }
            }
            div.switch role="group" aria-label="Order" {
                @for (value, name) in [("last", "latest"), ("changes", "most changed"), ("reads", "most read")] { a href=(ask.query.with("sort", (value != "last").then_some(value)).address("/files")) aria-current=[(value == sort).then_some("true")] { (name) } }
            }
        }
        p.sum { (plural(rows.len() as u64, "file", "files")) ", " (scope.label) ". Only file tools are counted, not what shell commands touched." }
        @if rows.is_empty() { (nothing("No files match.", &html! { a href="/files?period=all" { "Show all time" } })) }
        @else { section.panel { (table(ask, &rows, &scope)) } }
        @if let Some(row) = one { section.panel { h2 { "Who used it" } (who(ask, &row, &uses)) } }
    };
    Ok(frame(
        ask,
        Frame {
            title: "Files",
            section: "/files",
            scope: Some(&scope),
            class: "paths",
            script: None,
            body,
        },
    ))
}

fn table(ask: &Ask<'_>, rows: &[FileRow], scope: &Scope) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Files" {
            table.numbers data-rows {
                thead { tr { th scope="col" { "File" } th.n scope="col" { "Reads" } th.n scope="col" { "Changes" } th.n scope="col" { "Lines" } th scope="col" { "In" } th.n scope="col" { "Last" } } }
                tbody {
                    @for row in rows.iter().take(ROWS) {
                        @let (folder, name) = row.path.rsplit_once('/').unwrap_or(("", &row.path));
                        tr {
                            th.path scope="row" { a href=(scope.link_with("/files", "path", &row.path)) { small { (folder) "/" } (name) } }
                            td.n { (count(row.reads)) }
                            td.n { (count(row.changes)) }
                            td.n { @if row.lines != (0, 0) { span.good { "+" (count(row.lines.0)) } " " span.bad { "−" (count(row.lines.1)) } } }
                            td { (sessions(row.sessions.len() as u64)) }
                            td.n { (age(row.last, ask.now, &ask.app.site.zone)) }
                        }
                    }
                }
            }
        }
        @if rows.len() > ROWS { p.note { "The first " (count(ROWS as u64)) " of " (count(rows.len() as u64)) "." } }
    }
}

/// Shows each use of one file.
fn who(ask: &Ask<'_>, row: &FileRow, uses: &[FileUse]) -> Markup {
    let name = row.path.rsplit('/').next().unwrap_or_default();
    html! {
        table.numbers {
            thead { tr { th scope="col" { "Session" } th scope="col" { "Tool" } th.n scope="col" { "Lines" } th.n scope="col" { "When" } } }
            tbody {
                @for used in uses.iter().filter(|used| used.path == row.path).take(USES) {
                    tr {
                        td.wrap { @if let Some(session) = ask.all().get(&used.session) { a href=(Query::default().with("find", Some(name)).address(&session_path(session))) { (title(session)) } } }
                        td { (used.tool) @if used.has_failed { " " span.bad { "failed" } } }
                        td.n { @if let Some((added, removed)) = used.lines.filter(|_| used.is_change) { span.good { "+" (count(added)) } " " span.bad { "−" (count(removed)) } } }
                        td.n { (age(used.at, ask.now, &ask.app.site.zone)) }
                    }
                }
            }
        }
    }
}
