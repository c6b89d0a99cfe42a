//! The answer for people: a table.

use backstory_core::model::{Bucket, Usage};
use backstory_core::money::Usd;
use backstory_core::query::usage::{Group, Row, Sum};

use super::Page;
use super::blocks::{hours, shown};
use crate::output::chart::bar;
use crate::output::clean::one_line;
use crate::output::number::count;
use crate::output::rows::Rows;
use crate::output::{Cell, Column, style};

impl Page<'_> {
    pub(super) fn table(&self, width: Option<usize>) -> Rows {
        let heading = heading(self.group);
        let key = match self.group {
            Group::Session | Group::Prompt => Column::main(heading),
            Group::Project => Column::path(heading),
            _ => Column::long(heading),
        };
        let mut columns = vec![key, Column::number("CALLS").spare(2)];
        // Only some vendors bill cache writes.
        let has_writes = self.answer.total.usage.cache_writes() > 0;
        let counts = tokens(&self.answer.total.usage, has_writes).into_iter();
        columns.extend(counts.map(|((title, spare), _)| Column::number(title).spare(spare)));
        columns.extend([Column::number("TOTAL").spare(1), Column::number("COST")]);
        let is_model = self.group == Group::Model;
        columns.extend(is_model.then(|| Column::number("PER CALL").spare(9)));
        columns.push(Column::text("").spare(8));
        let mut rows = Rows::new(columns);
        let cells = |key, sum: &Sum, chart: &str| {
            let mut cells = cells(key, sum, has_writes);
            cells.extend(is_model.then(|| Cell::from(per_call(sum))));
            cells.push(Cell::styled(style::NAME, chart));
            cells
        };
        let most = self.answer.rows.iter().map(|row| row.sum.usage.total()).max().unwrap_or(0);
        // A chart is shown only if it fits beside the numbers.
        let chart = width.filter(|width| *width >= 110).map_or(0, |width| (width - 95).min(24));
        for (at, row) in self.answer.rows.iter().enumerate() {
            if let Some(idle) = self.idle_before(at).filter(|idle| !idle.is_zero()) {
                rows.row([Cell::styled(style::DIM, format!("  {} without calls", hours(idle)))]);
            }
            let shown = self.shown(row);
            let line = bar(row.sum.usage.total(), most, chart);
            rows.row(cells(Cell::styled(style::NAME, shown), &row.sum, &line));
            for part in &row.models {
                let name = Cell::styled(style::DIM, format!("  {}", part.key));
                rows.row(cells(name, &part.sum, ""));
            }
        }
        if self.answer.rows.len() + self.left > 1 {
            rows.row(cells(Cell::styled(style::HEADING, "total"), &self.answer.total, ""));
        }
        rows
    }

    /// Formats a key for people.
    fn shown(&self, row: &Row) -> String {
        let all = &self.library.all;
        match self.group {
            Group::Session => match all.get(&row.key) {
                Some(session) => {
                    let title = format!("{}  {}", all.short(session), session.title().0);
                    title.chars().take(58).collect()
                }
                None => row.key.clone(),
            },
            Group::Prompt => {
                let Some(text) = &row.text else { return "(no prompt)".to_owned() };
                let line: String = one_line(text).take(60).collect();
                if line.is_empty() { "(no text)".to_owned() } else { line }
            }
            Group::Project => self.ctx.show(std::path::Path::new(&row.key)),
            _ => match self.block(row) {
                Some(block) => shown(&block, &self.ctx.zone),
                None => row.key.clone(),
            },
        }
    }
}

/// Formats the average cost of the calls that have a price.
fn per_call(sum: &Sum) -> String {
    let calls = i128::from(sum.calls.saturating_sub(sum.bill.unpriced));
    let each = sum.bill.usd.and_then(|usd| usd.pico().checked_div(calls));
    each.map(|each| Usd::from_pico(each).short()).unwrap_or_default()
}

fn cells(key: Cell, sum: &Sum, has_writes: bool) -> Vec<Cell> {
    let usage = &sum.usage;
    let mut cells = vec![key, count(sum.calls).into()];
    cells.extend(tokens(usage, has_writes).into_iter().map(|(_, tokens)| count(tokens).into()));
    cells.extend([count(usage.total()).into(), sum.bill.short().unwrap_or_default().into()]);
    cells
}

/// Returns the title of each column of tokens, when it is dropped (see `Column::spare`), and its count.
fn tokens(usage: &Usage, has_writes: bool) -> Vec<((&'static str, u8), u64)> {
    const WRITTEN: (&str, u8) = ("WRITTEN", 7);
    let mut columns = usage.by_label(|bucket| match bucket {
        Bucket::Input | Bucket::Tool => ("INPUT", 3),
        Bucket::Cached => ("CACHED", 5),
        Bucket::CacheWrite5m | Bucket::CacheWrite1h => WRITTEN,
        Bucket::Output | Bucket::Other => ("OUTPUT", 4),
        Bucket::Thoughts => ("THOUGHTS", 6),
    });
    columns.retain(|(column, _)| has_writes || *column != WRITTEN);
    columns
}

fn heading(group: Group) -> &'static str {
    match group {
        Group::Daily => "DAY",
        Group::Weekly => "WEEK",
        Group::Monthly => "MONTH",
        Group::Hourly => "HOUR",
        Group::Blocks => "BLOCK",
        Group::Session => "SESSION",
        Group::Prompt => "PROMPT",
        Group::Project => "PROJECT",
        Group::Branch => "BRANCH",
        Group::Model => "MODEL",
        Group::Kind => "KIND",
        Group::Agent => "AGENT",
        Group::Machine => "MACHINE",
    }
}
