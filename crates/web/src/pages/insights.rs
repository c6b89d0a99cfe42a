//! What is worth a look: failing tools, commands run again and again, files read again and again, what fills
//! the context, and sessions that cost much more than others. Every line leads to its evidence.

use std::collections::HashMap;

use backstory_core::model::Bucket;
use backstory_core::number::{count, percent, plural};
use backstory_core::query::files::FileUse;
use backstory_core::query::usage::Group;
use maud::{Markup, html};

use super::attention::{failed, outliers};
use super::{activity, files};
use crate::app::Ask;
use crate::chart::{Bar, bars};
use crate::layout::{Frame, frame, nothing};
use crate::query::Query;
use crate::reply::{Problem, Reply};
use crate::scope::Scope;
use crate::words::{cost, float, session_path, share, title};

/// The rows of each list.
const ROWS: usize = 8;

/// A file that was read this often in one session, or an edit that failed this often, is a loop.
const AGAIN: u64 = 4;

pub(crate) fn insights(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let scope = ask.scope()?;
    let failures = failed(ask, &scope)?;
    let uses = files::uses(ask, &scope)?;
    let usage = ask.usage(&scope, scope.period, Group::Agent)?.total.usage;
    let body = html! {
        h1 { "Insights" }
        div.pair {
            section.panel {
                h2 { "What fills the context" }
                p.note { "Tokens of all calls, " (scope.label) ", as the agents recorded them." }
                (context(&usage))
            }
            section.panel {
                h2 { "Sessions that cost much more" }
                p.note { "At least 5 times the median of the period." }
                (costly(ask, &scope))
            }
        }
        section.panel {
            h2 { "Failing tools" }
            @if failures.is_empty() { (nothing("No tool failed in this period.", &html! {})) } @else { (activity::failure_table(ask, &failures, ROWS)) }
        }
        div.pair {
            section.panel {
                h2 { "Read again and again" }
                p.note { "The same file read at least " (AGAIN) " times in one session." }
                (loops(ask, &repeated(&uses, &|used| !used.is_change), "reads"))
            }
            section.panel {
                h2 { "Edits that kept failing" }
                p.note { "At least " (AGAIN) " failed edits of the same file in one session." }
                (loops(ask, &repeated(&uses, &|used| used.is_change && used.has_failed), "failed edits"))
            }
        }
    };
    Ok(frame(
        ask,
        Frame {
            title: "Insights",
            section: "/insights",
            scope: Some(&scope),
            class: "insights",
            script: None,
            body,
        },
    ))
}

/// Shows how the tokens are divided.
fn context(usage: &backstory_core::Usage) -> Markup {
    let whole = usage.total();
    let mut parts: Vec<(Bucket, u64)> = Bucket::ALL
        .into_iter()
        .map(|bucket| (bucket, usage.get(bucket)))
        .filter(|(_, number)| *number > 0)
        .collect();
    parts.sort_by_key(|(_, number)| std::cmp::Reverse(*number));
    let rows: Vec<Bar> = parts
        .iter()
        .map(|(bucket, number)| Bar {
            name: bucket_name(*bucket).to_owned(),
            length: float(*number),
            value: count(*number),
            note: share(float(*number), float(whole)),
            link: None,
        })
        .collect();
    html! {
        @if rows.is_empty() { (nothing("No calls in this period.", &html! {})) }
        @else { (bars("Tokens by kind", &rows)) p.note { (percent(usage.cached, usage.prompt())) " of all input came from a cache." } }
    }
}

fn bucket_name(bucket: Bucket) -> &'static str {
    match bucket.name() {
        "input" => "fresh input",
        "cached" => "input from the cache",
        "cache_write_5m" => "written to the cache",
        "cache_write_1h" => "written to the cache for an hour",
        "output" => "output",
        "thoughts" => "thoughts",
        "tool" => "tools",
        _ => "other",
    }
}

fn costly(ask: &Ask<'_>, scope: &Scope) -> Markup {
    let found = outliers(ask, scope);
    html! {
        @if found.is_empty() { (nothing("No session stands out.", &html! {})) }
        @else { ul.evidence { @for (session, times) in found.iter().take(ROWS) {
            li { a href=(session_path(session)) { (title(session)) } " " span.n { (cost(&ask.snapshot.costs.of(&session.id))) } small { (format!("{times:.0} times the median, ")) (plural(session.calls as u64, "call", "calls")) } }
        } } }
    }
}

/// Counts uses of the same file in the same session, and returns those that are a loop.
fn repeated<'a>(
    uses: &'a [FileUse],
    is_meant: &dyn Fn(&FileUse) -> bool,
) -> Vec<(&'a FileUse, u64)> {
    let mut counts: HashMap<(&str, &str), (&FileUse, u64)> = HashMap::new();
    for used in uses.iter().filter(|used| is_meant(used)) {
        counts.entry((&used.session, &used.path)).or_insert((used, 0)).1 += 1;
    }
    let mut out: Vec<(&FileUse, u64)> =
        counts.into_values().filter(|(_, number)| *number >= AGAIN).collect();
    out.sort_by(|a, b| {
        b.1.cmp(&a.1)
            .then_with(|| a.0.path.cmp(&b.0.path))
            .then_with(|| a.0.session.cmp(&b.0.session))
    });
    out
}

fn loops(ask: &Ask<'_>, found: &[(&FileUse, u64)], what: &str) -> Markup {
    html! {
        @if found.is_empty() { (nothing("None in this period.", &html! {})) }
        @else { ul.evidence { @for (used, number) in found.iter().take(ROWS) {
            @let name = used.path.rsplit('/').next().unwrap_or_default();
            li {
                @if let Some(session) = ask.all().get(&used.session) {
                    a href=(Query::default().with("find", Some(name)).address(&session_path(session))) { (name) }
                    " " span.n { (count(*number)) " " (what) }
                    small { "in " (title(session)) }
                }
            }
        } } }
    }
}
