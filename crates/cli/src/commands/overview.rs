//! The output of `backstory` without a command: recent activity, imminent deletions, and next steps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use backstory_core::archive::Sizes;
use backstory_core::discover::Discovery;
use backstory_core::doctor::{Deletion, Problem, Report, SearchedPlace, Survey};
use backstory_core::export::json::{SessionRow, Time, UsageRow};
use backstory_core::model::Session;
use backstory_core::pricing::Bill;
use backstory_core::query::Filter;
use backstory_core::query::overview::Overview;
use backstory_core::query::projects::{ProjectAnswer, projects};
use backstory_core::query::usage::{Costs, Sum};
use jiff::SignedDuration;
use serde::Serialize;

use super::projects::Row as ProjectRow;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::{Library, cannot_open};
use crate::output::chart::bar;
use crate::output::number::{count, plural};
use crate::output::{Cell, Column, Line, Printer, Table, style};

/// The number of days in the summary, including today.
const DAYS: i64 = 7;

/// A deletion within this time is worth a warning.
pub(super) const SOON: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The number of rows in each list.
const SHOWN: usize = 5;

/// `backstory.overview/1`; fields may be added.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    period: PeriodRow,
    usage: Vec<SumRow>,
    totals: SumRow,
    models: Vec<SumRow>,
    projects: Vec<ProjectRow<'a>>,
    recent: Vec<SessionRow<'a>>,
    sessions: usize,
    faults: FaultsRow,
    at_risk: &'a [&'a Deletion],
    looked: &'a [SearchedPlace],
    roots: &'a [String],
}

#[derive(Serialize)]
struct PeriodRow {
    since: Option<Time>,
    until: Option<Time>,
    tz: String,
}

#[derive(Serialize)]
struct SumRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    calls: u64,
    sessions: u64,
    #[serde(flatten)]
    usage: UsageRow,
    #[serde(flatten)]
    cost: Bill,
}

impl SumRow {
    fn new(key: Option<String>, sum: &Sum) -> Self {
        let usage = UsageRow::new(&sum.usage);
        Self { key, calls: sum.calls, sessions: sum.sessions, usage, cost: sum.bill }
    }
}

#[derive(Serialize)]
struct FaultsRow {
    files: usize,
    records: u64,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer) -> Result<Exit> {
    super::require_given(ctx)?;
    let library = Library::open(ctx, printer, &[])?;
    let all = &library.all;
    let survey = Survey::new(&library.archive, &library.all).map_err(cannot_open)?;
    let report = Report::new(&survey, &ctx.env, ctx.now);
    let now = ctx.now.to_zoned(ctx.zone.clone());
    let lately = library.reports().overview(all, &now, DAYS).map_err(super::cannot_count)?;
    let lately = lately.ok_or_else(|| Failure::new("the clock is out of range"))?;
    let listed = all.listed();
    let recent = &listed[..listed.len().min(SHOWN)];
    // Only the JSON document has the costs of sessions and the sizes of projects.
    let (costs, sizes) = if ctx.json {
        (library.costs()?, library.archive.file_sizes().map_err(super::cannot_count)?)
    } else {
        (Costs::default(), Sizes::default())
    };
    let projects = projects(all, sizes, &costs, &Filter::default());
    let at_risk: Vec<&Deletion> = report.deletions.iter().filter(|d| d.resumable).collect();
    let faults = FaultsRow { files: survey.faulty_files(), records: report.fault_count };
    let is_faulty = faults.records > 0;
    if ctx.json {
        let recent = library.with_prompts(recent)?;
        printer.json(&Document {
            schema: "backstory.overview/1",
            period: PeriodRow {
                since: lately.period.since.map(Time),
                until: lately.period.until.map(Time),
                tz: ctx.zone_name(),
            },
            usage: rows(lately.days.iter().map(|(day, sum)| (day.to_string(), sum))),
            totals: SumRow::new(None, &lately.total),
            models: rows(lately.models.iter().map(|(model, sum)| (model.clone(), sum))),
            projects: projects.iter().map(ProjectRow::new).collect(),
            recent: recent.iter().map(|s| SessionRow::new(s, costs.of(&s.id))).collect(),
            sessions: listed.len(),
            faults,
            at_risk: &at_risk,
            looked: &report.looked,
            roots: &report.roots,
        })?;
    } else if survey.is_empty() {
        empty(ctx, printer, &library.all.found, survey.only_antigravity())?;
    } else {
        let mut page = Page { ctx, printer };
        page.lately(&lately)?;
        page.recent(recent)?;
        page.projects(listed.len(), &projects)?;
        page.warnings(&at_risk, &faults, &report.problems)?;
        page.next(recent.is_empty())?;
    }
    Ok(ctx.exit_code(is_faulty))
}

