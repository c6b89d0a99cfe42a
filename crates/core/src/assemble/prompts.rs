//! Assembles sessions of which only the typed lines are left, in prompt logs.

use crate::discover::Source;
use crate::facts::{MessageFacts, PromptLine, Span};
use crate::model::{Fate, MessageKind, Part as SessionPart, PartWhy, Session, State};
use crate::projects::{Projects, is_hash_folder};

use super::{MessageEntry, Place, Rules, SessionFacts};

/// Assembles a session from its lines in prompt logs, and the logs that contain them.
pub fn from_prompts(
    id: &str,
    mut lines: Vec<PromptLine>,
    mut files: Vec<Source>,
    rules: &dyn Rules,
    projects: &mut Projects,
) -> Option<SessionFacts> {
    // A backup repeats lines of the log.
    lines.sort_by(|a, b| (a.at, a.number, &a.text).cmp(&(b.at, b.number, &b.text)));
    lines.dedup();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let agent = files.first()?.agent.clone();
    // Of a hash folder and its copy, the copy is in use.
    let folders = files.iter().filter_map(Source::folder);
    let folder = folders.min_by_key(|folder| (is_hash_folder(folder), folder.to_owned()));
    let named = lines.iter().rev().find_map(|line| line.project.as_deref());
    let project = projects.resolve(folder, named);
    let at = |line: Option<&PromptLine>| line.and_then(|line| line.at);
    let (started, updated) = (at(lines.first()), at(lines.last()));
    let part = |file: &Source| SessionPart {
        file: file.path.clone(),
        started,
        updated,
        why: PartWhy::First,
    };
    let messages = lines.iter().enumerate();
    let messages =
        messages.map(|(n, line)| entry(n, line, rules.kind_of_typed(&agent, &line.text))).collect();
    let session = Session {
        started,
        updated,
        parts: files.iter().map(part).collect(),
        state: State::LogOnly,
        ..Session::new(id.into(), agent, project)
    };
    let mut facts = SessionFacts {
        session,
        group: group(id),
        reported: None,
        messages,
        resumable_file: None,
        documents: vec![false; files.len()],
        borrowed: vec![false; files.len()],
        files,
        missing: None,
        is_history: false,
    };
    facts.count();
    Some(facts)
}

/// Returns the group of a session that only prompt logs contain.
fn group(id: &str) -> String {
    format!("log:{id}")
}

fn entry(number: usize, line: &PromptLine, kind: MessageKind) -> MessageEntry {
    let id = format!("log-{number}");
    // The record has the form of a message in backstory's own documents.
    let record = serde_json::json!({
        "id": id, "at": line.at, "kind": kind.name(), "fate": Fate::Kept.name(), "text": line.text,
    });
    let mut facts = MessageFacts::new(id.into(), kind, line.at);
    facts.typed = Some(line.text.clone());
    facts.typed_is_sure = true;
    facts.is_ours = true;
    let places = vec![Place { file: 0, span: Span::Inline(record.to_string().into()) }];
    MessageEntry { facts, places, current: None, owned: true, at_least: false }
}
