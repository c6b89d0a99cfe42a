use backstory_core::collection::Collection;
use backstory_core::export::tools::{Document, RowOut, plain};
use backstory_core::query::failures::{self, failures};
use backstory_core::query::tools::{Group, Question, Row, tools};
use clap::ValueEnum;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::{Filters, Kind};
use crate::library::Library;
use crate::output::number::{count, percent};
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory tools                     every tool, most used first
  backstory tools --sort failed -n 5  those that fail most often
  backstory tools server              by MCP server
  backstory tools --since 7d -p api   the last 7 days, in one project
  backstory commands                  the programs that the shell tool ran";

/// Count tool calls, their results and the lines they changed
///
/// Counts each call once, however often it was recorded, and lists the most frequent errors. Gemini CLI recorded no
/// tool calls before October 2025, so earlier sessions show none.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tools {
    /// The grouping
    #[arg(value_enum, default_value = "tool")]
    group: GroupArg,

    #[command(flatten)]
    filters: Filters,

    /// Only sessions of these kinds
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Filters")]
    kind: Vec<Kind>,

    /// The sort order
    #[arg(long, value_enum, default_value = "calls")]
    sort: Sort,

    /// Show at most N tools
    #[arg(long, short = 'n', value_name = "N", value_parser = crate::filters::limit)]
    limit: Option<usize>,

    /// The output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupArg {
    /// By recorded name
    Tool,
    /// By the name that all agents share: Bash, Read, Edit, …
    Label,
    /// By category: Execute, Read, Edit, Search, …
    Category,
    /// By MCP server
    Server,
}

impl From<GroupArg> for Group {
    fn from(group: GroupArg) -> Self {
        match group {
            GroupArg::Tool => Self::Tool,
            GroupArg::Label => Self::Label,
            GroupArg::Category => Self::Category,
            GroupArg::Server => Self::Server,
        }
    }
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Tools) -> Result<Exit> {
    super::require_given(ctx)?;
    let library = Library::open(ctx, printer, &args.filters.project)?;
    let all = &library.all;
    let filter = args.filters.filter(ctx, all)?;
    let question = Question {
        group: args.group.into(),
        period: filter.period,
        sessions: super::wanted_sessions(all, &filter, &args.kind),
        checkpoints: args.kind.contains(&Kind::Checkpoint),
    };
    let mut rows = tools(&library.archive, &question).map_err(super::cannot_count)?;
    match args.sort {
        Sort::Calls => {}
        Sort::Failed => rows.sort_by_key(|row| std::cmp::Reverse(row.counts.error)),
        Sort::Name => rows.sort_by(|a, b| a.key.cmp(&b.key)),
    }
    rows.truncate(args.limit.unwrap_or(usize::MAX));
    let failed = || {
        let ids = super::counted(all, question.sessions.as_ref(), &args.kind);
        failures(&library.archive, &ids, &filter.period)
            .map_err(|error| Failure::new("cannot read the errors").because(error))
    };
    let format = args.format.or_json(ctx.json);
    match format {
        Format::Json => printer.json(&Document::new(question.group, &rows, &failed()?))?,
        Format::Jsonl => {
            printer.json_lines(rows.iter().map(|row| RowOut::new(row, question.group)))?;
        }
        Format::Table if rows.is_empty() => {
            return Err(super::nothing(ctx, all, &args.filters, "no tool calls match"));
        }
        Format::Table => {
            printer.rows(&table(&rows, args.group), format)?;
            let failed = failed()?;
            if !failed.is_empty() {
                printer.blank()?;
                printer.rows(&failure_table(ctx, all, &failed), format)?;
            }
        }
        _ => printer.plain(&plain(&rows, question.group), format)?,
    }
    library.warn_unread(printer);
    super::note_faults(printer, &library);
    Ok(if rows.is_empty() { Exit::NoMatch } else { super::exit_code(ctx, &library) })
}

/// Builds the table of the most frequent errors, each with a session to look at.
fn failure_table(ctx: &Context, all: &Collection, failed: &[failures::Row]) -> Rows {
    const SHOWN: usize = 5;
    let mut out = Rows::new([
        Column::main("FAILURE"),
        Column::text("TOOL").spare(1),
        Column::number("TIMES").spare(2),
        Column::text("LAST").spare(3),
        Column::text("SESSION"),
    ]);
    for row in failed.iter().take(SHOWN) {
        let session = all.get(&row.session);
        // A row for several errors shows the normalized text, without the parts in which they differ.
        let text = if row.count == 1 { &row.example } else { &row.text };
        out.row([
            Cell::styled(style::WARNING, text),
            row.tool.as_str().into(),
            count(row.count).into(),
            Cell::age(row.last, ctx.now),
            session.map(|s| all.short(s)).unwrap_or_default().into(),
        ]);
    }
    out
}

fn table(rows: &[Row], group: GroupArg) -> Rows {
    let heading = match group {
        GroupArg::Tool => "TOOL",
        GroupArg::Label => "LABEL",
        GroupArg::Category => "CATEGORY",
        GroupArg::Server => "SERVER",
    };
    let mut columns = vec![
        Column::long(heading),
        Column::text("LABEL").spare(3),
        Column::number("CALLS"),
        Column::number("OK").spare(2),
        Column::number("ERROR").spare(1),
        Column::number("CANCELLED").spare(5),
        Column::number("UNFINISHED").spare(6),
        Column::number("FAILED"),
        Column::number("ADDED").spare(4),
        Column::number("REMOVED").spare(4),
    ];
    // A group of several tools has no single label.
    if group != GroupArg::Tool {
        columns.remove(1);
    }
    let mut out = Rows::new(columns);
    for row in rows {
        let failed = Cell::styled(
            if row.counts.error * 5 > row.counts.calls { style::WARNING } else { style::DIM },
            percent(row.counts.error, row.counts.calls),
        );
        let mut cells = vec![
            Cell::styled(style::NAME, &row.key),
            row.name.label.as_str().into(),
            count(row.counts.calls).into(),
            count(row.counts.success).into(),
            count(row.counts.error).into(),
            count(row.counts.cancelled).into(),
            count(row.counts.unfinished).into(),
            failed,
            count(row.counts.lines_added).into(),
            count(row.counts.lines_removed).into(),
        ];
        if group != GroupArg::Tool {
            cells.remove(1);
        }
        out.row(cells);
    }
    out
}
