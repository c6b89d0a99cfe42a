mod deletions;
mod files;
mod verdict;

use std::io;
use std::path::Path;

use backstory_core::doctor::{Report, Survey};

use crate::context::Context;
use crate::error::{Exit, Result};
use crate::library::{Library, cannot_open};
use crate::output::number::{count, plural};
use crate::output::{Line, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory doctor                          what there is to do, and why
  backstory doctor -v                       everything: kinds of files, projects, every deletion
  backstory doctor --from session.jsonl     check a single file
  backstory doctor --strict -q > /dev/null  exit code 1 if anything could not be read
  backstory doctor --json | jq '.at_risk'   the sessions that the resume bug will delete";

/// Report searched places, files found, damage, and upcoming deletions
///
/// Says first what there is to do. Lists every place that was searched and why, the number of files,
/// every record that could not be used, how long each agent keeps sessions according to its settings, which
/// sessions it will delete in the next days, and whether the archive has them. `-v` adds the files by kind, files
/// that were skipped on purpose, the disk space of each project, and every file that will be deleted. On a terminal,
/// it is shown page by page.
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
        let kept = library.archive.kept(&library.all.sessions).map_err(cannot_open)?;
        let is_watched = super::watch::is_running(path);
        let agents = library.archive.agents();
        report.add_archive(agents, &ctx.env, path.display().to_string(), &kept, is_watched);
    }
    if ctx.json {
        printer.json(&report)?;
    } else {
        if ctx.pages {
            super::page(ctx, printer, None)?;
        }
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
    Ok(ctx.exit_code(report.fault_count > 0))
}

/// The report for people, with one method per section.
struct Page<'a> {
    ctx: &'a Context,
    printer: &'a mut Printer,
    report: &'a Report,
}

impl Page<'_> {
    fn archive(&mut self) -> io::Result<()> {
        let Some(archive) = &self.report.archive else { return Ok(()) };
        self.heading("Archive")?;
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
        let text = format!(
            "{agent} will delete sessions. Let `{}` run, or have {agent} sync when a session ends. \
             For that, add this to {} yourself:",
            advice.command,
            self.path(&advice.settings_file)
        );
        self.printer.prose(style::WARNING, &self.ctx.follow_up.complete(&text))?;
        // To be pasted as it is.
        let mut lines = advice.settings_text.lines();
        lines.try_for_each(|line| self.printer.verbatim(&format!("    {line}")))
    }

    fn path(&self, path: &str) -> String {
        self.ctx.show(Path::new(path))
    }

    fn heading(&mut self, title: &str) -> io::Result<()> {
        self.printer.blank()?;
        self.printer.line(Line::new().styled(style::HEADING, title))
    }

    /// Prints a heading with a summary.
    fn section(&mut self, title: &str, summary: &str) -> io::Result<()> {
        self.printer.blank()?;
        let line = Line::new().styled(style::HEADING, title);
        self.printer.line(line.text(format!(": {summary}")))
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
