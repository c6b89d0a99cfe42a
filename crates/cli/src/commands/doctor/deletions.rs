//! Prints the deletions by agents: their rules, the sessions that are deleted next, and those that a bug endangers.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use anstyle::Style;
use backstory_core::doctor::{Deletion, Retention};
use backstory_core::id::is_uuid;

use super::Page;
use crate::commands::overview::SOON;
use crate::output::number::{count, date, plural, relative};
use crate::output::{Cell, Column, Line, Table, style};

impl Page<'_> {
    pub(super) fn retention(&mut self) -> io::Result<()> {
        self.heading("How long agents keep sessions")?;
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

    /// Lists the sessions that will be deleted soon, or with `-v` every file that will ever be.
    pub(super) fn deletions(&mut self) -> io::Result<()> {
        let verbose = self.printer.is_verbose();
        let all = &self.report.deletions;
        if all.is_empty() {
            return self.section("Upcoming deletions", "none");
        }
        // What belongs to a session is deleted with it, or not long before.
        let of_sessions = all.iter().filter(|d| d.kind.is_session() && d.why != "session");
        let of_sessions: Vec<&Deletion> = of_sessions.collect();
        let with_them = all.len() - of_sessions.len();
        let rows = if verbose { all.iter().collect() } else { by_session(&of_sessions) };
        let files = |number: usize| plural(number as u64, "file", "files");
        let without = rows.iter().filter(|deletion| deletion.session.is_none()).count();
        let sessions = plural((rows.len() - without) as u64, "session", "sessions");
        let number = match without {
            _ if verbose => files(rows.len()),
            0 => sessions,
            _ => format!("{sessions}, {} without one", files(without)),
        };
        self.section("Upcoming deletions", &number)?;
        let is_soon = |d: &&Deletion| d.at.is_none_or(|at| at.duration_since(self.ctx.now) <= SOON);
        let soon = if verbose { rows.len() } else { rows.iter().filter(|d| is_soon(d)).count() };
        let shown = self.limit(soon);
        self.deletion_table(&rows[..shown])?;
        if let Some(next) = rows.get(shown) {
            let (when, _) = self.when(next);
            let more = count((rows.len() - shown) as u64);
            let text = format!("  {more} more, the first {when} (`-v` lists them)");
            self.printer.line(Line::new().styled(style::DIM, text))?;
        }
        if with_them > 0 && !verbose {
            let files = files(with_them);
            let text = format!("With them, {files} of subagents and tools will be deleted.");
            self.printer.prose(style::DIM, &text)?;
        }
        let agents: BTreeSet<&str> = all.iter().map(|deletion| deletion.agent_name).collect();
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

    fn deletion_table(&mut self, rows: &[&Deletion]) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let verbose = self.printer.is_verbose();
        let agents: BTreeSet<&str> = rows.iter().map(|deletion| deletion.agent_name).collect();
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
        for deletion in rows {
            let (when, how_soon) = self.when(deletion);
            let what = match &deletion.session {
                _ if verbose => name(&deletion.file).into(),
                Some(id) => short(id).into(),
                // No command accepts the id in its file name.
                None => Cell::styled(style::DIM, "no session"),
            };
            let mut row = vec![
                when.into(),
                Cell::styled(style::DIM, how_soon),
                Cell::styled(style::NAME, name(&deletion.project)),
                what,
                reason(deletion),
            ];
            if agents.len() > 1 {
                row.insert(2, deletion.agent_name.into());
            }
            table.row(row);
        }
        self.printer.table(&table)
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
        let text = self.ctx.follow_up.complete(&text);
        self.printer.prose(if open == 0 { style::DIM } else { style::WARNING }, &text)
    }

    pub(super) fn at_risk(&mut self) -> io::Result<()> {
        let at_risk = &self.report.at_risk;
        let Some(first) = at_risk.first() else { return Ok(()) };
        self.section("At risk from the resume bug", &count(at_risk.len() as u64))?;
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
        let text = format!(
            "Resuming a session leaves a second file with nothing in it. {} treats that as damage \
             and deletes every file with the same id, the session included. {help}",
            first.agent_name
        );
        self.printer.prose(Style::new(), &self.ctx.follow_up.complete(&text))
    }

    fn when(&self, deletion: &Deletion) -> (String, String) {
        match deletion.at {
            None => ("at the next start".to_owned(), String::new()),
            Some(at) => (date(at, &self.ctx.zone), relative(at, self.ctx.now)),
        }
    }
}

/// Returns one deletion per session, the next one first: that of the file that matters most.
fn by_session<'a>(deletions: &[&'a Deletion]) -> Vec<&'a Deletion> {
    let mut out: Vec<&Deletion> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for deletion in deletions {
        let session = deletion.session.as_deref().and_then(|id| id.split('/').next());
        match session.map(|session| places.entry(session)) {
            Some(Entry::Occupied(place)) => {
                let weight = |d: &Deletion| (!is_subagent(d), d.early, d.resumable);
                let other = &mut out[*place.get()];
                if weight(deletion) > weight(other) {
                    *other = deletion;
                }
            }
            Some(Entry::Vacant(place)) => {
                place.insert(out.len());
                out.push(deletion);
            }
            None => out.push(deletion),
        }
    }
    out.sort_by_key(|deletion| deletion.at);
    out
}

/// Returns whether it is about a subagent, whose id begins with that of its session.
fn is_subagent(deletion: &Deletion) -> bool {
    deletion.session.as_ref().is_some_and(|id| id.contains('/'))
}

fn reason(deletion: &Deletion) -> Cell {
    let style = if deletion.early { style::WARNING } else { Style::new() };
    Cell::styled(style, deletion.reason())
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
