mod verdict;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;

use anstyle::Style;
use backstory_core::doctor::{Deletion, Fault, Problem, Report, Retention, Survey};
use backstory_core::id::is_uuid;

use crate::context::Context;
use crate::error::{Exit, Result};
use crate::library::{Library, cannot_open};
use crate::output::number::{bytes, count, date, plural, relative};
use crate::output::{Cell, Column, Line, Printer, Table, style};

const EXAMPLES: &str = "\
Examples:
  backstory doctor                          everything, with long lists cut
  backstory doctor -v                       everything, in full
  backstory doctor --from session.jsonl     check a single file
  backstory doctor --strict -q > /dev/null  exit code 1 if anything could not be read
  backstory doctor --json | jq '.at_risk'   the sessions that the resume bug will delete";

/// Report searched places, files found, damage, and upcoming deletions
///
/// Says first what there is to do. Lists every place that was searched and why, the files by kind, files that were skipped on purpose,
/// every record that could not be used, the disk space of each project, how long each agent keeps
/// sessions according to its settings, which sessions it will delete next, and whether the archive has them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Doctor {}

/// The number of lines of a long list that are shown without `-v`.
const SHOWN: usize = 20;

pub(super) fn run(ctx: &Context, printer: &mut Printer, _: &Doctor) -> Result<Exit> {
    let library = Library::open(ctx, printer, &[])?;
    let survey = Survey::new(&library.archive, &library.all).map_err(cannot_open)?;
    let mut report = Report::new(&survey, &ctx.env, ctx.now);
    if let Some(path) = library.archive.path() {
        let info = library.archive.info().map_err(cannot_open)?;
        let is_watched = super::watch::is_running(path);
        let agents = library.archive.agents();
        report.add_archive(agents, &ctx.env, path.display().to_string(), &info, is_watched);
    }
    if ctx.json {
        printer.json(&report)?;
    } else {
        let mut page = Page { ctx, printer, report: &report };
        page.verdict()?;
        page.looked(survey.only_antigravity())?;
        page.found()?;
        page.skipped()?;
        page.problems()?;
        page.faults()?;
        page.projects()?;
        page.retention()?;
        page.deletions()?;
        page.at_risk()?;
        page.archive()?;
    }
    let is_faulty = report.fault_count > 0;
    Ok(if ctx.strict && is_faulty { Exit::NoMatch } else { Exit::Success })
}

/// The report for people, with one method per section.
struct Page<'a> {
    ctx: &'a Context,
    printer: &'a mut Printer,
    report: &'a Report,
}

