use backstory_core::export::json::Time;
use backstory_core::query::commands::{Row, commands};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::Listing;
use crate::output::number::count;
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory commands                    the programs that agents ran, most used first
  backstory commands --full -n 20       whole commands instead
  backstory commands -p api --since 7d";

/// Count the programs that the shell tool ran
///
/// Parses command lines with a shell's own grammar: pipelines, `&&`, substitutions, `bash -c` and the like.
/// `sudo`, `env`, `time`, `xargs` and similar wrappers count as the program that they run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Commands {
    /// Group by the whole command instead of the program
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    list: Listing,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    rows: Vec<RowOut<'a>>,
}

#[derive(Serialize)]
struct RowOut<'a> {
    program: &'a str,
    runs: u64,
    failures: u64,
    sessions: u64,
    last: Option<Time>,
    example: &'a str,
}

impl<'a> RowOut<'a> {
    fn new(row: &'a Row) -> Self {
        let Row { program, runs, failures, sessions, last, example } = row;
        let (runs, failures, sessions) = (*runs, *failures, *sessions);
        Self { program, runs, failures, sessions, last: last.map(Time), example }
    }
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Commands) -> Result<Exit> {
    let (library, ids, period) = super::open_listing(ctx, printer, &args.list)?;
    let (format, limit) = args.list.format(ctx, 30);
    let rows = commands(&library.archive, &ids, &period, args.full, limit)
        .map_err(|error| Failure::new("cannot read the commands").because(error))?;
    library.warn_unread(printer);
    match format {
        Format::Json => {
            let rows = rows.iter().map(RowOut::new).collect();
            printer.json(&Document { schema: "backstory.commands/1", rows })?;
        }
        Format::Jsonl => printer.json_lines(rows.iter().map(RowOut::new))?,
        Format::Table if rows.is_empty() => {
            return Err(super::nothing(
                ctx,
                &library.all,
                &args.list.filters,
                "no shell commands match",
            ));
        }
        _ => printer.rows(&table(ctx, &rows, args.full, format == Format::Table), format)?,
    }
    Ok(if rows.is_empty() { Exit::NoMatch } else { super::exit_code(ctx, &library) })
}

fn table(ctx: &Context, rows: &[Row], full: bool, for_people: bool) -> Rows {
    let mut out = Rows::new([
        if full { Column::main("COMMAND") } else { Column::long("PROGRAM") },
        Column::number("RUNS"),
        Column::number("FAILED"),
        Column::number("SESSIONS").spare(3),
        Column::text("LAST").spare(2),
        Column::long(if full { "" } else { "EXAMPLE" }).spare(1),
    ]);
    for row in rows {
        let last = match row.last {
            at if for_people => Cell::age(at, ctx.now),
            at => at.map(crate::output::number::json_time).unwrap_or_default().into(),
        };
        out.row([
            Cell::styled(style::NAME, &row.program),
            count(row.runs).into(),
            count(row.failures).into(),
            count(row.sessions).into(),
            last,
            Cell::styled(style::DIM, if full { "" } else { &row.example }),
        ]);
    }
    out
}
