use backstory_core::query::tools::{Group, Question, Row, tools};
use clap::ValueEnum;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::{Filters, Kind};
use crate::library::Library;
use crate::output::number::{count, percent};
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory tools                     every tool, the most used first
  backstory tools server              by MCP server
  backstory tools --since 7d -p api   last week's, in one project
  backstory commands                  which programs the shell tool ran";

/// Count tool calls: how often, how they ended, lines changed
///
/// Each call once, however often it was recorded. Gemini CLI recorded no tool calls before October
/// 2025: none from then means unknown.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tools {
    /// How to group
    #[arg(value_enum, default_value = "tool")]
    group: GroupArg,

    #[command(flatten)]
    filters: Filters,

    /// Only these kinds of session
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Filters")]
    kind: Vec<Kind>,

    /// How to print it
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupArg {
    /// By the recorded name
    Tool,
    /// By what it is called for every agent: Bash, Read, Edit, …
    Label,
    /// Execute, Read, Edit, Search, …
    Category,
    /// By MCP server
    Server,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    group: &'static str,
    rows: Vec<RowOut<'a>>,
}

#[derive(Serialize)]
struct RowOut<'a> {
    name: &'a str,
    label: &'a str,
    canonical: &'static str,
    category: &'static str,
    server: Option<&'a str>,
    calls: u64,
    success: u64,
    error: u64,
    cancelled: u64,
    unfinished: u64,
    lines_added: u64,
    lines_removed: u64,
}

impl<'a> RowOut<'a> {
    fn new(row: &'a Row, group: GroupArg) -> Self {
        Self {
            name: if group == GroupArg::Tool { &row.name.name } else { &row.key },
            label: &row.name.label,
            canonical: row.name.canonical,
            category: row.name.category,
            server: row.name.server.as_deref(),
            calls: row.calls,
            success: row.success,
            error: row.error,
            cancelled: row.cancelled,
            unfinished: row.unfinished,
            lines_added: row.lines_added,
            lines_removed: row.lines_removed,
        }
    }
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Tools) -> Result<Exit> {
    super::require_given(ctx)?;
    let library = Library::open(ctx, printer, &args.filters.project)?;
    let all = &library.all;
    let filter = args.filters.filter(ctx)?;
    let question = Question {
        group: match args.group {
            GroupArg::Tool => Group::Tool,
            GroupArg::Label => Group::Label,
            GroupArg::Category => Group::Category,
            GroupArg::Server => Group::Server,
        },
        period: filter.period,
        sessions: super::wanted_sessions(all, &filter, &args.kind),
        checkpoints: args.kind.contains(&Kind::Checkpoint),
    };
    let rows = tools(&library.archive, &question).map_err(super::cannot_count)?;
    let format = args.format.or_json(ctx.json);
    let group = match args.group {
        GroupArg::Tool => "tool",
        GroupArg::Label => "label",
        GroupArg::Category => "category",
        GroupArg::Server => "server",
    };
    let out = || rows.iter().map(|row| RowOut::new(row, args.group));
    match format {
        Format::Json => {
            let document = Document { schema: "backstory.tools/1", group, rows: out().collect() };
            printer.json(&document)?;
        }
        Format::Jsonl => printer.json_lines(out())?,
        Format::Table if rows.is_empty() => {
            return Err(if all.sessions.is_empty() {
                super::empty(ctx, &all.found)
            } else {
                Failure::nothing("no tool call fits")
                    .hint("`backstory tools` without filters counts them all")
            });
        }
        _ => printer.rows(&table(&rows, format == Format::Table), format)?,
    }
    super::tell_faults(printer, &library);
    Ok(if rows.is_empty() { Exit::Nothing } else { super::strictly(ctx, &library) })
}

fn table(rows: &[Row], for_people: bool) -> Rows {
    let mut out = Rows::new([
        Column::long("TOOL"),
        Column::text("LABEL"),
        Column::number("CALLS"),
        Column::number("OK"),
        Column::number("ERROR"),
        Column::number("CANCELLED"),
        Column::number("UNFINISHED"),
        Column::number("FAILED"),
        Column::number("ADDED"),
        Column::number("REMOVED"),
    ]);
    for row in rows {
        let number = |number: u64| if for_people { count(number) } else { number.to_string() };
        let failed = Cell::styled(
            if row.error * 5 > row.calls { style::WARNING } else { style::DIM },
            percent(row.error, row.calls),
        );
        out.row([
            Cell::styled(style::NAME, &row.key),
            row.name.label.as_str().into(),
            number(row.calls).into(),
            number(row.success).into(),
            number(row.error).into(),
            number(row.cancelled).into(),
            number(row.unfinished).into(),
            failed,
            number(row.lines_added).into(),
            number(row.lines_removed).into(),
        ]);
    }
    out
}
