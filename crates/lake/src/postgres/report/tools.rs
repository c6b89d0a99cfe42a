//! Counts tool calls and their outcomes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write;

use backstory_core::archive::ToolCounts;
use backstory_core::export::tools::{Document, RowOut, plain};
use backstory_core::number::{count, percent};
use backstory_core::query::tools::{Group, Row, grouped};
use clap::{Args, ValueEnum};

use super::filters::{OWNER, ReportArgs};
use super::form::{Format, print_json, print_lines, print_plain};
use super::open;
use super::table::Table;
use crate::error::Result;
use crate::postgres::connect::failure;

#[derive(Debug, Args)]
pub(crate) struct Tools {
    #[command(flatten)]
    asking: ReportArgs,

    /// The grouping
    #[arg(value_enum, default_value = "tool")]
    group: Grouping,

    /// The sort order
    #[arg(long, value_enum, default_value = "calls")]
    sort: Sort,

    /// Show at most N tools
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Grouping {
    /// By recorded name
    Tool,
    /// By the name that all agents share: Bash, Read, Edit, …
    Label,
    /// By category: Execute, Read, Edit, Search, …
    Category,
    /// By MCP server
    Server,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Calls, most first
    Calls,
    /// Failed calls, most first
    Failed,
    /// Name
    Name,
}

/// Prints the report. Errors are text, so the document has none.
pub(crate) fn run(args: &Tools, out: &mut dyn Write) -> Result<()> {
    let mut client = open(&args.asking)?;
    let now = args.asking.now()?;
    let chosen = args.asking.chosen(args.asking.period(&now)?);
    let sql = format!(
        "SELECT tool, server, count(*),
            count(*) FILTER (WHERE status = 'success'), count(*) FILTER (WHERE status = 'error'),
            count(*) FILTER (WHERE status = 'cancelled'), count(*) FILTER (WHERE status = 'unfinished'),
            least(sum(lines_added), 9223372036854775807)::bigint,
            least(sum(lines_removed), 9223372036854775807)::bigint
         FROM backstory.tool_calls_once
         WHERE CASE WHEN $3::text[] = '{{}}' THEN session_kind <> 'checkpoint' ELSE session_kind = ANY($3) END
            AND {OWNER} AND $6::text[] IS NOT NULL
            AND CASE WHEN $1::text IS NULL AND $2::text IS NULL THEN true
                ELSE occurred_at >= coalesce($1::text::timestamptz, '-infinity')
                    AND occurred_at < coalesce($2::text::timestamptz, 'infinity') END
         GROUP BY tool, server"
    );
    let rows = client.query(&sql, &chosen.parameters()).map_err(|error| failure(&error))?;
    let mut tools = BTreeMap::new();
    for row in rows {
        let number = |at: usize| row.get::<_, i64>(at).cast_unsigned();
        let counts = ToolCounts {
            calls: number(2),
            success: number(3),
            error: number(4),
            cancelled: number(5),
            unfinished: number(6),
            lines_added: number(7),
            lines_removed: number(8),
        };
        tools.insert((row.get(0), row.get(1)), counts);
    }
    let group = match args.group {
        Grouping::Tool => Group::Tool,
        Grouping::Label => Group::Label,
        Grouping::Category => Group::Category,
        Grouping::Server => Group::Server,
    };
    let mut rows = grouped(tools, group);
    match args.sort {
        Sort::Calls => {}
        Sort::Failed => rows.sort_by_key(|row| Reverse(row.counts.error)),
        Sort::Name => rows.sort_by(|a, b| a.key.cmp(&b.key)),
    }
    rows.truncate(args.limit.unwrap_or(usize::MAX));
    match args.asking.form.format() {
        Format::Table => table(&rows, group).print(out),
        Format::Json => print_json(out, &Document::new(group, &rows, &[])),
        Format::Jsonl => print_lines(out, rows.iter().map(|row| RowOut::new(row, group))),
        format @ (Format::Csv | Format::Md) => print_plain(out, &plain(&rows, group), format),
    }
}

fn table(rows: &[Row], group: Group) -> Table {
    let heading = group.name().to_uppercase();
    let mut table =
        Table::new([&*heading, "CALLS", "OK", "ERROR", "FAILED", "ADDED", "REMOVED"], 1);
    for Row { key, counts, .. } in rows {
        let mut cells = vec![key.clone()];
        cells.extend([counts.calls, counts.success, counts.error].map(count));
        cells.push(percent(counts.error, counts.calls));
        cells.extend([counts.lines_added, counts.lines_removed].map(count));
        table.row(&cells);
    }
    table
}
