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
const INJECTED: [&str; 5] = [
    "<local-command-caveat>",
    "Caveat: The messages below",
    "<task-notification>",
    "<session-start-hook>",
    "<user-prompt-submit-hook>",
];

/// The prefixes of command output.
const OUTPUT: [&str; 6] = [
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-stdout>",
    "<bash-stderr>",
    "Unknown slash command: ",
    "Unknown skill: ",
];

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
    let blocks = line.message.as_ref().map_or(&[][..], |message| &message.blocks);
    if blocks.iter().any(|block| matches!(block, Block::ToolResult { .. })) {
        return Words::of(MessageKind::ToolResult);
    }
    let text = text_of(blocks);
    if line.is_summary || text.starts_with(SUMMARY) {
        return Words::of(MessageKind::CompressSummary);
    }
    if line.is_meta {
        let is_cut_off = text.contains("mid-stream") || text.contains("cut off mid");
        return Words { is_cut_off, ..Words::of(MessageKind::Injected) };
    }
    if let Some(words) = of_command(text.trim_start()) {
        return words;
    }
    let has_media = blocks.iter().any(|block| matches!(block, Block::Media(_)));
    let is_empty = without_reminders(&text).trim().is_empty();
    if line.is_automatic || (is_empty && !has_media) {
        return Words::of(MessageKind::Injected);
    }
    let is_warmup = text == "Warmup";
    Words { is_warmup, ..Words::typed(MessageKind::Prompt, text) }
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

/// Determines the author of an attachment: a queued prompt, or context.
pub(super) fn of_attachment(attachment: Raw<'_>) -> Words {
    let (mut kind, mut prompt, mut mode, mut has_text) = (None, None, None, false);
    let _ = json::each_field(attachment.get(), |key, value| match &*key {
        b"type" => kind = json::string(value),
        b"prompt" => prompt = Some(value),
        b"commandMode" => mode = json::string(value),
        b"content" | b"text" => has_text |= !matches!(value.get(), "\"\"" | "null" | "[]"),
        _ => {}
    });
    let is_queued = kind.as_deref() == Some("queued_command");
    if let Some(prompt) = prompt.filter(|_| is_queued) {
        let text = prompt_text(prompt);
        let is_notice = mode.as_deref() == Some("task-notification");
        return match of_command(text.trim_start()) {
            Some(words) => words,
            None if is_notice => Words::of(MessageKind::Injected),
            None => Words::typed(MessageKind::Prompt, text),
        };
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
    if begins(&OUTPUT) {
        return Some(Words::of(MessageKind::Info));
    }
    begins(&INJECTED).then(|| Words::of(MessageKind::Injected))
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

/// Returns a text without the reminders that the program prepended.
fn without_reminders(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((_, behind)) = rest
        .strip_prefix("<system-reminder>")
        .and_then(|inside| inside.split_once("</system-reminder>"))
    {
        rest = behind.trim_start();
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
}