fn rows<'a>(sums: impl Iterator<Item = (String, &'a Sum)>) -> Vec<SumRow> {
    sums.map(|(key, sum)| SumRow::new(Some(key), sum)).collect()
}

/// Explains that nothing was found: the places searched, and what to do.
fn empty(
    ctx: &Context,
    printer: &mut Printer,
    found: &Discovery,
    only_antigravity: bool,
) -> Result<()> {
    printer.line(Line::new().styled(style::HEADING, "No sessions were found."))?;
    if only_antigravity {
        printer.line("There is data of Antigravity CLI, another product, which is not read.")?;
    }
    printer.blank()?;
    printer.line("It looked here:")?;
    let mut table = Table::new([Column::text(""), Column::long("")]);
    for looked in &found.looked {
        let state = super::state(found, looked);
        let why = Cell::styled(style::DIM, format!("{}, {state}", looked.why));
        table.row([ctx.show(&looked.path).into(), why]);
    }
    printer.table(&table)?;
    for problem in &found.problems {
        let line = Line::new().styled(style::WARNING, "  ! ").text(ctx.show(&problem.path));
        printer.line(line.text(format!(": {}", problem.what)))?;
    }
    if found.looked.is_empty() {
        printer.line("  nowhere: the home folder is unknown (HOME is not set)")?;
    }
    printer.blank()?;
    for hint in super::ELSEWHERE {
        printer.line(Line::new().styled(style::HINT, "hint: ").text(hint))?;
    }
    Ok(())
}

struct Page<'a> {
    ctx: &'a Context,
    printer: &'a mut Printer,
}

