//! Extracts the facts of one source.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::line::Line;
use super::prompt_log;
use crate::agent::claude::paths::{self, folder_name};
use crate::agent::claude::views::joined::AGENT;
use crate::agent::claude::views::{
    Checkpoint, Names, Owner, Row, Said, Share, ToolOutcome, View, split, view,
};
use crate::agent::{Detail, Scan};
use crate::discover::{Source, SourceKind};
use crate::facts::{Base, Contents, PartFacts, SessionFile, SessionRef, SourceFacts};
use crate::fault::{FaultKind, Faults, Repair};
use crate::model::SessionKind;
use crate::read::bytes::Bytes;
use crate::read::decode;
use crate::read::json;
use crate::read::lines::{self, Lines, Position};
use crate::read::scanner::Scanner;

/// A line that is older than a line above it by more than this may be a copy.
const LATE: SignedDuration = SignedDuration::from_secs(1);

/// Scans a source from its beginning.
pub(in crate::agent::claude) fn scan(
    source: &Source,
    bytes: &dyn Bytes,
    detail: Detail,
) -> io::Result<Scan> {
    let facts = match source.kind {
        SourceKind::Conversation | SourceKind::Subagent => {
            let transcript = Transcript::read(bytes.open(source)?)?;
            transcript.facts(source, detail)
        }
        SourceKind::PromptLog => {
            let prompts = prompt_log::read(bytes.open(source)?)?;
            SourceFacts { prompts, ..SourceFacts::of(Contents::Prompts) }
        }
        _ => SourceFacts::of(Contents::Attachment),
    };
    Ok(Scan::whole(facts))
}

/// The contents of a transcript.
#[derive(Debug, Default)]
struct Transcript {
    rows: Vec<Row>,
    names: Names,
    titles: Titles,
    checkpoint: Option<Checkpoint>,
    /// The latest time of the lines read so far.
    latest: Option<Timestamp>,
    /// Whether any line was recognized as one of Claude Code's.
    is_recognized: bool,
    faults: Faults,
}

/// The titles of a session, in order of precedence.
#[derive(Debug, Default)]
struct Titles {
    agent_name: Option<String>,
    custom: Option<String>,
    generated: Option<String>,
    /// The uuid of a row, and the title of the session that contains it.
    summaries: Vec<(Box<str>, String)>,
}

impl Transcript {
    fn read(input: impl Read) -> io::Result<Self> {
        let mut transcript = Self::default();
        let mut lines = Lines::new(input, Position::default());
        while let Some(line) = lines.next()? {
            transcript.line(line);
        }
        Ok(transcript)
    }

