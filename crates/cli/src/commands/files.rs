use std::path::Path;

use backstory_core::collection::Collection;
use backstory_core::export::json::Time;
use backstory_core::model::SessionId;
use backstory_core::query::files::{self, FileRow, FileUse, by_file};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::Listing;
use crate::library::Library;
use crate::output::number::{count, json_time, plural};
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Line, Printer, diff, style};

const EXAMPLES: &str = "\
Examples:
  backstory files                       the files that agents used last
  backstory files --changed --since 7d  only those that they changed in the last 7 days
  backstory files src/booking.rs        the sessions that read or changed this file
  backstory files booking.rs --diff     what they changed in it
  backstory files .                     files in this folder";

/// List the files that agents read and changed, and the sessions that did
///
/// Counts the uses of file tools. Files that a shell command read or changed are not included; `backstory log`
/// lists the commands.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Files {
    /// A file or folder: its path or a part of it
    path: Option<String>,

    /// Only changes, no reads
    #[arg(long)]
    changed: bool,

    /// Show what was changed
    #[arg(long, short, requires = "path", conflicts_with = "format")]
    diff: bool,

    #[command(flatten)]
    list: Listing,
}

/// `backstory.files/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    files: Vec<RowOut<'a>>,
    /// Each use, newest first, if a path was given.
    uses: Vec<UseOut<'a>>,
}

#[derive(Serialize)]
struct RowOut<'a> {
    path: &'a str,
    reads: u64,
    changes: u64,
    lines_added: u64,
    lines_removed: u64,
    sessions: &'a [SessionId],
    last: Option<Time>,
}

#[derive(Serialize)]
struct UseOut<'a> {
    path: &'a str,
    session: &'a str,
    at: Option<Time>,
    tool: &'a str,
    change: bool,
    failed: bool,
    lines_added: Option<u64>,
    lines_removed: Option<u64>,
    diff: Option<&'a str>,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Files) -> Result<Exit> {
    let (library, ids, period) = super::open_listing(ctx, printer, &args.list)?;
    let all = &library.all;
    let path = args.path.as_deref().map(|path| ctx.typed_path(path));
    let wants_diffs = args.diff || (ctx.json && path.is_some());
    let (archive, path) = (&library.archive, path.as_deref());
    let mut uses = Vec::new();
    let rows = if path.is_none() {
        files::list(archive, all, &ids, &period, args.changed).map_err(super::cannot_read)?
    } else {
        uses = files::files(archive, all, &ids, &period, path).map_err(super::cannot_read)?;
        if wants_diffs {
            let with_diffs = files::with_diffs(archive, all, &uses, &period, path);
            uses = with_diffs.map_err(super::cannot_read)?;
        }
        if args.changed || args.diff {
            uses.retain(|used| used.is_change && !used.has_failed);
        }
        by_file(&uses)
    };
    if rows.is_empty() && !ctx.json {
        return Err(nothing(ctx, &library, args));
    }
    let (format, limit) = args.list.format(ctx, 30);
    let page = Page { ctx, all, rows: &rows, uses: &uses, limit };
    match format {
        Format::Json => {
            printer.json(&Document {
                schema: "backstory.files/1",
                files: rows.iter().take(limit).map(row).collect(),
                uses: uses.iter().map(use_out).collect(),
            })?;
        }
        Format::Jsonl => printer.json_lines(rows.iter().take(limit).map(row))?,
        Format::Csv | Format::Md => printer.rows(&page.files(false), format)?,
        Format::Table if args.diff => page.diffs(printer)?,
        Format::Table => {
            printer.rows(&page.files(true), format)?;
            if args.path.is_some() {
                printer.blank()?;
                printer.rows(&page.sessions(), format)?;
            }
            if rows.len() > limit {
                let more = plural((rows.len() - limit) as u64, "more file", "more files");
                printer.note(format!("{more}; `--limit {}` lists them all.", rows.len()));
            }
        }
    }
    super::note_faults(printer, &library);
    Ok(if rows.is_empty() { Exit::NoMatch } else { super::exit_code(ctx, &library) })
}

fn nothing(ctx: &Context, library: &Library, args: &Files) -> Failure {
    let all = &library.all;
    let what = match &args.path {
        Some(path) => format!("no session used `{path}`"),
        None => "no files match".to_owned(),
    };
    let failure = super::nothing(ctx, all, &args.list.filters, &what);
    let hint = "only file tools are counted; `backstory log` lists the shell commands";
    if all.sessions.is_empty() { failure } else { failure.hint(hint) }
}

