//! Extracts the facts of one source.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::transcript::Transcript;
use super::{prompt_log, sidecar};
use crate::agent::claude::paths::{self, folder_name};
use crate::agent::claude::views::joined::AGENT;
use crate::agent::claude::views::{
    LineContent, Owner, Row, Share, ToolOutcome, View, replies, split, view,
};
use crate::agent::{Detail, Scan};
use crate::discover::{Source, SourceKind};
use crate::facts::{Contents, MessageFacts, PartFacts, SessionFile, SessionRef, SourceFacts};
use crate::model::{SessionId, SessionKind, Usage};
use crate::read::bytes::Bytes;

/// Scans a source from its beginning.
pub(in crate::agent::claude) fn scan(
    source: &Source,
    bytes: &dyn Bytes,
    detail: Detail,
) -> io::Result<Scan> {
    let facts = match source.kind {
        SourceKind::Conversation | SourceKind::Subagent => {
            return transcript(Transcript::default(), source, bytes, detail);
        }
        // An extract has the form of a prompt log.
        SourceKind::PromptLog | SourceKind::State => {
            let prompts = prompt_log::read(bytes.open(source)?)?;
            SourceFacts { prompts, ..SourceFacts::of(Contents::Prompts) }
        }
        SourceKind::Note => match sidecar::read(source, bytes.open(source)?)? {
            Some(line) => SourceFacts { titles: vec![line], ..SourceFacts::of(Contents::Titles) },
            None => SourceFacts::of(Contents::Attachment),
        },
        _ => SourceFacts::of(Contents::Attachment),
    };
    Ok(Scan::whole(facts))
}

/// Continues a transcript from the end of an earlier scan.
pub(in crate::agent::claude) fn continue_scan(
    source: &Source,
    bytes: &dyn Bytes,
    state: &[u8],
) -> Option<Scan> {
    transcript(Transcript::restore(state)?, source, bytes, Detail::Full).ok()
}

/// Reads the rest of a transcript.
fn transcript(
    mut transcript: Transcript,
    source: &Source,
    bytes: &dyn Bytes,
    detail: Detail,
) -> io::Result<Scan> {
    let resume = transcript.read(bytes.open(source)?, detail)?;
    Ok(Scan { facts: facts(transcript, source, detail), resume })
}

/// Returns the facts of the file.
fn facts(transcript: Transcript, source: &Source, detail: Detail) -> SourceFacts {
    let Transcript { mut rows, mut names, titles, reported, worktrees, checkpoint, faults, .. } =
        transcript;
    if rows.is_empty() && !transcript.is_recognized {
        let is_empty = faults.details.is_empty();
        let contents = if is_empty {
            Contents::Nothing("an empty file".into())
        } else {
            Contents::Unrecognized
        };
        return SourceFacts { faults, ..SourceFacts::of(contents) };
    }
    replies::name(&mut rows);
    let place = paths::place(&source.path, &mut names);
    let mut outcomes: HashMap<&str, (usize, &ToolOutcome)> = HashMap::default();
    for (at, row) in rows.iter().enumerate() {
        if let LineContent::Results(results) = &row.content {
            outcomes.extend(results.iter().map(|outcome| (&*outcome.id, (at, outcome))));
        }
    }
    let mut parts = Vec::new();
    for (owner, share) in split(&rows, &place) {
        let view = view(&rows, &share, &owner, &outcomes, checkpoint.as_ref(), detail);
        let mut part = part(source, &rows, &owner, &share, view);
        if let Owner::Main(session) = &owner {
            part.summary = titles.of(session, &rows, &share);
            if part.summary.is_none() && detail == Detail::Full {
                part.ends = ends(&rows, &share);
            }
            part.reported = reported
                .get(&**session)
                .map(|report| Box::new(report.usage + added(&part.messages, &rows[..report.rows])));
        }
        part.worktree_of = part.project.as_deref().and_then(|path| repository(path, &worktrees));
        parts.push(part);
    }
    if parts.is_empty() {
        let titles = titles.of_others(&rows);
        let contents = if titles.is_empty() {
            Contents::Nothing("no messages".into())
        } else {
            Contents::Titles
        };
        return SourceFacts { titles, faults, ..SourceFacts::of(contents) };
    }
    let main = parts.iter().find(|part| part.kind == SessionKind::Main);
    let file = SessionFile {
        updated: parts.iter().filter_map(|part| part.updated).max(),
        is_resumable: parts.iter().any(|part| part.is_resumable),
        is_offered: main.is_some_and(|main| main.is_resumable),
    };
    let titles = titles.of_others(&rows);
    SourceFacts { parts, titles, faults, ..SourceFacts::of(Contents::Session(file)) }
}

