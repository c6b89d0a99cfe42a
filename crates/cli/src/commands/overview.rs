//! What `backstory` alone prints: what there is, what is about to be lost, where to go from here.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::number::{bytes, count, plural, relative};
use crate::output::{Cell, Column, Line, Printer, Table, style};
use crate::survey::Survey;
use crate::survey::report::{Deletion, Looked, Project, Report, time};

/// How far ahead a deletion is worth a warning.
const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

/// How many projects are shown without `-v`.
const SHOWN: usize = 10;

/// `backstory.overview/1`; fields may be added.
#[derive(Debug, Serialize)]
struct Overview {
    schema: &'static str,
    looked: Vec<Looked>,
    roots: Vec<String>,
    totals: Totals,
    projects: Vec<Project>,
    faults: Faults,
    /// Sessions that Gemini CLI will delete, the soonest first.
    at_risk: Vec<Deletion>,
    #[serde(skip)]
    only_antigravity: bool,
}

#[derive(Debug, Serialize)]
struct Totals {
    projects: u64,
    sessions: u64,
    files: u64,
    bytes: u64,
    #[serde(serialize_with = "time")]
    updated: Option<Timestamp>,
}

#[derive(Debug, Serialize)]
struct Faults {
    files: u64,
    records: u64,
}

impl Overview {
    fn new(survey: &Survey, report: Report) -> Self {
        let mut projects = report.projects;
        projects.sort_by(|a, b| (b.updated, &a.name).cmp(&(a.updated, &b.name)));
        let totals = Totals {
            projects: projects.len() as u64,
            sessions: survey.sessions(),
            files: survey.files.len() as u64,
            bytes: projects.iter().map(|project| project.bytes).sum(),
            updated: projects.iter().filter_map(|project| project.updated).max(),
        };
        let faulty = survey.files.iter().filter(|file| file.fault_count() > 0).count();
        Self {
            schema: "backstory.overview/1",
            looked: report.looked,
            roots: report.roots,
            totals,
            projects,
            faults: Faults { files: faulty as u64, records: report.fault_count },
            at_risk: report.deletions.into_iter().filter(|d| d.resumable).collect(),
            only_antigravity: survey.only_antigravity(),
        }
    }
}

pub(super) fn run(ctx: &Context, printer: &mut Printer) -> Result<Exit> {
    super::require_given(ctx)?;
    let survey = super::survey(ctx, printer);
    let report = Report::new(&survey, &ctx.env, ctx.now);
    let overview = Overview::new(&survey, report);
    if ctx.json {
        printer.json(&overview)?;
    } else if overview.totals.files == 0 {
        empty(ctx, printer, &overview)?;
    } else {
        page(ctx, printer, &overview)?;
    }
    let is_faulty = overview.faults.records > 0;
    Ok(if ctx.strict && is_faulty { Exit::Nothing } else { Exit::Fine })
}

/// Nothing was found: say where it looked and what to do.
fn empty(ctx: &Context, printer: &mut Printer, overview: &Overview) -> io::Result<()> {
    printer.line(Line::new().styled(style::HEADING, "No sessions of Gemini CLI were found."))?;
    if overview.only_antigravity {
        printer.line("There is data of Antigravity CLI, another product, which is not read.")?;
    }
    printer.blank()?;
    printer.line("It looked here:")?;
    let mut table = Table::new([Column::text(""), Column::long("")]);
    for looked in &overview.looked {
        let state = if looked.exists { "nothing in it" } else { "not there" };
        let why = Cell::styled(style::DIM, format!("{}, {state}", looked.why));
        table.row([ctx.show(Path::new(&looked.path)).into(), why]);
    }
    printer.table(&table)?;
    if overview.looked.is_empty() {
        printer.line("  nowhere: the home folder is unknown (HOME is not set)")?;
    }
    printer.blank()?;
    for hint in super::ELSEWHERE {
        printer.line(Line::new().styled(style::HINT, "hint: ").text(hint))?;
    }
    Ok(())
}