fn row(row: &FileRow) -> RowOut<'_> {
    RowOut {
        path: &row.path,
        reads: row.reads,
        changes: row.changes,
        lines_added: row.lines.0,
        lines_removed: row.lines.1,
        sessions: &row.sessions,
        last: row.last.map(Time),
    }
}

fn use_out(used: &FileUse) -> UseOut<'_> {
    UseOut {
        path: &used.path,
        session: &used.session,
        at: used.at.map(Time),
        tool: &used.tool,
        change: used.is_change,
        failed: used.has_failed,
        lines_added: used.lines.map(|lines| lines.0),
        lines_removed: used.lines.map(|lines| lines.1),
        diff: used.diff.as_deref(),
    }
}

struct Page<'a> {
    ctx: &'a Context,
    all: &'a Collection,
    rows: &'a [FileRow],
    uses: &'a [FileUse],
    limit: usize,
}

impl Page<'_> {
    fn files(&self, for_people: bool) -> Rows {
        let names = if for_people {
            ["FILE", "READ", "CHANGED", "ADDED", "REMOVED", "SESSIONS", "LAST"]
        } else {
            ["path", "reads", "changes", "lines_added", "lines_removed", "sessions", "last"]
        };
        let [path, reads, changes, added, removed, sessions, last] = names;
        let mut out = Rows::new([
            Column::path(path),
            Column::number(reads).spare(2),
            Column::number(changes),
            Column::number(added).spare(3),
            Column::number(removed).spare(3),
            Column::number(sessions).spare(1),
            Column::text(last),
        ]);
        for row in self.rows.iter().take(self.limit) {
            let number =
                |number: u64| if for_people { count(number) } else { number.to_string() }.into();
            let (path, last) = if for_people {
                let path = self.ctx.show_within(Path::new(&row.path), self.all.here());
                (Cell::styled(style::NAME, path), Cell::age(row.last, self.ctx.now))
            } else {
                (row.path.as_str().into(), row.last.map(json_time).unwrap_or_default().into())
            };
            out.row([
                path,
                number(row.reads),
                number(row.changes),
                number(row.lines.0),
                number(row.lines.1),
                number(row.sessions.len() as u64),
                last,
            ]);
        }
        out
    }

    /// Returns the sessions that used the files, most recent first.
    fn sessions(&self) -> Rows {
        let mut out = Rows::new([
            Column::text("SESSION"),
            Column::text("LAST"),
            Column::number("READ").spare(2),
            Column::number("CHANGED").spare(1),
            Column::main("TITLE"),
        ]);
        let mut order: Vec<&str> = Vec::new();
        for used in self.uses.iter().filter(|used| !used.has_failed) {
            if !order.contains(&used.session.as_str()) {
                order.push(&used.session);
            }
        }
        for id in order {
            let uses = || self.uses.iter().filter(|used| used.session == id && !used.has_failed);
            let changes = uses().filter(|used| used.is_change).count();
            let session = self.all.get(id);
            out.row([
                Cell::styled(style::NAME, session.map(|s| self.all.short(s)).unwrap_or_default()),
                Cell::age(uses().filter_map(|used| used.at).max(), self.ctx.now),
                count((uses().count() - changes) as u64).into(),
                count(changes as u64).into(),
                session.map(|session| session.title().0).unwrap_or_default().into(),
            ]);
        }
        out
    }

    /// Prints the changes, the oldest first, grouped by session.
    fn diffs(&self, printer: &mut Printer) -> Result<()> {
        let mut last: Option<&str> = None;
        let shown = self.uses.iter().take(self.limit).rev();
        for used in shown {
            if last != Some(&used.session) {
                if last.is_some() {
                    printer.blank()?;
                }
                last = Some(&used.session);
                let session = self.all.get(&used.session);
                let title = session.map(|session| session.title().0).unwrap_or_default();
                let short = session.map(|s| self.all.short(s)).unwrap_or_default();
                let line = Line::new().styled(style::NAME, short).text("  ");
                printer.title(line.styled(style::HEADING, title))?;
            }
            let path = self.ctx.show_within(Path::new(&used.path), self.all.here());
            let at = used.at.map(|at| crate::output::number::date(at, &self.ctx.zone));
            let line = Line::new().text(format!("  {} {path}", used.tool));
            let at = format!("  {}", at.unwrap_or_default());
            printer.line(line.styled(style::DIM, at).hang("    "))?;
            for line in diff::lines(used.diff.as_deref().unwrap_or_default(), "    ") {
                printer.line(line)?;
            }
        }
        Ok(())
    }
}