/// Returns the tokens of the calls that no row before a report shows: a program that runs without a terminal, or was
/// stopped, does not report again.
fn added(messages: &[MessageFacts], before: &[Row]) -> Usage {
    let known = before.iter().filter_map(|row| match &row.content {
        LineContent::Reply(line) => line.id.as_deref(),
        _ => None,
    });
    let known: HashSet<&str> = known.collect();
    let later = messages.iter().filter(|message| !known.contains(message.id.as_str()));
    later.filter_map(|message| Some(message.call.as_ref()?.usage)).sum()
}

/// Returns the ids of the lines at which a session ended for a time: those before other words.
fn ends(rows: &[Row], share: &Share) -> Vec<Box<str>> {
    let is_word = |at: &usize| matches!(rows[*at].content, LineContent::Words(_));
    let is_message = |at: &usize| !matches!(rows[*at].content, LineContent::Progress);
    let next = share.rows.iter().skip(1).map(Some).chain([None]);
    let ends =
        share.rows.iter().zip(next).filter(|(at, next)| is_message(at) && next.is_none_or(is_word));
    ends.map(|(at, _)| rows[*at].uuid.clone()).collect()
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
            let is_own = owner.is_copying() || is_warmup();
            let kind = if is_own { SessionKind::Background } else { SessionKind::Subagent };
            (format!("{AGENT}{id}"), kind, Some(session))
        }
    };
    let is_current = !share.is_nested && !paths::is_superseded(&source.path);
    PartFacts {
        session: SessionRef::Id(session.into()),
        kind,
        parent: parent.map(|parent| SessionId::from(&**parent)),
        forked_from: share.forked_from.as_deref().map(SessionId::from),
        project: project(source.folder(), own()),
        branch: branch(own().rev()),
        updated: own().filter_map(|row| row.at).max(),
        is_resumable: is_current && !view.current.is_empty(),
        current: view.current,
        messages: view.messages,
        ..PartFacts::default()
    }
}

/// Returns the branch of the newest row that has one. Outside a repository, and without a branch, it is `HEAD`.
fn branch<'a>(mut newest: impl Iterator<Item = &'a Row>) -> Option<String> {
    let named = |row: &'a Row| row.branch.as_deref().filter(|name| !matches!(*name, "" | "HEAD"));
    newest.find_map(named).map(str::to_owned)
}

/// Returns the repository that a folder is a worktree of: the one that it is in, for a worktree that the
/// program itself created, otherwise the folder that the session was in before.
fn repository(folder: &str, worktrees: &BTreeMap<Box<str>, Box<str>>) -> Option<String> {
    let normal = folder.replace('\\', "/");
    let inside = normal.split_once("/.claude/worktrees/").filter(|(_, name)| !name.contains('/'));
    let around = inside.and_then(|(repository, _)| folder.get(..repository.len()));
    around.or_else(|| worktrees.get(folder).map(|from| &**from)).map(str::to_owned)
}

/// Returns the first working directory that the agent's folder is named after, otherwise the first one around which
/// there is such a folder, otherwise the first one.
fn project<'a>(folder: Option<&Path>, rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let name = folder.and_then(Path::file_name).map(OsStr::to_string_lossy);
    let is_named = |path: &str| name.as_deref().is_some_and(|name| folder_name(path) == name);
    let mut folders: Vec<&str> = Vec::new();
    for cwd in rows.filter_map(|row| row.cwd.as_deref()) {
        if folders.last() == Some(&cwd) {
            continue;
        }
        if is_named(cwd) {
            return Some(cwd.to_owned());
        }
        folders.push(cwd);
    }
    let around = |path: &&'a str| -> Option<&'a str> {
        let path: &'a str = path;
        let mut parents = path.rmatch_indices(['/', '\\']).map(|(end, _)| &path[..end]);
        parents.find(|parent| is_named(parent))
    };
    let around = folders.iter().find_map(around);
    around.or_else(|| folders.first().copied()).map(str::to_owned)
}
