//! Determines the author of a line: most lines of type `user` were not typed by a person.

use serde::{Deserialize, Serialize};

use crate::agent::claude::format::content::Block;
use crate::agent::claude::format::line::Line;
use crate::model::MessageKind;
use crate::read::json::{self, Raw};

/// The text of a line and its author.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::agent::claude) struct Words {
    /// The kind of message; `None` for a line without content.
    pub(in crate::agent::claude) kind: Option<MessageKind>,
    /// Whether the line is of type `user`.
    pub(in crate::agent::claude) is_user: bool,
    /// The text that a person typed.
    pub(in crate::agent::claude) typed: Option<String>,
    /// Whether the user interrupted the turn.
    pub(in crate::agent::claude) is_interruption: bool,
    /// Whether the program warms up its cache.
    pub(in crate::agent::claude) is_warmup: bool,
    /// Whether the program reports that the preceding reply was cut off.
    pub(in crate::agent::claude) is_cut_off: bool,
}

/// The prefixes of text that programs put into `user` lines without marking it otherwise.
const INJECTED: [&str; 2] =
    ["Caveat: The messages below", "Another Claude session sent a message:\n<"];

/// The tags around such text: reports of work in the background, messages of other programs, sessions and agents, and
/// hooks.
const REPORTS: [&str; 20] = [
    "local-command-caveat",
    "task-notification",
    "agent-notification",
    "bash-notification",
    "session-start-hook",
    "user-prompt-submit-hook",
    "teammate-message",
    "agent-message",
    "cross-session-message",
    "channel",
    "slack-ping",
    "slack-tag-message",
    "coordinator-relay",
    "remote-review",
    "github-webhook-activity",
    "mcp-resource-update",
    "mcp-polling-update",
    "scheduled-task",
    "fork-boilerplate",
    "tick",
];

/// The prefixes of command output.
const OUTPUT: [&str; 2] = ["Unknown slash command: ", "Unknown skill: "];

/// The tags around the output of a command.
pub(in crate::agent::claude) const OUTPUTS: [&str; 5] = [
    "local-command-stdout",
    "local-command-stderr",
    "bash-stdout",
    "bash-stderr",
    "bash-exit-code",
];

/// The tags around context before a typed text: reminders, what is open or selected in an editor, and the instructions
/// of a program that runs Claude Code.
const CONTEXT: [&str; 5] = [
    "system-reminder",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
    "system_instruction",
];

/// The tag around a line that old versions added to the memory: `#` and a text.
const MEMORY: &str = "user-memory-input";

/// The prefix of a summary, in versions that do not mark it.
const SUMMARY: &str = "This session is being continued from a previous";

/// The prefix of the notice of an interruption by the user.
pub(super) const INTERRUPTION: &str = "[Request interrupted";

impl Words {
    fn of(kind: MessageKind) -> Self {
        Self { kind: Some(kind), ..Self::default() }
    }

    fn typed(kind: MessageKind, typed: String) -> Self {
        Self { typed: Some(typed), ..Self::of(kind) }
    }
}

/// Determines the author of a line of type `user`.
pub(super) fn of_user(line: &Line<'_>) -> Words {
    Words { is_user: true, ..author(line) }
}

fn author(line: &Line<'_>) -> Words {
    let blocks = line.message.as_ref().map_or(&[][..], |message| &message.blocks);
    if blocks.iter().any(|block| matches!(block, Block::ToolResult { .. })) {
        return Words::of(MessageKind::ToolResult);
    }
    let text = text_of(blocks);
    if line.is_summary || (text.starts_with(SUMMARY) && !flags_summaries(line)) {
        return Words::of(MessageKind::CompressSummary);
    }
    if line.is_meta {
        let is_cut_off = text.contains("mid-stream") || text.contains("cut off mid");
        return Words { is_cut_off, ..Words::of(MessageKind::Injected) };
    }
    let has_media = blocks.iter().any(|block| matches!(block, Block::Media(_)));
    of_text(text, line.is_automatic, has_media)
}

/// Returns whether the version that wrote a line marks summaries.
fn flags_summaries(line: &Line<'_>) -> bool {
    const FIRST: u32 = 128;
    let old = line.version.as_deref().map(|version| version.strip_prefix("1.0."));
    old.is_some_and(|patch| patch.is_none_or(|patch| patch.parse().is_ok_and(|n: u32| n >= FIRST)))
}

