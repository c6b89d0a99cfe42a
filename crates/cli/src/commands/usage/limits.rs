//! `usage limits`: how much of each plan's limits was used.

use backstory_core::archive::Limit;
use backstory_core::export::json::Time;
use backstory_core::query::limits::limits;
use serde::Serialize;

use super::Usage;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::Library;
use crate::output::number::relative;
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer};

/// `backstory.limits/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    rows: Vec<RowOut<'a>>,
    history: Vec<RowOut<'a>>,
}

#[derive(Serialize)]
struct RowOut<'a> {
    agent: &'a str,
    machine: &'a str,
    plan: Option<&'a str>,
    limit: Option<&'a str>,
    window_minutes: Option<u64>,
    used_percent: f64,
    resets: Option<Time>,
    at: Option<Time>,
    seen: Option<Time>,
    /// Whether the window has ended since.
    is_over: bool,
}

impl<'a> RowOut<'a> {
    fn new(limit: &'a Limit, ctx: &Context) -> Self {
        let facts = &limit.facts;
        Self {
            agent: limit.agent.as_str(),
            machine: &limit.machine,
            plan: facts.plan.as_deref(),
            limit: facts.name.as_deref(),
            window_minutes: facts.window,
            used_percent: facts.used,
            resets: facts.resets.map(Time),
            at: facts.at.map(Time),
            seen: facts.seen.map(Time),
            is_over: facts.resets.is_some_and(|resets| resets <= ctx.now),
        }
    }
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Usage) -> Result<Exit> {
    let library = Library::open(ctx, printer, &[])?;
    let filter = args.filters.filter(ctx, &library.all)?;
    let is_about_sessions =
        !(filter.projects.is_empty() && filter.models.is_empty() && filter.tags.is_empty());
    if is_about_sessions || !args.kind.is_empty() {
        let what = "`usage limits` cannot be limited to some sessions, because a plan has one limit for all of them";
        return Err(Failure::new(what).hint("`--agent`, `--machine`, `--since` and `--until` work"));
    }
    let answer = limits(&library.archive, &filter).map_err(super::super::cannot_count)?;
    let rows = if args.history { &answer.history } else { &answer.newest };
    let shown = args.limit.map_or(0, |limit| rows.len().saturating_sub(limit));
    let rows = &rows[shown..];
    let format = args.format.or_json(ctx.json);
    match format {
        Format::Json => {
            let (rows, history) = (out(&answer.newest, ctx), out(&answer.history, ctx));
            printer.json(&Document { schema: "backstory.limits/1", rows, history })?;
        }
        Format::Jsonl => printer.json_lines(out(rows, ctx).iter())?,
        Format::Table if rows.is_empty() => {
            return Err(Failure::nothing("no limits are recorded")
                .hint("only Codex CLI records them, when it is used with a ChatGPT plan"));
        }
        Format::Table => printer.rows(&table(ctx, rows), format)?,
        Format::Csv | Format::Md => printer.rows(&plain(rows), format)?,
    }
    Ok(if answer.newest.is_empty() {
        Exit::NoMatch
    } else {
        super::super::exit_code(ctx, &library)
    })
}

fn out<'a>(rows: &'a [Limit], ctx: &Context) -> Vec<RowOut<'a>> {
    rows.iter().map(|row| RowOut::new(row, ctx)).collect()
}

/// Builds the table for people.
fn table(ctx: &Context, rows: &[Limit]) -> Rows {
    let mut out = Rows::new([
        Column::text("AGENT"),
        Column::text("PLAN"),
        Column::text("LIMIT"),
        Column::text("WINDOW"),
        Column::number("USED"),
        Column::text("RESETS"),
        Column::text("SEEN"),
    ]);
    for Limit { agent, facts, .. } in rows {
        let resets = match facts.resets {
            Some(resets) if resets <= ctx.now => "already".to_owned(),
            Some(resets) => until(resets.duration_since(ctx.now).as_secs()),
            None => String::new(),
        };
        out.row([
            Cell::from(agent.as_str()),
            facts.plan.as_deref().unwrap_or("unknown").into(),
            facts.name.as_deref().unwrap_or_default().into(),
            facts.window.map(window).unwrap_or_default().into(),
            format!("{}%", rounded(facts.used)).into(),
            resets.into(),
            facts.seen.map(|seen| relative(seen, ctx.now)).unwrap_or_default().into(),
        ]);
    }
    out
}

/// Builds the table for spreadsheets.
fn plain(rows: &[Limit]) -> Rows {
    let names = [
        "agent",
        "machine",
        "plan",
        "limit",
        "window_minutes",
        "used_percent",
        "resets",
        "at",
        "seen",
    ];
    let mut out = Rows::new(names.map(Column::text));
    let time = |at: Option<jiff::Timestamp>| at.map(|at| format!("{at:.3}")).unwrap_or_default();
    for Limit { agent, machine, facts } in rows {
        out.row([
            Cell::from(agent.as_str()),
            machine.as_str().into(),
            facts.plan.as_deref().unwrap_or_default().into(),
            facts.name.as_deref().unwrap_or_default().into(),
            facts.window.map(|minutes| minutes.to_string()).unwrap_or_default().into(),
            facts.used.to_string().into(),
            time(facts.resets).into(),
            time(facts.at).into(),
            time(facts.seen).into(),
        ]);
    }
    out
}

/// Returns a percentage with at most one decimal.
fn rounded(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

/// Returns the length of a window: `5 h`, `7 d`.
fn window(minutes: u64) -> String {
    match minutes {
        0..60 => format!("{minutes} min"),
        minutes if minutes.is_multiple_of(24 * 60) => format!("{} d", minutes / (24 * 60)),
        minutes if minutes.is_multiple_of(60) => format!("{} h", minutes / 60),
        minutes => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

/// Returns the time until a reset: `in 3 h 20 min`.
fn until(seconds: i64) -> String {
    let minutes = (seconds / 60).max(1);
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("in {minutes} min"),
        (0, hours, minutes) => format!("in {hours} h {minutes} min"),
        (days, hours, _) => format!("in {days} d {hours} h"),
    }
}
