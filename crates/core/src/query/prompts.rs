//! Collects everything a person typed, from sessions, prompt logs and shell histories.

use std::sync::Arc;
use std::{io, iter};

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};
use xxhash_rust::xxh3::xxh3_64;

use crate::archive::{
    Activities, Archive, ArchiveError, TextReader, TypedHead, TypedTexts, text_hash,
};
use crate::collection::Collection;
use crate::discover::SourceKind;
use crate::facts::SESSIONLESS;
use crate::model::{MessageId, Session, SessionId, SessionKind, State};
use crate::project::Project;
use crate::projects::ProjectHints;
use crate::read::bytes::{Bytes, read_whole};
use crate::read::decode;

/// One typed text.
#[derive(Debug, Clone)]
pub struct Prompt<Text = String> {
    /// The time it was typed.
    pub at: Option<Timestamp>,
    /// The id of its session; a shell history and the oldest prompt logs do not record it.
    pub session: Option<SessionId>,
    /// Whether nothing but prompts is left of its session.
    pub log_only: bool,
    /// The project it was typed in.
    pub project: Arc<Project>,
    /// The typed text.
    pub text: Text,
    /// The place where it was found.
    pub from: PromptOrigin,
    /// The time by which it is sorted: its own, or that of its session or file.
    order: Option<Timestamp>,
}

/// The place where a prompt was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptOrigin {
    /// A session.
    Session,
    /// A prompt log.
    Logs,
    /// A shell history.
    ShellHistory,
}

impl PromptOrigin {
    /// Returns the name for output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Logs => "logs",
            Self::ShellHistory => "shell_history",
        }
    }
}

/// A prompt whose text is read only when it is shown.
pub type PromptHead = Prompt<LazyText>;

/// A text, or its place in the archive.
#[derive(Debug, Clone)]
pub struct LazyText(Text);

#[derive(Debug, Clone)]
enum Text {
    Known(String),
    /// Its place among the typed texts of its session.
    Stored {
        place: usize,
        hash: u128,
    },
}

/// Everything that was typed.
pub struct Prompts<'a> {
    activities: Activities<'a>,
    /// All prompts, each once, the newest last. Prompts without a time of their own come first, because
    /// the time of a file is only that of its last line.
    pub heads: Vec<PromptHead>,
}

impl<'a> Prompts<'a> {
    /// Lists the prompts of all sessions and logs. Texts that cannot be read are counted in
    /// [`Archive::unread`].
    pub fn new(archive: &'a Archive, all: &Collection) -> Result<Self, ArchiveError> {
        let mut typed = Typed::default();
        // What may repeat prompts comes last, when they are already known.
        let mut sessions: Vec<&Session> =
            all.sessions.iter().filter(|session| is_typed(session.kind)).collect();
        sessions.sort_by_key(|session| (repeats(session), session.started));
        let ids: Vec<SessionId> = sessions.iter().map(|session| session.id.clone()).collect();
        let activities = archive.activities(&ids)?;
        for (session, prompts) in sessions.iter().zip(activities.parts(&ids)?) {
            typed.session(session, prompts);
        }
        typed.logs(archive, all)?;
        typed.histories(archive)?;
        let mut heads = typed.out;
        heads.sort_by_cached_key(|prompt| (prompt.at.is_some(), prompt.order));
        Ok(Self { activities, heads })
    }

    /// Reads the texts of some of the prompts.
    pub fn read(&self, heads: &[PromptHead]) -> Result<Vec<Prompt>, ArchiveError> {
        let mut texts = TextReader::<TypedTexts>::new(&self.activities);
        let mut out = Vec::with_capacity(heads.len());
        for head in heads {
            let text = match (&head.text.0, &head.session) {
                (Text::Known(text), _) => Some(text.clone()),
                // Another process may have changed the session in the meantime.
                (Text::Stored { place, hash }, Some(session)) => {
                    texts.take(session, *place)?.filter(|text| text_hash(text) == *hash)
                }
                (Text::Stored { .. }, None) => None,
            };
            out.extend(text.map(|text| head.with_text(text)));
        }
        Ok(out)
    }
}

impl<Text> Prompt<Text> {
    /// Returns the same prompt with another form of its text.
    fn with_text<Other>(&self, text: Other) -> Prompt<Other> {
        let Self { at, session, log_only, project, from, order, .. } = self;
        let (session, project) = (session.clone(), project.clone());
        Prompt { at: *at, session, log_only: *log_only, project, text, from: *from, order: *order }
    }
}

/// Returns all prompts with their texts, see [`Prompts`].
pub fn prompts(archive: &Archive, all: &Collection) -> Result<Vec<Prompt>, ArchiveError> {
    let prompts = Prompts::new(archive, all)?;
    prompts.read(&prompts.heads)
}