impl Page<'_> {
    fn heading(&mut self, text: &str) -> Result<()> {
        Ok(self.printer.line(Line::new().styled(style::HEADING, text))?)
    }

    /// Prints one bar per day.
    fn lately(&mut self, lately: &Overview) -> Result<()> {
        let mut sum = vec![
            plural(lately.conversations as u64, "session", "sessions"),
            plural(lately.total.calls, "model call", "model calls"),
            format!("{} tokens", count(lately.total.usage.total())),
        ];
        sum.extend(lately.total.bill.short());
        self.heading(&format!("Last {DAYS} days: {}", sum.join(", ")))?;
        if lately.total.calls == 0 {
            return Ok(self.printer.blank()?);
        }
        let most = lately.days.iter().map(|(_, sum)| sum.usage.total()).max().unwrap_or(0);
        let mut table = Table::new([
            Column::text(""),
            Column::number("").spare(1),
            Column::number("").spare(2),
            Column::number(""),
            Column::text("").spare(3),
        ]);
        for (day, sum) in &lately.days {
            let total = sum.usage.total();
            table.row([
                day.strftime("%a %d %b").to_string().into(),
                if sum.calls > 0 {
                    format!("{} calls", count(sum.calls))
                } else {
                    "–".to_owned()
                }
                .into(),
                if total > 0 { Cell::count(total) } else { "".into() },
                sum.bill.short().unwrap_or_default().into(),
                Cell::styled(style::NAME, bar(total, most, 30)).or(bar(total, most, 8)),
            ]);
        }
        self.printer.table(&table)?;
        Ok(self.printer.blank()?)
    }

    fn recent(&mut self, recent: &[&Session]) -> Result<()> {
        if recent.is_empty() {
            return Ok(());
        }
        self.heading("Latest sessions")?;
        let mut table = Table::new([
            Column::text(""),
            Column::text(""),
            Column::text("").spare(1),
            Column::main(""),
        ]);
        for (n, session) in recent.iter().enumerate() {
            table.row([
                Cell::styled(style::NAME, format!("@{}", n + 1)),
                Cell::age(session.updated, self.ctx.now),
                session.project.name.as_str().into(),
                session.title().0.into(),
            ]);
        }
        self.printer.table(&table)?;
        Ok(self.printer.blank()?)
    }

    fn projects(&mut self, sessions: usize, projects: &[ProjectAnswer]) -> Result<()> {
        let shown =
            if self.printer.is_verbose() { projects.len() } else { projects.len().min(SHOWN) };
        let sessions = plural(sessions as u64, "session", "sessions");
        let number = plural(projects.len() as u64, "project", "projects");
        self.heading(&format!("{sessions} in {number}"))?;
        let mut table = Table::new([
            Column::long("PROJECT"),
            Column::number("SESSIONS"),
            Column::number("TOKENS").spare(1),
            Column::text("UPDATED").spare(2),
            Column::path("PATH").spare(3),
        ]);
        for answer in &projects[..shown] {
            let path = answer.project.path.as_ref().map(|path| self.ctx.show(Path::new(path)));
            table.row([
                Cell::styled(style::NAME, &answer.project.name),
                count(answer.sessions as u64).into(),
                Cell::count(answer.usage.total()),
                Cell::age(answer.updated, self.ctx.now),
                path.map_or_else(|| Cell::styled(style::DIM, "not known"), Cell::from),
            ]);
        }
        self.printer.table(&table)?;
        let more = (projects.len() - shown) as u64;
        if more > 0 {
            let projects = self.ctx.follow_up.command("projects");
            let line = format!("  and {} more (`{projects}`)", count(more));
            self.printer.line(Line::new().styled(style::DIM, line))?;
        }
        Ok(())
    }

    /// Prints warnings about things that should not wait.
    fn warnings(
        &mut self,
        at_risk: &[&Deletion],
        faults: &FaultsRow,
        problems: &[Problem],
    ) -> Result<()> {
        let is_soon =
            |d: &&&Deletion| d.at.is_none_or(|at| at.duration_since(self.ctx.now) <= SOON);
        // Subagents are deleted with their sessions, whose ids theirs begin with.
        let doomed: BTreeSet<(&str, bool, bool, &str)> = at_risk
            .iter()
            .filter(is_soon)
            .filter_map(|d| {
                let session = d.session.as_deref()?.split('/').next()?;
                Some((d.agent_name, d.kept, d.early && !d.kept, session))
            })
            .collect();
        let mut counts: BTreeMap<(&str, bool, bool), u64> = BTreeMap::new();
        for (agent, kept, early, _) in doomed {
            *counts.entry((agent, kept, early)).or_default() += 1;
        }
        let (mut lines, mut kept) = (Vec::new(), Vec::new());
        for ((agent, is_kept, is_early), number) in counts.into_iter().rev() {
            let sessions = plural(number, "session", "sessions");
            if is_kept {
                kept.push(format!("{agent} will soon delete {sessions} that the archive keeps."));
            } else if is_early {
                lines.push(format!(
                    "{sessions} will be lost at the next start of {agent}, through its resume bug"
                ));
            } else {
                lines.push(format!("{sessions} will be deleted by {agent} within 7 days"));
            }
        }
        if faults.records > 0 {
            lines.push(format!(
                "{} in {}",
                plural(faults.records, "fault", "faults"),
                plural(faults.files as u64, "file", "files")
            ));
        }
        match problems {
            [] => {}
            [one] => {
                lines.push(format!("`{}` cannot be read", self.ctx.show(Path::new(&one.path))));
            }
            several => lines.push(format!("{} files or folders cannot be read", several.len())),
        }
        if !lines.is_empty() || !kept.is_empty() {
            self.printer.blank()?;
        }
        let doctor = format!(" (`{}`)", self.ctx.follow_up.command("doctor"));
        for line in lines {
            let line = Line::new().styled(style::WARNING, "! ").text(line);
            self.printer.line(line.styled(style::DIM, &doctor))?;
        }
        for line in kept {
            self.printer.line(Line::new().styled(style::DIM, line))?;
        }
        Ok(())
    }

    fn next(&mut self, is_empty: bool) -> Result<()> {
        const READ: [(&str, &str); 2] = [
            ("sessions --since 7d", "sessions of the last 7 days"),
            ("show @1", "read the latest one"),
        ];
        const REST: [(&str, &str); 2] = [
            ("doctor", "files found, damage, and upcoming deletions"),
            ("--help", "everything else"),
        ];
        self.printer.blank()?;
        self.heading("Next")?;
        let mut table = Table::new([Column::text(""), Column::long("").spare(1)]);
        for (command, what) in READ.iter().filter(|_| !is_empty).chain(&REST) {
            let command = self.ctx.follow_up.command(command);
            table.row([Cell::styled(style::NAME, command), Cell::styled(style::DIM, *what)]);
        }
        Ok(self.printer.table(&table)?)
    }
}
