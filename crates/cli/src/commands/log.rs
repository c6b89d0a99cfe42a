use backstory_core::export::json::Time;
use backstory_core::model::ToolStatus;
use backstory_core::query::log::{self, Run};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Result};
use crate::filters::Listing;
use crate::library::Library;
use crate::output::clean::one_line;
use crate::output::number::{date, json_time, plural};
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory log --on yesterday     what agents ran in the shell yesterday
  backstory log -p . --failed      what failed in this project
  backstory log --format csv       the same for a spreadsheet";

/// List what ran in the shell, in order, with exit codes
///
/// Lists every command line that a shell tool ran, newest last. `backstory commands` counts them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Log {
    #[command(flatten)]
    list: Listing,

    /// Only commands that failed
    #[arg(long, help_heading = "Filters")]
    failed: bool,
}

/// `backstory.log/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    runs: Vec<RunOut<'a>>,
}

#[derive(Serialize)]
struct RunOut<'a> {
    at: Option<Time>,
    session: &'a str,
    project: Option<&'a str>,
    command: &'a str,
    status: &'static str,
    exit_code: Option<i32>,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Log) -> Result<Exit> {
    let (library, ids, period) = super::open_listing(ctx, printer, &args.list)?;
    let all = &library.all;
    let log = log::Log::new(&library.archive, &ids, &period);
    let mut log = log.map_err(super::cannot_read)?;
    if args.failed {
        log.heads.retain(|run| run.status == ToolStatus::Error);
    }
    let count = log.heads.len();
    let (format, limit) = args.list.format(ctx, 50);
    if count == 0 && format == Format::Table {
        return Err(super::nothing(ctx, all, &args.list.filters, "no shell commands match")
            .hint("`backstory sessions` lists the sessions of every period and project"));
    }
    let more = count.saturating_sub(limit);
    let shown = &log.read(&log.heads[more..]).map_err(super::cannot_read)?;
    let out = || {
        shown.iter().map(|run| RunOut {
            at: run.at.map(Time),
            session: &run.session,
            project: all.get(&run.session).map(|session| session.project.key()),
            command: &run.command,
            status: run.status.name(),
            exit_code: run.exit_code,
        })
    };
    match format {
        Format::Json => {
            printer.json(&Document { schema: "backstory.log/1", runs: out().collect() })?;
        }
        Format::Jsonl => printer.json_lines(out())?,
        _ => printer.rows(&table(ctx, &library, shown, format == Format::Table), format)?,
    }
    if more > 0 && format == Format::Table {
        let earlier = plural(more as u64, "earlier command", "earlier commands");
        printer.note(format!("{earlier}; `--limit {count}` lists them all."));
    }
    super::note_faults(printer, &library);
    Ok(if count == 0 { Exit::NoMatch } else { super::exit_code(ctx, &library) })
}

fn table(ctx: &Context, library: &Library, runs: &[Run], for_people: bool) -> Rows {
    let [at, exit, project, session, command] = if for_people {
        ["TIME", "EXIT", "PROJECT", "SESSION", "COMMAND"]
    } else {
        ["at", "exit_code", "project", "session", "command"]
    };
    let mut out = Rows::new([
        Column::text(at),
        Column::number(exit),
        Column::text(project).spare(2),
        Column::text(session).spare(1),
        Column::main(command),
    ]);
    for run in runs {
        let session = library.all.get(&run.session);
        if for_people {
            let (text, style) = match (run.exit_code, run.status) {
                (Some(code), ToolStatus::Error) => (code.to_string(), style::WARNING),
                (None, ToolStatus::Error) => ("✗".to_owned(), style::WARNING),
                (_, ToolStatus::Success) => ("0".to_owned(), style::DIM),
                (_, ToolStatus::Cancelled) => ("⊘".to_owned(), style::WARNING),
                (_, ToolStatus::Unfinished) => ("…".to_owned(), style::DIM),
            };
            let short = |at: jiff::Timestamp| {
                at.to_zoned(ctx.zone.clone()).strftime("%m-%d %H:%M").to_string()
            };
            let at =
                Cell::styled(style::DIM, run.at.map(|at| date(at, &ctx.zone)).unwrap_or_default());
            out.row([
                at.or(run.at.map(short).unwrap_or_default()),
                Cell::styled(style, text),
                session.map(|session| session.project.name.clone()).unwrap_or_default().into(),
                Cell::styled(
                    style::NAME,
                    session.map(|s| library.all.short(s)).unwrap_or_default(),
                ),
                one_line(&run.command).collect::<String>().into(),
            ]);
        } else {
            out.row([
                run.at.map(json_time).unwrap_or_default().into(),
                run.exit_code.map(|code| code.to_string()).unwrap_or_default().into(),
                session.map(|session| session.project.key()).unwrap_or_default().into(),
                run.session.as_str().into(),
                run.command.as_str().into(),
            ]);
        }
    }
    out
}
