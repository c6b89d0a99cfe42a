//! Prints the files: the places that were searched, those that were found, and those that could not be used.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use backstory_core::doctor::{Fault, Problem};

use super::Page;
use crate::output::number::{bytes, count, plural};
use crate::output::{Cell, Column, Line, Table, style};

impl Page<'_> {
    pub(super) fn looked(&mut self, only_antigravity: bool) -> io::Result<()> {
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
            for hint in crate::commands::ELSEWHERE {
                self.printer.line(Line::new().styled(style::HINT, "  hint: ").text(hint))?;
            }
        }
        Ok(())
    }

    pub(super) fn found(&mut self) -> io::Result<()> {
        let found = &self.report.found;
        if found.is_empty() {
            return self.section("Found", "no session files");
        }
        let files = found.iter().map(|kind| kind.files).sum();
        let size = bytes(found.iter().map(|kind| kind.bytes).sum());
        self.section("Found", &format!("{}, {size}", plural(files, "file", "files")))?;
        if self.printer.is_verbose() {
            let mut table =
                Table::new([Column::text("KIND"), Column::number("FILES"), Column::number("SIZE")]);
            for kind in found {
                table.row([kind.kind.into(), count(kind.files).into(), bytes(kind.bytes).into()]);
            }
            self.printer.table(&table)?;
        }
        let records = &self.report.records;
        self.printer.line(format!(
            "  {} read: {} used, {} ignored on purpose, {} not usable",
            plural(records.used + records.ignored + records.unusable, "record", "records"),
            count(records.used),
            count(records.ignored),
            count(records.unusable)
        ))?;
        if self.printer.is_verbose() && !records.ignored_kinds.is_empty() {
            let mut table = Table::new([Column::text("IGNORED KIND"), Column::number("RECORDS")]);
            for (kind, number) in &records.ignored_kinds {
                let kind = if kind.is_empty() { "(no kind)" } else { kind };
                table.row([kind.into(), count(*number).into()]);
            }
            self.printer.table(&table)?;
        }
        Ok(())
    }

    pub(super) fn skipped(&mut self) -> io::Result<()> {
        let skipped = &self.report.skipped;
        if skipped.is_empty() {
            return Ok(());
        }
        let number = plural(skipped.len() as u64, "file", "files");
        if !self.printer.is_verbose() {
            let text = format!("  {number} skipped on purpose (`-v` lists them)");
            return self.printer.line(Line::new().styled(style::DIM, text));
        }
        self.section("Skipped on purpose", &number)?;
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for skipped in skipped {
            reasons.entry(&*skipped.why).or_default().push(&skipped.path);
        }
        let mut reasons: Vec<_> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, paths)| std::cmp::Reverse(paths.len()));
        for (why, paths) in reasons {
            self.printer.line(format!("  {:>6}  {why}", count(paths.len() as u64)))?;
            for path in paths {
                let path = format!("          {}", self.path(path));
                self.printer.line(Line::new().styled(style::DIM, path))?;
            }
        }
        Ok(())
    }

    pub(super) fn problems(&mut self) -> io::Result<()> {
        let number = self.report.problems.len();
        if number > 0 {
            self.section("Problems", &count(number as u64))?;
        }
        for problem in &self.report.problems {
            let line = Line::new().styled(style::WARNING, "  ! ").text(self.path(&problem.path));
            self.printer.line(line.text(": ").text(&problem.what))?;
        }
        Ok(())
    }

    pub(super) fn faults(&mut self) -> io::Result<()> {
        let report = self.report;
        let (pending, faults): (Vec<_>, Vec<_>) = report.faults.iter().partition(|f| f.pending);
        if report.fault_count > 0 {
            self.section("Faults", &count(report.fault_count))?;
        }
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
            self.section("Still being written", &count(pending.len() as u64))?;
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

    pub(super) fn projects(&mut self) -> io::Result<()> {
        let projects = &self.report.projects;
        if projects.is_empty() || !self.printer.is_verbose() {
            return Ok(());
        }
        self.section("Projects", &count(projects.len() as u64))?;
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
}
