//! The state of files, of the archive, and of the numbers: what `doctor` and `verify` report.

use backstory_core::doctor::Report;
use backstory_core::number::{bytes, count, date, plural};
use backstory_core::query::verify::Verified;
use maud::{Markup, html};

use super::attention::report;
use crate::app::Ask;
use crate::layout::{Frame, frame};
use crate::reply::{Problem, Reply};
use crate::words::{session_path, title};

/// The rows of long lists.
const ROWS: usize = 50;

pub(crate) fn health(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let report = report(ask)?;
    let verified = ask
        .snapshot
        .memo
        .get("verify", || ask.reports().verify(ask.all()).map_err(Problem::from))?;
    let body = html! {
        h1 { "Health" }
        section.panel { h2 { "Numbers" } p.note { "Every number checked against the totals that the files record." } (checks(&verified)) }
        (deletions(ask, &report))
        (problems(&report))
        (found(&report))
        (archive(ask)?)
    };
    Ok(frame(
        ask,
        Frame {
            title: "Health",
            section: "/health",
            scope: None,
            class: "health",
            script: None,
            body,
        },
    ))
}

fn checks(verified: &Verified) -> Markup {
    html! {
        ul.checks {
            @for check in &verified.checks {
                li class=(if check.ok { "ok" } else { "doubt" }) {
                    span.sign aria-hidden="true" { (if check.ok { "✓" } else { "!" }) }
                    @if check.items.is_empty() { span { (check.detail) } }
                    @else {
                        details {
                            summary { (check.detail) }
                            ul { @for item in check.items.iter().take(ROWS) { li { code { (item) } } } @if check.items.len() > ROWS { li { "and " (count((check.items.len() - ROWS) as u64)) " more" } } }
                        }
                    }
                }
            }
        }
    }
}

/// Shows what agents will delete, and whether the archive has it.
fn deletions(ask: &Ask<'_>, report: &Report) -> Markup {
    let soon: Vec<_> = report.deletions.iter().filter(|deletion| deletion.resumable).collect();
    let kept = soon.iter().filter(|deletion| deletion.kept).count() as u64;
    html! {
        section.panel id="deletions" {
            h2 { "Deletions to come" }
            @if soon.is_empty() { p { "No agent will delete a session." } }
            @else {
                p.note { (plural(soon.len() as u64, "file", "files")) ", of which the archive has " (count(kept)) "." }
                div.scroll tabindex="0" role="region" aria-label="Deletions to come" { table.numbers {
                    thead { tr { th scope="col" { "Session" } th scope="col" { "Agent" } th scope="col" { "When" } th scope="col" { "Why" } th scope="col" { "Archived" } } }
                    tbody { @for deletion in soon.iter().take(ROWS) { tr {
                        td.wrap { @match deletion.session.as_deref().and_then(|id| ask.all().get(id)) { Some(session) => a href=(session_path(session)) { (title(session)) }, None => code { (deletion.file) } } }
                        td { (deletion.agent_name) }
                        td { (deletion.at.map_or_else(|| "at its next start".to_owned(), |at| format!("after {}", date(at, &ask.app.site.zone)))) }
                        td { (deletion.reason()) }
                        td { @if deletion.kept { span.good { "✓ yes" } } @else { span.bad { "✗ not yet" } } }
                    } } }
                } }
            }
            @for (agent, how) in &report.removals { p.note { (agent) ": " (how) } }
        }
    }
}

fn problems(report: &Report) -> Markup {
    html! {
        section.panel id="faults" {
            h2 { "What could not be read" }
            @if report.fault_count == 0 && report.problems.is_empty() { p { span.good { "✓" } " Every record of every file was read." } }
            @if !report.problems.is_empty() { ul id="problems" { @for problem in &report.problems { li { code { (problem.path) } ": " (problem.what) } } } }
            @if report.fault_count > 0 {
                p { (plural(report.fault_count, "record", "records")) " could not be used:" }
                ul.faults { @for fault in report.faults.iter().take(ROWS) { li { code { (fault.file) @if let Some(line) = fault.line { ":" (line) } } " " (fault.what) @if fault.pending { " " small { "still being written" } } } } }
                @if report.faults.len() > ROWS { p.note { code { "backstory doctor -v" } " lists all of them." } }
            }
        }
    }
}

fn found(report: &Report) -> Markup {
    html! {
        div.pair {
            section.panel {
                h2 { "Where it looked" }
                ul.places { @for place in &report.looked { li { span class=(if place.exists { "good" } else { "quiet" }) { (if place.exists { "✓" } else { "–" }) } " " code { (place.path) } " " small { (place.why) @if !place.exists { ", not there" } } } } }
            }
            section.panel {
                h2 { "What it found" }
                table.numbers { thead { tr { th scope="col" { "Kind" } th.n scope="col" { "Files" } th.n scope="col" { "Size" } } }
                    tbody { @for kind in &report.found { tr { th scope="row" { (kind.kind) } td.n { (count(kind.files)) } td.n { (bytes(kind.bytes)) } } } } }
                p.note { (plural(report.records.used, "record", "records")) " used, " (count(report.records.ignored)) " ignored on purpose, " (count(report.records.unusable)) " not usable." }
            }
        }
    }
}

fn archive(ask: &Ask<'_>) -> Result<Markup, Problem> {
    let info = ask.archive.info()?;
    let rows = [
        ("file", ask.app.site.archive.display().to_string()),
        ("size", bytes(info.bytes)),
        ("sessions", count(info.sessions)),
        ("deleted by agents, kept here", count(info.gone)),
        ("files captured", format!("{} of {}", count(info.captured_files), count(info.files))),
        ("machines", info.machines.join(", ")),
    ];
    Ok(html! {
        section.panel {
            h2 { "Archive" }
            dl.facts-list { @for (name, value) in rows { div { dt { (name) } dd { (value) } } } }
            p.note { code { "backstory archive check" } " verifies every byte of it." }
        }
    })
}
