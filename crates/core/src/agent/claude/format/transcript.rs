//! Reads the lines of a transcript, and continues one that has grown.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

use jiff::Timestamp;
use rustc_hash::FxHashSet as HashSet;
use serde::{Deserialize, Serialize};

use super::line::Line;
use crate::agent::claude::views::{Checkpoint, LineContent, Names, Row, Share};
use crate::agent::{Detail, Resume};
use crate::facts::{Base, Span, TitleLine};
use crate::fault::{FaultKind, Faults, Repair};
use crate::model::Usage;
use crate::read::lines::{self, Lines, Position};
use crate::read::scanner::Scanner;
use crate::read::{decode, json, unpadded};

/// The contents of a transcript, as far as it was read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Transcript {
    /// The lines of the tree.
    pub(super) rows: Vec<Row>,
    /// The names that the rows share.
    #[serde(skip)]
    pub(super) names: Names,
    /// The titles of the session.
    pub(super) titles: Titles,
    /// The last report on each session.
    pub(super) reported: BTreeMap<Box<str>, Report>,
    /// The worktrees that the session entered, and the folders that it was in before.
    pub(super) worktrees: BTreeMap<Box<str>, Box<str>>,
    /// The last checkpoint.
    pub(super) checkpoint: Option<Checkpoint>,
    /// The latest time of the lines read so far.
    #[serde(with = "crate::time::stored")]
    latest: Option<Timestamp>,
    /// Whether any line was recognized as one of Claude Code's.
    pub(super) is_recognized: bool,
    /// The problems found while reading.
    pub(super) faults: Faults,
    /// The end of the last complete line.
    position: Position,
}

/// The totals that the program reports for a session.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Report {
    /// The tokens of all calls so far.
    pub(super) usage: Usage,
    /// The number of rows before it.
    pub(super) rows: usize,
}

/// The titles in a file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Titles {
    /// The titles of sessions by their ids; the id is empty in lines that do not name the session.
    named: BTreeMap<Box<str>, Named>,
    /// The uuid of a row, and the title of the session that contains it.
    summaries: Vec<(Box<str>, String)>,
}

/// The titles of a session, in order of precedence.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Named {
    agent_name: Option<String>,
    custom: Option<String>,
    generated: Option<String>,
}

impl Transcript {
    /// Restores the state that [`Self::read`] returned.
    pub(super) fn restore(state: &[u8]) -> Option<Self> {
        let mut transcript: Self = postcard::from_bytes(state).ok()?;
        let Self { rows, names, .. } = &mut transcript;
        for row in rows {
            row.share(names);
        }
        Some(transcript)
    }

    /// Reads the lines that it does not contain yet. Returns the state to continue from when the file has
    /// grown: the last line is read again then, unless it is complete.
    pub(super) fn read(
        &mut self,
        mut input: impl Read + Seek,
        detail: Detail,
    ) -> io::Result<Option<Resume>> {
        input.seek(SeekFrom::Start(self.position.offset))?;
        let mut lines = Lines::new(input, self.position);
        let mut resume = None;
        while let Some(line) = lines.next()? {
            if !line.terminated {
                resume = self.resume(detail);
            }
            if detail == Detail::Full || !self.quick_line(&line) {
                self.line(line, detail);
            }
            self.position = lines.position();
        }
        Ok(resume.or_else(|| self.resume(detail)))
    }

    fn resume(&self, detail: Detail) -> Option<Resume> {
        if detail != Detail::Full {
            return None;
        }
        // Plain data in memory always serializes.
        let state = postcard::to_stdvec(self).ok()?;
        Some(Resume { offset: self.position.offset, state })
    }

    /// Reads the usual line, a single object, for counting: it need not be text, except for the values that
    /// are used. Returns false if it must be read in full.
    fn quick_line(&mut self, line: &lines::Line<'_>) -> bool {
        let mut scanner = Scanner::of_bytes(line.bytes);
        let Ok(found) = Line::pass(&mut scanner, Detail::Calls) else { return false };
        if line.is_too_long || scanner.end().is_err() {
            return false;
        }
        self.take(&found, "", None, Detail::Calls);
        true
    }

    fn line(&mut self, line: lines::Line<'_>, detail: Detail) {
        let text = decode(line.bytes);
        let inner = unpadded(&text);
        if inner.is_empty() {
            return;
        }
        let offset = matches!(text, std::borrow::Cow::Borrowed(_)).then_some(line.offset);
        let base = (detail == Detail::Full).then_some(Base { text: &text, offset });
        let mut scanner = Scanner::new(inner);
        let mut count = 0;
        // Two concurrent writers can leave two objects on one line.
        while scanner.peek().is_some() {
            let Ok((found, raw)) = scanner.spanned(|scanner| Line::pass(scanner, detail)) else {
                self.bad(&line, inner, count);
                return;
            };
            count += 1;
            self.take(&found, raw.get(), base, detail);
        }
        if count > 1 {
            self.faults.push(Some(line.number), None, FaultKind::Repaired(Repair::AfterTorn));
        }
    }

