//! How the numbers were come by, and what in the files speaks against them.

use crate::agent::gemini::Assembled;
use crate::archive::Facts;
use crate::collection::Collection;
use crate::model::{SessionKind, Usage};

/// One thing that was checked.
#[derive(Debug, Clone)]
pub struct Check {
    pub name: &'static str,
    /// Whether nothing speaks against the numbers.
    pub ok: bool,
    pub detail: String,
    /// Each case.
    pub items: Vec<String>,
}

/// Checks a collection and its facts.
pub fn verify(all: &Collection, facts: &Facts) -> Vec<Check> {
    vec![
        totals(facts),
        numbers(facts),
        views(all),
        copies(all),
        imports(all),
        fates(all),
        at_least(all, facts),
        undated(facts),
    ]
}

fn counted(all: &Collection) -> impl Iterator<Item = &Assembled> {
    all.sessions.iter().filter(|s| s.session.kind != SessionKind::Checkpoint)
}

/// Every call's buckets against the file's own total.
fn totals(facts: &Facts) -> Check {
    let more: Vec<String> = facts
        .calls
        .iter()
        .filter(|call| call.usage.other > 0)
        .map(|call| {
            let (session, other) = (&call.session.id, call.usage.other);
            format!("{session} {}: the recorded total has {other} tokens more", call.message)
        })
        .collect();
    let detail =
        format!("{} calls, {} with a total beyond their buckets", facts.calls.len(), more.len());
    Check { name: "totals", ok: more.is_empty(), detail, items: more }
}

/// Token counts that cannot be right.
fn numbers(facts: &Facts) -> Check {
    let items: Vec<String> = facts
        .problems
        .iter()
        .map(|p| format!("{} {}: {} ({})", p.session, p.message, p.what, p.file.display()))
        .collect();
    let detail = format!("{} counts that cannot be right", items.len());
    Check { name: "numbers", ok: items.is_empty(), detail, items }
}

/// What the agent would load against all that happened.
fn views(all: &Collection) -> Check {
    let mut items = Vec::new();
    let (mut current_sum, mut full_sum) = (0, 0);
    for assembled in counted(all) {
        let sum = |current: bool| -> u64 {
            let usage: Usage = assembled
                .listed()
                .filter(|placed| placed.owned && (placed.current.is_some() || !current))
                .filter_map(|placed| placed.said.tokens.map(|tokens| tokens.usage()))
                .sum();
            usage.total()
        };
        let (current, full) = (sum(true), sum(false));
        current_sum += current;
        full_sum += full;
        if current != full {
            items.push(format!("{}: {current} current, {full} full", assembled.session.id));
        }
    }
    let detail =
        format!("{current_sum} tokens current, {full_sum} full; full is what was paid for");
    Check { name: "views", ok: true, detail, items }
}

/// Messages that only repeat others, and are not counted again.
fn copies(all: &Collection) -> Check {
    let mut items = Vec::new();
    for assembled in counted(all) {
        let copies = assembled.messages.iter().filter(|placed| placed.said.is_copy).count();
        let files = assembled.session.parts.len();
        if copies > 0 || files > 1 {
            items.push(format!("{}: {copies} copies, {files} files", assembled.session.id));
        }
    }
    let detail =
        format!("{} sessions with copies or several files, each call counted once", items.len());
    Check { name: "copies", ok: true, detail, items }
}

/// Calls that another session made, and this one only imported.
fn imports(all: &Collection) -> Check {
    let mut items = Vec::new();
    for assembled in counted(all) {
        let imported = assembled.listed().filter(|p| !p.owned && p.said.tokens.is_some()).count();
        if imported > 0 {
            items.push(format!("{}: {imported} calls of another session", assembled.session.id));
        }
    }
    let detail =
        format!("{} sessions with imported calls, counted where they were made", items.len());
    Check { name: "imports", ok: true, detail, items }
}

/// Messages that left the list for no known reason.
fn fates(all: &Collection) -> Check {
    let mut items = Vec::new();
    for assembled in counted(all) {
        for placed in assembled.listed().filter(|placed| placed.said.unexplained) {
            items.push(format!("{} {}", assembled.session.id, placed.said.id));
        }
    }
    let detail = format!("{} messages left the list for no known reason", items.len());
    Check { name: "fates", ok: items.is_empty(), detail, items }
}

/// Sessions that whole documents alone tell of: before 0.32 tool-only replies lost their tokens, and
/// a rewind erased them until sessions became logs.
fn at_least(all: &Collection, facts: &Facts) -> Check {
    let bounded: std::collections::BTreeSet<&str> =
        facts.calls.iter().filter(|c| c.at_least).map(|c| c.session.id.as_str()).collect();
    let items: Vec<String> = counted(all)
        .filter(|s| bounded.contains(s.session.id.as_str()))
        .map(|s| {
            let file = s.files.first().and_then(|file| file.file_name()).unwrap_or_default();
            format!("{}: {}", s.session.id, file.to_string_lossy())
        })
        .collect();
    let detail =
        format!("{} sessions whose files can have lost calls: at least that much", items.len());
    Check { name: "at_least", ok: true, detail, items }
}

fn undated(facts: &Facts) -> Check {
    let items: Vec<String> = facts
        .calls
        .iter()
        .filter(|call| call.undated)
        .map(|call| format!("{} {}", call.session.id, call.message))
        .collect();
    let detail = format!("{} calls without a time of their own", items.len());
    Check { name: "undated", ok: items.is_empty(), detail, items }
}
