//! Findings: failing tools, commands that kept failing, files read again and again, what fills
//! the context, and sessions that cost much more than others. Every line leads to its evidence.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use backstory_core::model::{Bucket, ToolStatus};
use backstory_core::number::{count, percent, plural};
use backstory_core::query::files::FileUse;
use backstory_core::query::log::log;
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

/// A file that was read this often in one session, or an edit or command that failed this often, is a loop.
const AGAIN: u64 = 4;

/// The longest part of a command that is shown, in characters.
const COMMAND: usize = 80;

pub(crate) fn insights(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let scope = ask.scope()?;
    let failures = failed(ask, &scope)?;
    let uses = files::uses(ask, &scope)?;
    let usage = ask.usage(&scope, scope.period, Group::Agent)?.total.usage;
    let commands = failed_commands(ask, &scope)?;
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
                (loops(ask, repeated(paths(&uses, &|used| !used.is_change)), file_name, "reads"))
            }
            section.panel {
                h2 { "Edits that kept failing" }
                p.note { "At least " (AGAIN) " failed edits of the same file in one session." }
                (loops(ask, repeated(paths(&uses, &|used| used.is_change && used.has_failed)), file_name, "failed edits"))
            }
        }
        section.panel {
            h2 { "Commands that kept failing" }
            p.note { "The same command failed at least " (AGAIN) " times in one session." }
            (loops(ask, commands.iter().map(|(session, command, number)| (&**session, &**command, *number)), first_line, "failures"))
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
    parts.sort_by_key(|(_, number)| Reverse(*number));
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

/// A session, a command that failed in it repeatedly, and how often.
type FailedCommand = (String, String, u64);

/// Returns the loops of commands. They are found once per snapshot, because the log of a year is long.
fn failed_commands(ask: &Ask<'_>, scope: &Scope) -> Result<Arc<Vec<FailedCommand>>, Problem> {
    let key = format!("loops {:?} {:?} {:?}", scope.period, scope.agent, scope.project);
    ask.snapshot.memo.get(&key, || {
        let runs = log(ask.archive, &scope.counted(ask.all()), &scope.period)?;
        let failed = runs.iter().filter(|run| run.status == ToolStatus::Error);
        let found = repeated(failed.map(|run| (&*run.session, &*run.command)));
        Ok(found.take(ROWS).map(|(id, text, number)| (id.into(), text.into(), number)).collect())
    })
}

/// Returns the sessions and paths of some uses.
fn paths<'a>(
    uses: &'a [FileUse],
    is_meant: &'a dyn Fn(&FileUse) -> bool,
) -> impl Iterator<Item = (&'a str, &'a str)> {
    uses.iter().filter(|used| is_meant(used)).map(|used| (&*used.session, &*used.path))
}

/// Counts what a session did to the same file or with the same command, and returns the loops: the session, what it
/// used, and the number.
fn repeated<'a>(
    done: impl Iterator<Item = (&'a str, &'a str)>,
) -> impl Iterator<Item = (&'a str, &'a str, u64)> {
    let mut counts: HashMap<(&str, &str), u64> = HashMap::new();
    for key in done {
        *counts.entry(key).or_default() += 1;
    }
    let again = counts.into_iter().filter(|(_, number)| *number >= AGAIN);
    let mut out: Vec<_> = again.map(|((session, used), number)| (session, used, number)).collect();
    out.sort_by_key(|(session, used, number)| (Reverse(*number), *used, *session));
    out.into_iter()
}

fn file_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

fn first_line(command: &str) -> String {
    command.trim().lines().next().unwrap_or_default().chars().take(COMMAND).collect()
}

fn loops<'a>(
    ask: &Ask<'_>,
    found: impl Iterator<Item = (&'a str, &'a str, u64)>,
    name: fn(&str) -> String,
    what: &str,
) -> Markup {
    let found: Vec<_> = found.take(ROWS).collect();
    html! {
        @if found.is_empty() { (nothing("None in this period.", &html! {})) }
        @else { ul.evidence { @for (session, used, number) in &found {
            @let name = name(used);
            li {
                @if let Some(session) = ask.all().get(session) {
                    a href=(Query::default().with("find", Some(&name)).address(&session_path(session))) { (name) }
                    " " span.n { (count(*number)) " " (what) }
                    small { "in " (title(session)) }
                }
            }
        } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_session_did_often_is_a_loop() {
        let often = std::iter::repeat_n(("a", "cargo test"), 5);
        let enough = std::iter::repeat_n(("b", "make"), 4);
        // Three times in each of two sessions.
        let rarely = ["a", "b"].into_iter().flat_map(|id| std::iter::repeat_n((id, "ls"), 3));
        let found = repeated(enough.chain(often).chain(rarely));
        assert_eq!(found.collect::<Vec<_>>(), [("a", "cargo test", 5), ("b", "make", 4)]);
        assert_eq!(first_line("\n cat <<EOF\nx"), "cat <<EOF");
    }
}