    fn line(&mut self, line: lines::Line<'_>) {
        let text = decode(line.bytes);
        let is_padding = |c: char| c.is_whitespace() || c == '\0' || c == '\u{FEFF}';
        let inner = text.trim_matches(is_padding);
        if inner.is_empty() {
            return;
        }
        let offset = matches!(text, std::borrow::Cow::Borrowed(_)).then_some(line.offset);
        let base = Base { text: &text, offset };
        let mut scanner = Scanner::new(inner);
        let mut count = 0;
        // Two concurrent writers can leave two objects on one line.
        while scanner.peek().is_some() {
            let Ok((found, raw)) = scanner.spanned(Line::pass) else {
                self.bad(&line, inner, count);
                return;
            };
            count += 1;
            self.take(&found, raw.get(), base);
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

    /// Adds one record.
    fn take(&mut self, line: &Line<'_>, text: &str, base: Base<'_>) {
        self.is_recognized |= line.is_recognized();
        let is_outdated = match (line.at, self.latest) {
            (Some(at), Some(latest)) => latest.duration_since(at) > LATE,
            _ => false,
        };
        self.latest = self.latest.max(line.at);
        if !line.is_in_tree() {
            self.faults.ignored += 1;
            return self.note(line);
        }
        self.faults.used += 1;
        let number = self.rows.len() + 1;
        let mut row = Row::new(line, number, base.place(text), &mut self.names);
        row.is_outdated = is_outdated;
        if let Some(progress) = &line.progress
            && let Ok(inner) = Line::new(progress.line.get())
            && inner.is_in_tree()
        {
            let span = base.place(progress.line.get());
            let mut nested = Row::new(&inner, number + 1, span, &mut self.names);
            nested.is_nested = true;
            nested.session.clone_from(&row.session);
            nested.cwd.clone_from(&row.cwd);
            let agent = progress.agent.as_deref().or(line.parent_tool.as_deref());
            nested.agent = self.names.shared(agent).or(nested.agent);
            self.rows.push(nested);
        }
        self.rows.push(row);
    }

    /// Records a fact about the session.
    fn note(&mut self, line: &Line<'_>) {
        let title = || line.title.as_deref().map(str::to_owned).filter(|title| !title.is_empty());
        match line.kind.as_deref().unwrap_or_default() {
            "agent-name" => self.titles.agent_name = title(),
            "custom-title" => self.titles.custom = title(),
            "ai-title" => self.titles.generated = title(),
            "summary" => {
                let leaf = line.leaf.as_deref().map(Box::from);
                self.titles.summaries.extend(leaf.zip(title()));
            }
            "last-prompt" => {
                self.checkpoint = line.leaf.as_deref().map(|leaf| Checkpoint {
                    leaf: leaf.into(),
                    is_explicit: line.is_explicit,
                    rows: self.rows.len(),
                });
            }
            _ => {}
        }
    }

    /// Returns the facts of the file.
    fn facts(self, source: &Source, detail: Detail) -> SourceFacts {
        let Self { rows, mut names, titles, checkpoint, faults, is_recognized, .. } = self;
        if rows.is_empty() && !is_recognized {
            let is_empty = faults.details.is_empty();
            let contents = if is_empty {
                Contents::Nothing("an empty file".into())
            } else {
                Contents::Unrecognized
            };
            return SourceFacts { faults, ..SourceFacts::of(contents) };
        }
        let place = paths::place(&source.path, &mut names);
        let mut outcomes: HashMap<&str, (usize, &ToolOutcome)> = HashMap::default();
        for (at, row) in rows.iter().enumerate() {
            if let Said::Results(results) = &row.said {
                outcomes.extend(results.iter().map(|outcome| (&*outcome.id, (at, outcome))));
            }
        }
        let mut parts = Vec::new();
        for (owner, share) in split(&rows, &place) {
            let mut view = view(&rows, &share, &owner, &outcomes, checkpoint.as_ref());
            if detail == Detail::Calls {
                view.messages.iter_mut().for_each(|message| message.spans = Vec::new());
            }
            let mut part = part(source, &rows, &owner, &share, view);
            if matches!(owner, Owner::Main(_)) {
                part.summary = titles.of(&rows, &share);
            }
            parts.push(part);
        }
        if parts.is_empty() {
            return SourceFacts {
                faults,
                ..SourceFacts::of(Contents::Nothing("no messages".into()))
            };
        }
        let main = parts.iter().find(|part| part.kind == SessionKind::Main);
        let file = SessionFile {
            updated: parts.iter().filter_map(|part| part.updated).max(),
            is_resumable: parts.iter().any(|part| part.is_resumable),
            is_offered: main.is_some_and(|main| main.is_resumable),
        };
        SourceFacts { parts, faults, ..SourceFacts::of(Contents::Session(file)) }
    }
}

impl Titles {
    fn of(&self, rows: &[Row], share: &Share) -> Option<String> {
        let summary = || {
            let own: HashSet<&str> = share.rows.iter().map(|at| &*rows[*at].uuid).collect();
            self.summaries.iter().rfind(|(leaf, _)| own.contains(&**leaf)).map(|(_, title)| title)
        };
        let named = self.agent_name.as_ref().or(self.custom.as_ref()).or(self.generated.as_ref());
        named.or_else(summary).cloned()
    }
}

/// Converts the lines of one session to the facts that all agents have in common.
fn part(source: &Source, rows: &[Row], owner: &Owner, share: &Share, view: View) -> PartFacts {
    let own = || share.rows.iter().map(|at| &rows[*at]);
    let is_warmup = || own().next().and_then(Row::words).is_some_and(|words| words.is_warmup);
    let (session, kind, parent) = match owner {
        Owner::Main(session) => (session.to_string(), SessionKind::Main, None),
        Owner::Sidechain { session, root } => {
            (format!("{session}/sidechain-{root}"), SessionKind::Subagent, Some(session))
        }
        Owner::Agent { session, id } => {
            let kind = if is_warmup() { SessionKind::Background } else { SessionKind::Subagent };
            (format!("{AGENT}{id}"), kind, Some(session))
        }
    };
    let is_current = !share.is_nested && !paths::is_superseded(&source.path);
    PartFacts {
        session: SessionRef::Id(session),
        kind,
        parent: parent.map(ToString::to_string),
        forked_from: share.forked_from.as_deref().map(str::to_owned),
        project: project(source.folder(), own()),
        updated: own().filter_map(|row| row.at).max(),
        is_resumable: is_current && !view.current.is_empty(),
        current: view.current,
        messages: view.messages,
        ..PartFacts::default()
    }
}

/// Returns the first working directory that the agent's folder is named after, otherwise the first one.
fn project<'a>(folder: Option<&Path>, rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let name = folder.and_then(Path::file_name).map(OsStr::to_string_lossy);
    let mut first = None;
    let mut last = None;
    for cwd in rows.filter_map(|row| row.cwd.as_ref()) {
        if last == Some(cwd) {
            continue;
        }
        if name.as_deref().is_some_and(|name| folder_name(cwd) == name) {
            return Some(cwd.to_string());
        }
        last = Some(cwd);
        first = first.or(last);
    }
    first.map(ToString::to_string)
}