impl Page<'_> {
    fn looked(&mut self, only_antigravity: bool) -> io::Result<()> {
        self.printer.line(Line::new().styled(style::HEADING, "Where it looked"))?;
        let mut table = Table::new([Column::text(""), Column::path(""), Column::long("")]);
        for looked in &self.report.looked {
            let is_below = |problem: &Problem| Path::new(&problem.path).starts_with(&looked.path);
            let (mark, state) = if !looked.exists {
                (Cell::styled(style::DIM, "–"), ", not there")
            } else if self.report.problems.iter().any(is_below) {
                (Cell::styled(style::WARNING, "!"), ", not all of it can be read")
            } else {
                (Cell::styled(style::GOOD, "✓"), "")
            };
            let why = Cell::styled(style::DIM, format!("{}{state}", looked.why));
            table.row([mark, self.path(&looked.path).into(), why]);
        }
        self.printer.table(&table)?;
        if let Some(config) = self.ctx.config.as_ref().filter(|config| config.exists()) {
            let text = format!("  config file: {}", self.ctx.show(config));
            self.printer.line(Line::new().styled(style::DIM, text))?;
        }
        if only_antigravity {
            self.printer.prose(
                style::WARNING,
                "This is data of Antigravity CLI only, another product. There is nothing of Gemini \
                 CLI here.",
            )?;
        }
        if self.report.looked.is_empty() {
            self.printer.line("  Nowhere: the home folder is unknown (HOME is not set).")?;
        }
        if !self.report.looked.iter().any(|looked| looked.exists) {
            for hint in super::ELSEWHERE {
                self.printer.line(Line::new().styled(style::HINT, "  hint: ").text(hint))?;
            }
        }
        Ok(())
    }

    fn found(&mut self) -> io::Result<()> {
        self.heading("Found", None)?;
        if self.report.found.is_empty() {
            return self.none("no session files");
        }
        let mut table =
            Table::new([Column::text("KIND"), Column::number("FILES"), Column::number("SIZE")]);
        for kind in &self.report.found {
            table.row([kind.kind.into(), count(kind.files).into(), bytes(kind.bytes).into()]);
        }
        self.printer.table(&table)?;
        let records = &self.report.records;
        self.printer.line(format!(
            "  {} read: {} used, {} ignored on purpose, {} not usable",
            plural(records.used + records.ignored + records.unusable, "record", "records"),
            count(records.used),
            count(records.ignored),
            count(records.unusable)
        ))
    }

    fn skipped(&mut self) -> io::Result<()> {
        let skipped = &self.report.skipped;
        self.heading("Skipped on purpose", Some(skipped.len() as u64))?;
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for skipped in skipped {
            reasons.entry(&*skipped.why).or_default().push(&skipped.path);
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, paths)| std::cmp::Reverse(paths.len()));
        for (why, paths) in reasons {
            self.printer.line(format!("  {:>6}  {why}", count(paths.len() as u64)))?;
            if self.printer.is_verbose() {
                for path in paths {
                    let path = format!("          {}", self.path(path));
                    self.printer.line(Line::new().styled(style::DIM, path))?;
                }
            }
        }
        Ok(())
    }

    fn problems(&mut self) -> io::Result<()> {
        self.heading("Problems", Some(self.report.problems.len() as u64))?;
        for problem in &self.report.problems {
            let line = Line::new().styled(style::WARNING, "  ! ").text(self.path(&problem.path));
            self.printer.line(line.text(": ").text(&problem.what))?;
        }
        Ok(())
    }

    fn faults(&mut self) -> io::Result<()> {
        let report = self.report;
        let (pending, faults): (Vec<_>, Vec<_>) = report.faults.iter().partition(|f| f.pending);
        self.heading("Faults", Some(report.fault_count))?;
        let shown = self.limit(faults.len());
        for fault in &faults[..shown] {
            let mut line = Line::new().styled(style::WARNING, "  ! ").text(self.place(fault));
            line = line.text(": ").text(&fault.what);
            if let Some(record) = &fault.record {
                line = line.styled(style::DIM, format!(" (record {record})"));
            }
            self.printer.line(line)?;
        }
        self.cut(shown as u64, report.fault_count)?;
        if !pending.is_empty() {
            self.heading("Still being written", Some(pending.len() as u64))?;
        }
        for fault in pending {
            let text = format!("  … {}: {}", self.place(fault), fault.what);
            self.printer.line(Line::new().styled(style::DIM, text))?;
        }
        Ok(())
    }

    fn place(&self, fault: &Fault) -> String {
        let file = self.path(&fault.file);
        fault.line.map_or(file.clone(), |line| format!("{file}:{line}"))
    }

    fn projects(&mut self) -> io::Result<()> {
        let projects = &self.report.projects;
        self.heading("Projects", Some(projects.len() as u64))?;
        if projects.is_empty() {
            return Ok(());
        }
        let mut table = Table::new([
            Column::long("PROJECT"),
            Column::number("SESSIONS"),
            Column::number("FILES").spare(3),
            Column::number("SIZE").spare(2),
            Column::path("PATH").spare(1),
        ]);
        for project in projects {
            let path = match &project.path {
                Some(path) => self.path(path).into(),
                None => Cell::styled(style::DIM, "not known"),
            };
            table.row([
                Cell::styled(style::NAME, &project.name),
                count(project.sessions).into(),
                count(project.files).into(),
                bytes(project.bytes).into(),
                path,
            ]);
        }
        self.printer.table(&table)
    }

    fn retention(&mut self) -> io::Result<()> {
        self.heading("How long agents keep sessions", None)?;
        let mut rules: Vec<(&str, String, Vec<&str>)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for retention in &self.report.retention {
            let rule = self.rule(retention);
            let place = *places.entry(rule.clone()).or_insert(rules.len());
            if place == rules.len() {
                rules.push((retention.agent_name, rule, Vec::new()));
            }
            rules[place].2.push(&retention.project);
        }
        if rules.is_empty() && self.report.removals.is_empty() {
            return self.none("no project, so nothing to decide");
        }
        for (agent, rule, projects) in &rules {
            self.printer.prose(Style::new(), rule)?;
            let is_alone = rules.iter().filter(|(other, ..)| other == agent).count() == 1;
            if !is_alone || self.printer.is_verbose() {
                for project in projects {
                    let line = format!("    {}", self.path(project));
                    self.printer.line(Line::new().styled(style::DIM, line))?;
                }
            }
        }
        for (agent, how) in &self.report.removals {
            self.printer.prose(Style::new(), &format!("{agent} {how}"))?;
        }
        Ok(())
    }

    fn rule(&self, retention: &Retention) -> String {
        let agent = retention.agent_name;
        let rule = match (&retention.invalid, retention.enabled) {
            (_, false) => format!("{agent} deletes nothing: the clean-up is switched off"),
            (Some(why), _) => {
                format!("{agent} deletes nothing, because its setting is wrong: {why}")
            }
            (None, true) => {
                let age = retention
                    .max_age
                    .as_ref()
                    .map(|age| format!("{} after their last use", in_words(age)));
                let number = retention.max_count.map(|count| format!("all but the {count} newest"));
                let both: Vec<String> = age.into_iter().chain(number).collect();
                format!("{agent} deletes sessions: {}", both.join(", and "))
            }
        };
        match &retention.decided_by {
            Some(file) => format!("{rule} (decided by {})", self.path(file)),
            None => format!("{rule} (its own default; no settings file changes it)"),
        }
    }

    fn deletions(&mut self) -> io::Result<()> {
        let verbose = self.printer.is_verbose();
        let all = &self.report.deletions;
        // What belongs to a session is deleted with it, or not long before.
        let is_listed = |d: &&Deletion| verbose || (d.kind.is_session() && d.why != "session");
        let deletions: Vec<&Deletion> = all.iter().filter(is_listed).collect();
        self.heading("Upcoming deletions", Some(deletions.len() as u64))?;
        if all.is_empty() {
            return Ok(());
        }
        let agents: BTreeSet<&str> = all.iter().map(|deletion| deletion.agent_name).collect();
        let mut columns = vec![
            Column::text("WHEN"),
            Column::text("").spare(2),
            Column::long("PROJECT").spare(1),
            Column::text(if verbose { "FILE" } else { "SESSION" }),
            Column::long("WHY"),
        ];
        if agents.len() > 1 {
            columns.insert(2, Column::text("AGENT"));
        }
        let mut table = Table::new(columns);
        let shown = self.limit(deletions.len());
        for deletion in &deletions[..shown] {
            let (when, how_soon) = self.when(deletion);
            let why = match (deletion.why, deletion.early) {
                (_, true) => Cell::styled(style::WARNING, "the resume bug"),
                ("age", _) => "its age".into(),
                ("count", _) => "too many newer ones".into(),
                ("nothing_to_resume", _) => "it cannot be resumed".into(),
                ("session", _) => "its session is deleted".into(),
                _ => "shares its id with another file".into(),
            };
            let file = name(&deletion.file);
            let what = match &deletion.session {
                _ if verbose => file.into(),
                Some(id) => short(id).into(),
                // No command accepts the id in its file name.
                None => Cell::styled(style::DIM, "no session"),
            };
            let mut row = vec![
                when.into(),
                Cell::styled(style::DIM, how_soon),
                Cell::styled(style::NAME, name(&deletion.project)),
                what,
                why,
            ];
            if agents.len() > 1 {
                row.insert(2, deletion.agent_name.into());
            }
            table.row(row);
        }
        self.printer.table(&table)?;
        self.cut(shown as u64, deletions.len() as u64)?;
        let with_them = (all.len() - deletions.len()) as u64;
        if with_them > 0 {
            let files = plural(with_them, "file", "files");
            let text = format!("With them, {files} of subagents and tools will be deleted.");
            self.printer.prose(style::DIM, &text)?;
        }
        let of_deletions = |r: &&Retention| agents.contains(r.agent_name);
        let occasions: BTreeMap<&str, &str> = (self.report.retention.iter().filter(of_deletions))
            .map(|retention| (retention.agent_name, retention.occasion))
            .collect();
        for (agent, occasion) in occasions {
            let text = format!("{agent} cleans up {occasion} after that time.");
            self.printer.prose(style::DIM, &text)?;
        }
        self.kept(all)
    }

    /// Reports whether the deletions would lose anything.
    fn kept(&mut self, deletions: &[Deletion]) -> io::Result<()> {
        if self.report.archive.is_none() {
            return Ok(());
        }
        let open = deletions.iter().filter(|d| d.resumable && !d.kept).count() as u64;
        let text = match open {
            0 => {
                "All of it is in the archive; `backstory restore` brings a session back.".to_owned()
            }
            n => format!(
                "{} not in the archive yet; `backstory sync` adds them.",
                plural(n, "file is", "files are")
            ),
        };
        self.printer.prose(if open == 0 { style::DIM } else { style::WARNING }, &text)
    }

    fn at_risk(&mut self) -> io::Result<()> {
        let at_risk = &self.report.at_risk;
        let Some(first) = at_risk.first() else { return Ok(()) };
        self.heading("At risk from the resume bug", Some(at_risk.len() as u64))?;
        let shown = self.limit(at_risk.len());
        for deletion in &at_risk[..shown] {
            let line = Line::new().styled(style::WARNING, "  ! ").text(self.path(&deletion.file));
            self.printer.line(line)?;
            let (when, _) = self.when(deletion);
            let instead = match deletion.instead_of {
                Some(at) => format!("on {}", date(at, &self.ctx.zone)),
                None => "never".to_owned(),
            };
            let text = format!("    will be deleted {when}; by age alone: {instead}");
            self.printer.line(Line::new().styled(style::DIM, text))?;
        }
        self.cut(shown as u64, at_risk.len() as u64)?;
        let help = match self.report.archive {
            Some(_) if at_risk.iter().all(|d| d.kept) => "The archive has them.",
            Some(_) => "`backstory sync` archives them.",
            None => "Copy them elsewhere now.",
        };
        self.printer.prose(
            Style::new(),
            &format!(
                "Resuming a session leaves a second file with nothing in it. {} takes that for \
                 damage and deletes every file with the same id, the session included. {help}",
                first.agent_name
            ),
        )
    }

    fn archive(&mut self) -> io::Result<()> {
        let Some(archive) = &self.report.archive else { return Ok(()) };
        self.heading("Archive", None)?;
        self.printer.line(format!(
            "  {}: {} of {} captured",
            self.path(&archive.path),
            count(archive.captured_files),
            plural(archive.files, "file", "files")
        ))?;
        if archive.gone > 0 {
            let gone = plural(archive.gone, "session is", "sessions are");
            self.printer.line(format!("  {gone} kept although the files have been deleted"))?;
        }
        let fresh = match (archive.watched, archive.hook) {
            (true, _) => "`backstory watch` is running",
            (false, true) => "the agents sync it at the end of each session",
            (false, false) => "it is only updated when you run a command",
        };
        self.printer.line(format!("  {fresh}"))?;
        let Some(advice) = &archive.advice else { return Ok(()) };
        let agent = advice.agent;
        self.printer.prose(
            style::WARNING,
            &format!(
                "{agent} will delete sessions. Let `{}` run, or have {agent} sync when a session \
                 ends. For that, add this to {} yourself:",
                advice.command,
                self.path(&advice.settings_file)
            ),
        )?;
        advice.settings_text.lines().try_for_each(|line| self.printer.line(format!("    {line}")))
    }

    fn when(&self, deletion: &Deletion) -> (String, String) {
        match deletion.at {
            None => ("at the next start".to_owned(), String::new()),
            Some(at) => (date(at, &self.ctx.zone), relative(at, self.ctx.now)),
        }
    }

    fn path(&self, path: &str) -> String {
        self.ctx.show(Path::new(path))
    }

    /// Prints a heading with a number; an empty section consists of this line only.
    fn heading(&mut self, title: &str, number: Option<u64>) -> io::Result<()> {
        self.printer.blank()?;
        let line = Line::new().styled(style::HEADING, title);
        match number {
            None => self.printer.line(line),
            Some(0) => self.printer.line(line.text(": none")),
            Some(number) => self.printer.line(line.text(format!(": {}", count(number)))),
        }
    }

    fn none(&mut self, text: &str) -> io::Result<()> {
        self.printer.line(Line::new().styled(style::DIM, format!("  {text}")))
    }

    fn limit(&self, length: usize) -> usize {
        if self.printer.is_verbose() { length } else { length.min(SHOWN) }
    }

    /// Notes that a list was cut.
    fn cut(&mut self, shown: u64, all: u64) -> io::Result<()> {
        let Some(more) = all.checked_sub(shown).filter(|more| *more > 0) else { return Ok(()) };
        let how = if self.printer.is_verbose() { "" } else { " (`-v` lists them)" };
        let line = format!("  and {} more{how}", count(more));
        self.printer.line(Line::new().styled(style::DIM, line))
    }
}

/// Expands a period such as `30d` to `30 days`.
fn in_words(period: &str) -> String {
    let units = [('h', "hours"), ('d', "days"), ('w', "weeks"), ('m', "months of 30 days")];
    let words = units
        .iter()
        .find_map(|(unit, name)| Some(format!("{} {name}", period.strip_suffix(*unit)?)));
    words.unwrap_or_else(|| period.to_owned())
}

/// Returns an id that commands accept, without all characters of a UUID.
fn short(id: &str) -> String {
    match id.split_once('/') {
        Some((session, rest)) if is_uuid(session) => format!("{}/{rest}", &session[..8]),
        None if is_uuid(id) => id[..8].to_owned(),
        _ => id.to_owned(),
    }
}

/// Returns the last part of a path.
fn name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(path)
}
