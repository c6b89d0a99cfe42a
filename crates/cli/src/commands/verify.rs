use std::path::Path;

use backstory_core::query::verify::Check;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Result};
use crate::library::Library;
use crate::output::number::{count, plural};
use crate::output::{Line, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory verify             each check with its number of cases
  backstory verify -v          every case
  backstory verify --strict    for scripts: exit with 1 if any number is in doubt";

/// Check the numbers against the totals in the files, and list every doubt
///
/// Compares the token counts of each call with its recorded total, and the current view of each session
/// with the full one. Lists copies, imports and removed messages, sums that are only bounds, calls without
/// a price, and every record that could not be read.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Verify {}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    faults: Vec<FaultOut>,
    checks: Vec<CheckOut<'a>>,
}

#[derive(Serialize)]
struct FaultOut {
    file: String,
    line: Option<u64>,
    record: Option<String>,
    what: String,
}

#[derive(Serialize)]
struct CheckOut<'a> {
    name: &'a str,
    ok: bool,
    detail: &'a str,
    items: &'a [String],
}

impl<'a> CheckOut<'a> {
    fn new(check: &'a Check) -> Self {
        let Check { name, ok, detail, items } = check;
        Self { name, ok: *ok, detail, items }
    }
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, _: &Verify) -> Result<Exit> {
    super::require_given(ctx)?;
    let library = Library::open(ctx, printer, &[])?;
    let mut faults: Vec<FaultOut> = Vec::new();
    for file in library.archive.files().map_err(super::cannot_count)? {
        for fault in file.about.faults.details.iter().filter(|fault| !fault.what.is_pending()) {
            faults.push(FaultOut {
                file: file.source.path.display().to_string(),
                line: fault.line,
                record: fault.record.clone(),
                what: fault.what.to_string(),
            });
        }
    }
    let verified = library.reports().verify(&library.all).map_err(super::cannot_count)?;
    let checks = verified.checks;
    faults.extend(verified.problems.into_iter().map(|problem| FaultOut {
        file: problem.file.display().to_string(),
        line: None,
        record: Some(problem.message.into()),
        what: problem.what,
    }));
    let is_fine = faults.is_empty() && checks.iter().all(|check| check.ok);
    if ctx.json {
        let checks = checks.iter().map(CheckOut::new).collect();
        printer.json(&Document { schema: "backstory.verify/1", faults, checks })?;
    } else {
        print(ctx, printer, &checks, &faults)?;
    }
    Ok(ctx.exit_code(!is_fine))
}

fn print(
    ctx: &Context,
    printer: &mut Printer,
    checks: &[Check],
    faults: &[FaultOut],
) -> Result<()> {
    /// The number of cases that are listed without `-v`.
    const SHOWN: usize = 3;
    let shown = if printer.is_verbose() { usize::MAX } else { SHOWN };
    for check in checks {
        let (mark, color) = if check.ok { ("✓", style::GOOD) } else { ("!", style::WARNING) };
        let line = Line::new().styled(color, mark).text(" ");
        let line = line.styled(style::HEADING, format!("{:<11}", check.name));
        printer.line(line.text(format!(" {}", check.detail)))?;
        list(printer, check.items.iter().map(String::as_str), shown)?;
    }
    let mark = if faults.is_empty() { ("✓", style::GOOD) } else { ("!", style::WARNING) };
    let line = Line::new().styled(mark.1, mark.0).text(" ").styled(style::HEADING, "records    ");
    let count = plural(faults.len() as u64, "fault", "faults");
    printer.line(line.text(format!(" {count} in what was read")))?;
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| {
            let line = fault.line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("{}{line}: {}", ctx.show(Path::new(&fault.file)), fault.what)
        })
        .collect();
    list(printer, lines.iter().map(String::as_str), shown)
}

fn list<'a>(
    printer: &mut Printer,
    items: impl ExactSizeIterator<Item = &'a str>,
    shown: usize,
) -> Result<()> {
    let more = items.len().saturating_sub(shown);
    for item in items.take(shown) {
        printer.line(Line::new().styled(style::DIM, format!("    {item}")))?;
    }
    if more > 0 {
        printer.line(
            Line::new().styled(style::DIM, format!("    and {} more (`-v`)", count(more as u64))),
        )?;
    }
    Ok(())
}