    /// Counts a line that cannot be read in full.
    fn bad(&mut self, line: &lines::Line<'_>, text: &str, read: usize) {
        if line.terminated || line.is_too_long {
            self.faults.unusable += u64::from(read == 0);
            let reason = json::check(text).err().unwrap_or_else(|| json::Malformed {
                column: 0,
                reason: "it is not an object".to_owned(),
            });
            self.faults.push(Some(line.number), None, FaultKind::Malformed(reason));
        } else {
            self.faults.ignored += 1;
            self.faults.push(Some(line.number), None, FaultKind::Torn);
        }
    }

    /// Adds one record, which is the part `text` of a `base`. Where only calls are wanted, it needs no base.
    fn take(&mut self, line: &Line<'_>, text: &str, base: Option<Base<'_>>, detail: Detail) {
        self.is_recognized |= line.is_recognized();
        let is_outdated = line.at.is_some() && line.at < self.latest;
        self.latest = self.latest.max(line.at);
        if !line.is_in_tree() {
            if self.record_fact(line) {
                self.faults.used += 1;
            } else {
                self.faults.ignore(line.kind.as_deref().unwrap_or_default());
            }
            return;
        }
        self.faults.used += 1;
        let number = self.rows.len() + 1;
        let span =
            |part: &str| base.map_or(Span::File { offset: 0, length: 0 }, |base| base.place(part));
        let mut row = Row::new(line, number, span(text), &mut self.names, detail);
        row.is_outdated = is_outdated;
        if let Some(progress) = &line.progress
            && matches!(row.content, LineContent::Progress)
            && let Ok(inner) = Line::new(progress.line.get())
            && inner.is_in_tree()
        {
            let span = span(progress.line.get());
            let mut nested = Row::new(&inner, number + 1, span, &mut self.names, detail);
            nested.is_nested = true;
            nested.is_outdated = is_outdated;
            nested.forked_from.clone_from(&row.forked_from);
            nested.session.clone_from(&row.session);
            nested.cwd.clone_from(&row.cwd);
            let agent = progress.agent.as_deref().or(line.parent_tool.as_deref());
            nested.agent = self.names.shared(agent).or(nested.agent);
            self.rows.push(nested);
        }
        self.rows.push(row);
    }

    /// Records a fact about the session, from a line that is not part of the tree. Returns whether lines of its kind
    /// have any.
    fn record_fact(&mut self, line: &Line<'_>) -> bool {
        let title = || line.title.as_deref().map(str::to_owned).filter(|title| !title.is_empty());
        match line.kind.as_deref().unwrap_or_default() {
            "cost-state" => {
                let session = line.session.as_deref().map(Box::from);
                let report = line.reported.map(|usage| Report { usage, rows: self.rows.len() });
                self.reported.extend(session.zip(report));
            }
            "worktree-state" => {
                let paths = line.worktree.as_ref();
                self.worktrees
                    .extend(paths.map(|(path, from)| ((&**path).into(), (&**from).into())));
            }
            "agent-name" => self.titles.named(line).agent_name = title(),
            "custom-title" => self.titles.named(line).custom = title(),
            "ai-title" => self.titles.named(line).generated = title(),
            "summary" => {
                let leaf = line.leaf.as_deref().map(Box::from);
                self.titles.summaries.extend(leaf.zip(title().filter(|title| !is_error(title))));
            }
            "last-prompt" => {
                self.checkpoint = line.leaf.as_deref().map(|leaf| Checkpoint {
                    leaf: leaf.into(),
                    is_explicit: line.is_explicit,
                    rows: self.rows.len(),
                });
            }
            _ => return false,
        }
        true
    }
}

/// Returns whether a summary is the error that answered the request for it.
fn is_error(title: &str) -> bool {
    title.starts_with("API Error") || title == "Prompt is too long"
}

impl Titles {
    /// Returns the titles of the session that a line names.
    fn named(&mut self, line: &Line<'_>) -> &mut Named {
        self.named.entry(line.session.as_deref().unwrap_or_default().into()).or_default()
    }

    /// Returns the titles of sessions in other files: a new session begins with a summary of an earlier one.
    pub(super) fn of_others(self, rows: &[Row]) -> Vec<TitleLine> {
        if self.summaries.is_empty() {
            return Vec::new();
        }
        let own: HashSet<&str> = rows.iter().map(|row| &*row.uuid).collect();
        let others = self.summaries.into_iter().filter(|(leaf, _)| !own.contains(&**leaf));
        let line = |(leaf, title): (Box<str>, String)| TitleLine {
            session: leaf.into(),
            at: None,
            title,
            spawned_by: None,
        };
        others.map(line).collect()
    }

    /// Returns the title of a session, which contains some of the rows.
    pub(super) fn of(&self, session: &str, rows: &[Row], share: &Share) -> Option<String> {
        let summary = || {
            if self.summaries.is_empty() {
                return None;
            }
            let own: HashSet<&str> = share.rows.iter().map(|at| &*rows[*at].uuid).collect();
            self.summaries.iter().rfind(|(leaf, _)| own.contains(&**leaf)).map(|(_, title)| title)
        };
        let title = |session: &str| {
            let Named { agent_name, custom, generated } = self.named.get(session)?;
            agent_name.as_ref().or(custom.as_ref()).or(generated.as_ref())
        };
        title(session).or_else(|| title("")).or_else(summary).cloned()
    }
}
