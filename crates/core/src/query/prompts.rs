//! Collects everything a person typed, from sessions, prompt logs and shell histories.

use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use crate::activity::TypedText;
use crate::archive::{Archive, ArchiveError};
use crate::collection::Collection;
use crate::discover::SourceKind;
use crate::facts::SESSIONLESS;
use crate::id::is_uuid;
use crate::model::{Session, SessionKind, State};
use crate::project::Project;
use crate::projects::ProjectHints;
use crate::read::bytes::{Bytes, read_whole};
use crate::read::decode;

/// One typed text.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// The time it was typed.
    pub at: Option<Timestamp>,
    /// The id of its session; a shell history does not record it.
    pub session: Option<String>,
    /// Whether nothing but prompts is left of its session.
    pub log_only: bool,
    /// The project it was typed in.
    pub project: Arc<Project>,
    /// The typed text.
    pub text: String,
    /// The place where it was found.
    pub from: From,
    /// The time by which it is sorted: its own, or that of its session or file.
    order: Option<Timestamp>,
}

/// The place where a prompt was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// A session.
    Session,
    /// A prompt log.
    Logs,
    /// A shell history.
    ShellHistory,
}

impl From {
    /// Returns the name for output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Logs => "logs",
            Self::ShellHistory => "shell_history",
        }
    }
}

/// Returns all prompts, each once, the newest last. Prompts without a time of their own come first,
/// because the time of a file is only that of its last line. Texts that cannot be read are counted
/// in [`Archive::unread`].
pub fn prompts(archive: &Archive, all: &Collection) -> Result<Vec<Prompt>, ArchiveError> {
    let mut typed = Typed::default();
    // What may repeat prompts comes last, when they are already known.
    let mut sessions: Vec<&Session> =
        all.sessions.iter().filter(|session| is_typed(session.kind)).collect();
    sessions.sort_by_key(|session| (repeats(session), session.started));
    let ids: Vec<String> = sessions.iter().map(|session| session.id.clone()).collect();
    archive.each_activity(&ids, |id, prompts| {
        if let Some(session) = all.get(id) {
            typed.session(session, prompts);
        }
    })?;
    typed.logs(archive, all)?;
    typed.histories(archive)?;
    let mut out = typed.out;
    out.sort_by_key(|prompt| (prompt.at.is_some(), prompt.order));
    Ok(out)
}

/// Only main sessions and saved chats contain prompts typed by a person.
fn is_typed(kind: SessionKind) -> bool {
    matches!(kind, SessionKind::Main | SessionKind::Checkpoint)
}

/// Returns whether it may repeat prompts of other sessions: a saved chat, and lines without a session.
fn repeats(session: &Session) -> bool {
    session.kind == SessionKind::Checkpoint || session.id.starts_with(SESSIONLESS)
}

#[derive(Default)]
struct Typed {
    out: Vec<Prompt>,
    /// Ids that are unique everywhere.
    ids: FxHashSet<String>,
    /// The number of times that a session contains a text, which its log may contain too.
    told: FxHashMap<u128, usize>,
    /// Everything that was typed in a project.
    known: FxHashSet<u128>,
}

/// Returns a number that identifies a text in a session or project. The texts themselves are long.
fn mark(place: &str, text: &str) -> u128 {
    xxh3_128_with_seed(text.as_bytes(), xxh3_64(place.as_bytes()))
}

impl Typed {
    fn push(&mut self, prompt: Prompt) {
        self.known.insert(mark(prompt.project.key(), &prompt.text));
        self.out.push(prompt);
    }

    fn session(&mut self, session: &Session, prompts: Vec<TypedText>) {
        let repeats = repeats(session);
        let log_only = session.state == State::LogOnly;
        for TypedText { message, at, text } in prompts {
            if is_uuid(&message) && !self.ids.insert(message) {
                continue;
            }
            if repeats && self.known.contains(&mark(session.project.key(), &text)) {
                continue;
            }
            *self.told.entry(mark(&session.id, &text)).or_default() += 1;
            self.push(Prompt {
                at,
                session: Some(session.id.clone()),
                log_only,
                project: session.project.clone(),
                text,
                from: if log_only { From::Logs } else { From::Session },
                order: at.or(session.started).or(session.updated),
            });
        }
    }

    /// Adds lines of prompt logs that no session contains: failed prompts, and commands that left
    /// no trace.
    fn logs(&mut self, archive: &Archive, all: &Collection) -> Result<(), ArchiveError> {
        archive.each_prompt_line(|line| {
            let text = line.text.trim();
            let Some(session) = all.get(&line.session).filter(|_| !text.is_empty()) else { return };
            let told = self.told.get_mut(&mark(&line.session, text));
            if let Some(left) = told.filter(|left| **left > 0) {
                *left -= 1;
                return;
            }
            if repeats(session) && self.known.contains(&mark(session.project.key(), text)) {
                return;
            }
            let text = text.to_owned();
            self.push(Prompt {
                at: line.at,
                session: Some(line.session),
                log_only: session.state == State::LogOnly,
                project: session.project.clone(),
                text,
                from: From::Logs,
                order: line.at.or(session.started),
            });
        })
    }

    fn histories(&mut self, archive: &Archive) -> Result<(), ArchiveError> {
        let mut projects = archive.projects(&ProjectHints::default())?;
        for file in archive.files()? {
            let source = &file.source;
            if source.kind != SourceKind::ShellHistory {
                continue;
            }
            let Ok(text) = read(archive, source) else {
                // A file that is gone and was never captured does not count as unread.
                if file.captured > 0 {
                    archive.pass_over();
                }
                continue;
            };
            let project = projects.resolve(source.folder(), None);
            for text in lines(&text) {
                if self.known.contains(&mark(project.key(), &text)) {
                    continue;
                }
                let order = source.modified.and_then(|at| Timestamp::try_from(at).ok());
                let project = project.clone();
                self.push(Prompt {
                    at: None,
                    session: None,
                    log_only: false,
                    project,
                    text,
                    from: From::ShellHistory,
                    order,
                });
            }
        }
        Ok(())
    }
}

fn read(archive: &Archive, source: &crate::discover::Source) -> io::Result<String> {
    let mut bytes = Vec::new();
    read_whole(archive.open(source)?, &mut bytes)?;
    Ok(decode(&bytes).into_owned())
}

/// Splits a history into commands. An odd number of backslashes at the end of a line continues it.
fn lines(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut command = String::new();
    for line in text.lines() {
        let slashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
        command.push_str(line);
        if slashes % 2 == 1 {
            command.push('\n');
            continue;
        }
        out.push(std::mem::take(&mut command));
    }
    out.push(command);
    out.iter()
        .map(|command| command.trim().to_owned())
        .filter(|command| !command.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_a_history() {
        assert_eq!(
            lines("ls\n\necho a \\\nb\necho \\\\\npwd"),
            ["ls", "echo a \\\nb", "echo \\\\", "pwd"]
        );
        assert_eq!(lines("cut \\"), ["cut \\"]);
    }
}