/// Only main sessions and saved chats contain prompts typed by a person.
fn is_typed(kind: SessionKind) -> bool {
    matches!(kind, SessionKind::Main | SessionKind::Checkpoint)
}

/// Returns whether it may repeat prompts of other sessions: a saved chat, and lines without a session.
fn repeats(session: &Session) -> bool {
    session.kind == SessionKind::Checkpoint || session.id.starts_with(SESSIONLESS)
}

/// Identifies a text in a session or project. The texts themselves are long.
type Mark = (u64, u128);

fn mark(place: &str, text: u128) -> Mark {
    (xxh3_64(place.as_bytes()), text)
}

#[derive(Default)]
struct Typed {
    out: Vec<PromptHead>,
    /// Ids that are unique everywhere.
    ids: FxHashSet<MessageId>,
    /// The number of times that a session contains a text, which its log may contain too.
    told: FxHashMap<Mark, usize>,
    /// Everything that was typed in a project.
    known: FxHashSet<Mark>,
}

impl Typed {
    fn push(&mut self, prompt: PromptHead, hash: u128) {
        self.known.insert(mark(prompt.project.key(), hash));
        self.out.push(prompt);
    }

    fn session(&mut self, session: &Session, prompts: Vec<TypedHead>) {
        let repeats = repeats(session);
        let log_only = session.state == State::LogOnly;
        for (place, TypedHead { message, at, hash }) in prompts.into_iter().enumerate() {
            if message.is_uuid() && !self.ids.insert(message) {
                continue;
            }
            if repeats && self.known.contains(&mark(session.project.key(), hash)) {
                continue;
            }
            *self.told.entry(mark(&session.id, hash)).or_default() += 1;
            let prompt = Prompt {
                at,
                session: Some(session.id.clone()),
                log_only,
                project: session.project.clone(),
                text: LazyText(Text::Stored { place, hash }),
                from: if log_only { PromptOrigin::Logs } else { PromptOrigin::Session },
                order: at.or(session.started).or(session.updated),
            };
            self.push(prompt, hash);
        }
    }

    /// Adds lines of prompt logs that no session contains: failed prompts, and commands that left
    /// no trace.
    fn logs(&mut self, archive: &Archive, all: &Collection) -> Result<(), ArchiveError> {
        let unknown = archive.projects(&ProjectHints::default())?.resolve(None, None);
        // The lines of a session follow one another.
        let mut last: Option<&Session> = None;
        archive.each_prompt_line(|line| {
            let text = line.text.trim();
            let hash = text_hash(text);
            if line.session == SESSIONLESS && !text.is_empty() {
                if !self.known.contains(&mark(unknown.key(), hash)) {
                    let prompt = Prompt {
                        at: line.at,
                        session: None,
                        log_only: false,
                        project: unknown.clone(),
                        text: LazyText(Text::Known(text.to_owned())),
                        from: PromptOrigin::Logs,
                        order: line.at,
                    };
                    self.push(prompt, hash);
                }
                return;
            }
            last = last.filter(|last| last.id == line.session).or_else(|| all.get(&line.session));
            let Some(session) = last.filter(|_| !text.is_empty()) else { return };
            // A session contains the commands that were typed with `!`, but maybe not the mark.
            let command = text.strip_prefix('!').map(|command| text_hash(command.trim()));
            for hash in iter::once(hash).chain(command) {
                let told = self.told.get_mut(&mark(&line.session, hash));
                if let Some(left) = told.filter(|left| **left > 0) {
                    *left -= 1;
                    return;
                }
            }
            if repeats(session) && self.known.contains(&mark(session.project.key(), hash)) {
                return;
            }
            let prompt = Prompt {
                at: line.at,
                text: LazyText(Text::Known(text.to_owned())),
                session: Some(line.session),
                log_only: session.state == State::LogOnly,
                project: session.project.clone(),
                from: PromptOrigin::Logs,
                order: line.at.or(session.started),
            };
            self.push(prompt, hash);
        })
    }

    fn histories(&mut self, archive: &Archive) -> Result<(), ArchiveError> {
        let mut projects = archive.projects(&ProjectHints::default())?;
        for file in archive.files_of(SourceKind::ShellHistory)? {
            let source = &file.source;
            let Ok(text) = read(archive, source) else {
                // A file that is gone and was never captured does not count as unread.
                if file.captured > 0 {
                    archive.pass_over();
                }
                continue;
            };
            let project = projects.resolve(source.folder(), None);
            for text in lines(&text) {
                let hash = text_hash(&text);
                if self.known.contains(&mark(project.key(), hash)) {
                    continue;
                }
                let prompt = Prompt {
                    at: None,
                    session: None,
                    log_only: false,
                    project: project.clone(),
                    text: LazyText(Text::Known(text)),
                    from: PromptOrigin::ShellHistory,
                    order: source.modified.and_then(|at| Timestamp::try_from(at).ok()),
                };
                self.push(prompt, hash);
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