fn page(ctx: &Context, printer: &mut Printer, overview: &Overview) -> io::Result<()> {
    let totals = &overview.totals;
    let sizes = [
        plural(totals.sessions, "session", "sessions"),
        plural(totals.projects, "project", "projects"),
        plural(totals.files, "file", "files"),
        bytes(totals.bytes),
    ];
    printer.line(Line::new().styled(style::HEADING, sizes.join(" · ")))?;
    let places: Vec<String> = overview.roots.iter().map(|r| ctx.show(Path::new(r))).collect();
    if !places.is_empty() {
        let from = format!("in {}", places.join(" and "));
        printer.line(Line::new().styled(style::DIM, from))?;
    }
    printer.blank()?;
    projects(ctx, printer, &overview.projects)?;
    warnings(ctx, printer, overview)?;
    printer.blank()?;
    printer.line(Line::new().styled(style::HEADING, "Next"))?;
    let mut table = Table::new([Column::text(""), Column::long("")]);
    for (command, what) in [
        ("backstory doctor", "what is damaged, what will be deleted and when"),
        ("backstory export SESSION --format gemini", "a session as a document of its own"),
        ("backstory --help", "everything else"),
    ] {
        table.row([Cell::styled(style::NAME, command), Cell::styled(style::DIM, what)]);
    }
    printer.table(&table)
}

fn projects(ctx: &Context, printer: &mut Printer, projects: &[Project]) -> io::Result<()> {
    let mut table = Table::new([
        Column::long("PROJECT"),
        Column::number("SESSIONS"),
        Column::text("LAST ACTIVITY"),
        Column::number("SIZE"),
        Column::long("PATH"),
    ]);
    let shown = if printer.is_verbose() { projects.len() } else { projects.len().min(SHOWN) };
    for project in &projects[..shown] {
        let path = project.path.as_ref().map(|path| ctx.show(Path::new(path)));
        table.row([
            Cell::styled(style::NAME, &project.name),
            count(project.sessions).into(),
            project.updated.map_or_else(|| "–".to_owned(), |at| relative(at, ctx.now)).into(),
            bytes(project.bytes).into(),
            path.map_or_else(|| Cell::styled(style::DIM, "not known"), Cell::from),
        ]);
    }
    printer.table(&table)?;
    let more = (projects.len() - shown) as u64;
    if more > 0 {
        let line = format!("  and {} (`-v` lists them)", plural(more, "more", "more"));
        printer.line(Line::new().styled(style::DIM, line))?;
    }
    Ok(())
}

/// What should not wait.
fn warnings(ctx: &Context, printer: &mut Printer, overview: &Overview) -> io::Result<()> {
    let is_soon = |d: &&Deletion| d.at.is_none_or(|at| at.duration_since(ctx.now) <= SOON);
    let sessions = |early: bool| {
        let doomed = overview.at_risk.iter().filter(is_soon).filter(|d| d.early == early);
        doomed.filter_map(|d| d.session.as_deref()).collect::<BTreeSet<_>>().len() as u64
    };
    let (bug, age) = (sessions(true), sessions(false));
    let mut lines = Vec::new();
    if bug > 0 {
        lines.push(format!(
            "{} will be lost at the next start of Gemini CLI, through its resume bug",
            plural(bug, "session", "sessions")
        ));
    }
    if age > 0 {
        let sessions = plural(age, "session", "sessions");
        lines.push(format!("{sessions} will be deleted by Gemini CLI within 7 days"));
    }
    if overview.faults.records > 0 {
        lines.push(format!(
            "{} in {}",
            plural(overview.faults.records, "fault", "faults"),
            plural(overview.faults.files, "file", "files")
        ));
    }
    if !lines.is_empty() {
        printer.blank()?;
    }
    for line in lines {
        printer.line(Line::new().styled(style::WARNING, "! ").text(line))?;
    }
    Ok(())
}
