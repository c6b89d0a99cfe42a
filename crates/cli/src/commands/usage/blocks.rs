//! The windows of five hours by which Claude plans limit usage.

use backstory_core::collection::Collection;
use backstory_core::query::usage::{Group, Row};
use backstory_core::query::{Block, Filter, Pace};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde::Serialize;

use super::Page;
use crate::output::number::count;

/// The agent whose plans have such windows.
const AGENT: &str = "claude";

/// Selects the agent whose plans have windows, if it has sessions and no agent is requested.
pub(super) fn choose_agent(filter: &mut Filter, all: &Collection) {
    let is_present = all.sessions.iter().any(|session| session.agent.as_str() == AGENT);
    if filter.agents.is_empty() && is_present {
        filter.agents.push(AGENT.to_owned());
    }
}

/// The window of a row, as part of `backstory.usage/1`.
#[derive(Serialize)]
pub(super) struct BlockOut {
    start: String,
    end: String,
    /// The time since the end of the window before it, unless that is not shown.
    idle_minutes_before: Option<i64>,
    /// Only for the window in progress.
    running: Option<PaceOut>,
}

#[derive(Serialize)]
struct PaceOut {
    minutes_left: i64,
    tokens_per_minute: u64,
    cost_per_hour_usd: Option<String>,
    forecast_tokens: u64,
    forecast_cost_usd: Option<String>,
}

impl Page<'_> {
    /// Returns the window of a row, if rows are windows.
    pub(super) fn block(&self, row: &Row) -> Option<Block> {
        Block::of(self.group, row)
    }

    /// Returns the time without calls between the window of a row and the one before it. Rows in another
    /// order have none.
    pub(super) fn idle_before(&self, at: usize) -> Option<SignedDuration> {
        if self.args.sort.is_some() {
            return None;
        }
        let rows = &self.answer.rows;
        let before = self.block(rows.get(at.checked_sub(1)?)?)?;
        let idle = self.block(rows.get(at)?)?.start.duration_since(before.end);
        (!idle.is_negative()).then_some(idle)
    }

    /// Returns the window in progress, and its pace.
    fn running(&self) -> Option<(&Row, Pace)> {
        let pace = |row| Some((row, self.block(row)?.pace(row, self.ctx.now)?));
        self.answer.rows.iter().filter_map(pace).next_back()
    }

    /// Describes the pace of the window in progress.
    pub(super) fn running_lines(&self) -> Vec<String> {
        if self.group != Group::Blocks {
            return Vec::new();
        }
        let Some((row, pace)) = self.running() else {
            return vec!["No block is in progress.".to_owned()];
        };
        let bill = &row.sum.bill;
        let cost = |cost: Option<_>| cost.map(|usd| format!(", {}", bill.marked(usd)));
        vec![format!(
            "In progress, {} left: {} tokens per minute{}. At this pace, {} tokens{} at its end.",
            hours(pace.left),
            count(pace.tokens_per_minute),
            cost(pace.cost_per_hour).map(|cost| format!("{cost} per hour")).unwrap_or_default(),
            count(pace.tokens),
            cost(pace.cost).unwrap_or_default(),
        )]
    }

    /// Returns the window of the row at a place, for programs.
    pub(super) fn block_out(&self, at: usize) -> Option<BlockOut> {
        let row = self.answer.rows.get(at)?;
        let block = self.block(row)?;
        let running = block.pace(row, self.ctx.now).map(|pace| PaceOut {
            minutes_left: pace.left.as_mins(),
            tokens_per_minute: pace.tokens_per_minute,
            cost_per_hour_usd: pace.cost_per_hour.map(|usd| usd.to_string()),
            forecast_tokens: pace.tokens,
            forecast_cost_usd: pace.cost.map(|usd| usd.to_string()),
        });
        Some(BlockOut {
            start: block.start.to_string(),
            end: block.end.to_string(),
            idle_minutes_before: self.idle_before(at).map(|idle| idle.as_mins()),
            running,
        })
    }
}

/// Formats a window in the zone of the reader.
pub(super) fn shown(block: &Block, zone: &TimeZone) -> String {
    let [start, end] = [block.start, block.end].map(|at| at.to_zoned(zone.clone()));
    format!("{}–{}", start.strftime("%Y-%m-%d %H:%M"), end.strftime("%H:%M"))
}

/// Formats a duration in hours and minutes.
pub(super) fn hours(time: SignedDuration) -> String {
    match (time.as_hours(), time.as_mins() % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}