/// Determines the author of a prompt or command, which a program may have written.
fn of_text(text: String, is_automatic: bool, has_media: bool) -> Words {
    let typed = without_context(&text);
    match of_command(typed) {
        Some(words) if words.typed.is_none() || !is_automatic => return words,
        None if !is_automatic && (has_media || !typed.trim_end().is_empty()) => {}
        _ => return Words::of(MessageKind::Injected),
    }
    let is_warmup = text == "Warmup";
    let typed = if typed.len() < text.trim_start().len() { typed.to_owned() } else { text };
    Words { is_warmup, ..Words::typed(MessageKind::Prompt, typed) }
}

/// Determines the author of a line of type `system` from its text.
pub(super) fn of_system(subtype: Option<&str>, content: Option<Raw<'_>>) -> Words {
    let text = content.and_then(json::string).unwrap_or_default();
    match subtype {
        Some("api_error") => Words::of(MessageKind::Warning),
        _ if text.trim().is_empty() => Words::default(),
        _ => of_command(text.trim_start()).unwrap_or_else(|| Words::of(MessageKind::Info)),
    }
}

/// Determines the author of a line of type `attachment`: a queued prompt, or context.
pub(super) fn of_attachment(line: &Line<'_>) -> Words {
    let Some(attachment) = line.attachment else { return Words::default() };
    let (mut kind, mut prompt, mut mode, mut has_text) = (None, None, None, false);
    let mut is_automatic = line.is_automatic || line.is_meta;
    let _ = json::each_field(attachment.get(), |key, value| match &*key {
        b"type" => kind = json::string(value),
        b"prompt" => prompt = Some(value),
        b"commandMode" => mode = json::string(value),
        b"isMeta" => is_automatic |= value.get() == "true",
        b"origin" => {
            let _ = json::each_field(value.get(), |key, kind| {
                let kind = json::string(kind).filter(|_| &*key == b"kind");
                is_automatic |= kind.is_some_and(|kind| kind != "human");
            });
        }
        b"content" | b"text" => has_text |= !matches!(value.get(), "\"\"" | "null" | "[]"),
        _ => {}
    });
    let is_queued = kind.as_deref() == Some("queued_command");
    if let Some(prompt) = prompt.filter(|_| is_queued) {
        is_automatic |= mode.as_deref() == Some("task-notification");
        return of_text(prompt_text(prompt), is_automatic, true);
    }
    // A reminder of the remaining tokens is not part of the conversation.
    let is_noise = kind.as_deref() == Some("total_tokens_reminder");
    if has_text && !is_noise { Words::of(MessageKind::Injected) } else { Words::default() }
}

/// Returns the text of a queued prompt: a string, or blocks.
pub(in crate::agent::claude) fn prompt_text(prompt: Raw<'_>) -> String {
    if let Some(text) = json::string(prompt) {
        return text.into_owned();
    }
    let mut out = Vec::new();
    for block in json::elements(prompt.get()) {
        let _ = json::each_field(block.get(), |key, value| {
            if &*key == b"text" {
                out.extend(json::string(value));
            }
        });
    }
    out.join("\n")
}

/// Recognizes text by its prefix.
fn of_command(text: &str) -> Option<Words> {
    let begins = |starts: &[&str]| starts.iter().any(|start| text.starts_with(start));
    if begins(&["<command-name>", "<command-message>"]) {
        return Some(Words::typed(MessageKind::Slash, slash(text)));
    }
    if let Some(command) = inside(text, "bash-input").filter(|_| text.starts_with("<bash-input>")) {
        return Some(Words::typed(MessageKind::Shell, format!("!{command}")));
    }
    if text.starts_with(INTERRUPTION) {
        return Some(Words { is_interruption: true, ..Words::of(MessageKind::Info) });
    }
    if let Some(note) = inside(text, MEMORY).filter(|_| opens(text, MEMORY)) {
        return Some(Words::typed(MessageKind::Slash, format!("#{note}")));
    }
    let is_one_of = |tags: &[&str]| tags.iter().any(|tag| opens(text, tag));
    if begins(&OUTPUT) || is_one_of(&OUTPUTS) {
        return Some(Words::of(MessageKind::Info));
    }
    (begins(&INJECTED) || is_one_of(&REPORTS)).then(|| Words::of(MessageKind::Injected))
}

