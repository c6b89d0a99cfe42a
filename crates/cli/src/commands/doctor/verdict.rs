//! The verdict: what there is to do, before everything else.

use std::io;

use backstory_core::doctor::{Deletion, Report};

use super::Page;
use crate::output::number::plural;
use crate::output::{Line, style};

impl Page<'_> {
    /// Prints what there is to do; the sections below have the details.
    pub(super) fn verdict(&mut self) -> io::Result<()> {
        let things = things(self.report);
        if things.is_empty() {
            self.printer.line(Line::new().styled(style::GOOD, "✓ ").text("Nothing to do"))?;
        } else {
            let number = plural(things.len() as u64, "thing", "things");
            self.printer.line(Line::new().styled(style::HEADING, format!("{number} to do")))?;
        }
        for thing in things {
            let thing = self.ctx.follow_up.complete(&thing);
            let line = Line::new().styled(style::WARNING, "  ! ").text(thing).hang("    ");
            self.printer.line(line)?;
        }
        self.printer.blank()
    }
}

/// Returns what the user should do or know, the most urgent first; nothing if all is well.
fn things(report: &Report) -> Vec<String> {
    let mut out = Vec::new();
    let is_open = |deletion: &&Deletion| deletion.resumable && !deletion.kept;
    let open = report.deletions.iter().filter(is_open).count() as u64;
    if open > 0 && report.archive.is_some() {
        let files = plural(open, "file", "files");
        out.push(format!(
            "{files} to be deleted, and not in the archive yet: run `backstory sync`"
        ));
    }
    if let Some(advice) = report.archive.as_ref().and_then(|archive| archive.advice.as_ref()) {
        out.push(format!(
            "{} deletes sessions, and nothing keeps the archive up to date: run `{}`",
            advice.agent, advice.command
        ));
    }
    if report.archive.is_none() && !report.at_risk.is_empty() {
        let files = plural(report.at_risk.len() as u64, "session", "sessions");
        out.push(format!("{files} at risk from the resume bug: keep a copy elsewhere"));
    }
    if !report.problems.is_empty() {
        let places = plural(report.problems.len() as u64, "problem", "problems");
        out.push(format!("{places} with files or settings"));
    }
    if report.fault_count > 0 {
        out.push(format!(
            "{} in files: parts that could not be used",
            plural(report.fault_count, "fault", "faults")
        ));
    }
    out
}