/// Returns whether a text begins with the opening `tag`, which may have attributes.
fn opens(text: &str, tag: &str) -> bool {
    let rest = text.strip_prefix('<').and_then(|rest| rest.strip_prefix(tag));
    rest.is_some_and(|rest| rest.starts_with(['>', ' ', '\n']))
}

/// Returns a slash command as it was typed.
fn slash(text: &str) -> String {
    let name = inside(text, "command-name").unwrap_or_default().trim();
    let arguments = inside(text, "command-args").unwrap_or_default().trim();
    let name = name.strip_prefix('/').unwrap_or(name);
    format!("/{name} {arguments}").trim_end().to_owned()
}

/// Returns the text between the opening and closing `tag`.
fn inside<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(inside, _)| inside))
}

/// Returns a text without the context that the program or an editor put before it.
fn without_context(text: &str) -> &str {
    let mut rest = text.trim_start();
    let behind = |rest: &'_ str| -> Option<usize> {
        let tag = CONTEXT.into_iter().find(|tag| opens(rest, tag))?;
        let end = format!("</{tag}>");
        rest.find(&end).map(|at| at + end.len())
    };
    while let Some(end) = behind(rest) {
        rest = rest[end..].trim_start();
    }
    rest
}

fn text_of(blocks: &[Block<'_>]) -> String {
    let mut out = String::new();
    for block in blocks {
        if let Block::Text(text) = block {
            if !out.is_empty() {
                out.push('\n');
            }
            json::push_string(*text, &mut out);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(content: &str, more: &str) -> Words {
        let content = serde_json::to_string(content).unwrap();
        let text = format!(r#"{{"type":"user","message":{{"content":{content}}}{more}}}"#);
        of_user(&Line::new(&text).unwrap())
    }

    #[test]
    fn only_a_person_types() {
        use MessageKind::{CompressSummary, Info, Injected, Prompt, Shell, Slash};
        let typed = |words: Words| (words.kind, words.typed.unwrap_or_default());
        let kind = |text: &str, more: &str| user(text, more).kind;
        assert_eq!(typed(user("fix it", "")), (Some(Prompt), "fix it".to_owned()));
        let command = "<command-message>x</command-message>\n<command-name>/x</command-name>\n<command-args>a b</command-args>";
        assert_eq!(typed(user(command, "")), (Some(Slash), "/x a b".to_owned()));
        let old = "<command-name>exit</command-name>\n <command-args></command-args>";
        assert_eq!(typed(user(old, "")), (Some(Slash), "/exit".to_owned()));
        let shell = "<bash-input>ls -l</bash-input>";
        assert_eq!(typed(user(shell, "")), (Some(Shell), "!ls -l".to_owned()));
        assert_eq!(kind("<bash-stdout>x</bash-stdout>", ""), Some(Info));
        let memory = "<user-memory-input>use tabs</user-memory-input>";
        assert_eq!(typed(user(memory, "")), (Some(Slash), "#use tabs".to_owned()));
        assert_eq!(kind("anything", r#","isMeta":true"#), Some(Injected));
        assert_eq!(kind("anything", r#","isCompactSummary":true"#), Some(CompressSummary));
        let reminder = "<system-reminder>x</system-reminder>";
        assert_eq!(kind(reminder, ""), Some(Injected));
        assert_eq!(kind(&format!("{reminder}\n\ngo on"), ""), Some(Prompt));
        assert_eq!(kind("anything", r#","origin":{"kind":"task-notification"}"#), Some(Injected));
        assert_eq!(
            kind("anything", r#","origin":{"kind":"human"},"turnOrigin":"sdk""#),
            Some(Prompt)
        );
        assert_eq!(kind("<task-notification>done</task-notification>", ""), Some(Injected));
        let stopped = user("[Request interrupted by user for tool use]", "");
        assert!(stopped.kind == Some(Info) && stopped.is_interruption);
        assert!(user("Warmup", "").is_warmup);
    }

    #[test]
    fn context_before_a_text_was_not_typed() {
        use MessageKind::{Injected, Prompt, Slash};
        let opened = "<ide_opened_file>The user opened a.rs.</ide_opened_file>";
        let selected = "<ide_selection>fn a() {}</ide_selection>";
        let blocks = |texts: &[&str]| {
            let block = |text: &&str| serde_json::json!({ "type": "text", "text": text });
            let content: Vec<_> = texts.iter().map(block).collect();
            let line = serde_json::json!({ "type": "user", "message": { "content": content } });
            let words = of_user(&Line::new(&line.to_string()).unwrap());
            (words.kind, words.typed)
        };
        let typed = |text: &str| Some(text.to_owned());
        assert_eq!(blocks(&[opened, "fix the parser"]), (Some(Prompt), typed("fix the parser")));
        assert_eq!(blocks(&[opened, selected, "go\non"]), (Some(Prompt), typed("go\non")));
        let line = "<ide_selection path=\"/a.rs\">fn a() {}</ide_selection>";
        assert_eq!(blocks(&[line, "fix it"]), (Some(Prompt), typed("fix it")));
        let around = "<system_instruction>You run in a tool.</system_instruction>\n\nfix it";
        assert_eq!(blocks(&[around]), (Some(Prompt), typed("fix it")));
        let reminder = "<system-reminder>x</system-reminder>\n\nfix it";
        assert_eq!(blocks(&[reminder]), (Some(Prompt), typed("fix it")));
        let command = "<command-name>/cost</command-name>";
        assert_eq!(blocks(&[opened, command]), (Some(Slash), typed("/cost")));
        assert_eq!(blocks(&[opened, selected]), (Some(Injected), None));
        assert_eq!(
            blocks(&["why <ide_selection>?"]),
            (Some(Prompt), typed("why <ide_selection>?"))
        );
    }

    #[test]
    fn messages_of_other_programs_were_not_typed() {
        let kind = |text: &str, more: &str| user(text, more).kind;
        let injected = Some(MessageKind::Injected);
        let mate = "<teammate-message teammate_id=\"a\">done</teammate-message>";
        assert_eq!(kind(mate, ""), injected);
        assert_eq!(kind(&format!("Another Claude session sent a message:\n{mate}"), ""), injected);
        for tag in REPORTS {
            assert_eq!(kind(&format!("<{tag}>done</{tag}>"), ""), injected, "{tag}");
            assert_eq!(kind(&format!("<{tag} from=\"x\">\ndone</{tag}>"), ""), injected, "{tag}");
            assert_eq!(kind(&format!("<{tag}s>"), ""), Some(MessageKind::Prompt), "{tag}");
        }
        assert_eq!(kind("anything", r#","promptSource":"system""#), injected);
        assert_eq!(
            kind("<command-name>/x</command-name>", r#","promptSource":"system""#),
            injected
        );
        assert_eq!(kind("anything", r#","promptSource":"typed""#), Some(MessageKind::Prompt));
        let queued = |more: &str, inner: &str| {
            let attachment = format!(r#"{{"type":"queued_command","prompt":"go"{inner}}}"#);
            let line = format!(r#"{{"type":"attachment","attachment":{attachment}{more}}}"#);
            of_attachment(&Line::new(&line).unwrap()).kind
        };
        assert_eq!(queued("", ""), Some(MessageKind::Prompt));
        assert_eq!(queued("", r#","origin":{"kind":"human"}"#), Some(MessageKind::Prompt));
        for mark in [r#","isMeta":true"#, r#","origin":{"kind":"teammate"}"#] {
            assert_eq!((queued(mark, ""), queued("", mark)), (injected, injected), "{mark}");
        }
    }

    #[test]
    fn only_old_versions_do_not_mark_summaries() {
        let summary = "This session is being continued from a previous conversation.";
        let kind = |version: &str| user(summary, &format!(r#","version":"{version}""#)).kind;
        assert_eq!(user(summary, "").kind, Some(MessageKind::CompressSummary));
        assert_eq!(kind("1.0.17"), Some(MessageKind::CompressSummary));
        assert_eq!(kind("1.0.128"), Some(MessageKind::Prompt));
        assert_eq!(kind("2.1.104"), Some(MessageKind::Prompt));
    }
}
