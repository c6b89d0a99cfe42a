//! Recognizes messages that neither a person typed nor the model wrote.

use super::object::Object;

/// The origin of a user message, judged by its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextOrigin {
    /// Text that a person may have typed.
    Typed,
    /// Context, a notice or an instruction that the program inserted.
    Context,
    /// A command that a person ran with `!`, and its output.
    Shell,
    /// The summary of a compaction.
    Summary,
}

/// The tags of texts that the program inserts. Such a text must also end with the closing tag.
const CONTEXT: [&str; 13] = [
    "<user_instructions>",
    "<environment_context>",
    "<skill>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<codex_internal_context",
    "<goal_context>",
    "<recommended_plugins>",
    "<user_action>",
    "<external_",
    "<extension_context>",
    "<hook_prompt",
    "<permissions instructions>",
];

/// The beginning and the end of inserted project instructions.
const INSTRUCTIONS: (&str, &str) = ("# AGENTS.md instructions", "</INSTRUCTIONS>");

/// The prefixes of inserted texts without tags.
const NOTICES: [&str; 3] = [
    "Warning: apply_patch was requested via",
    "Warning: The maximum number of unified exec",
    "Warning: Your account was flagged",
];

/// The beginning of a message from one agent to another.
const FROM_AGENT: &str = r#"{"author":"/root"#;

const SUMMARIES: [&str; 2] = [
    "Another language model started to solve this problem",
    "You were originally given instructions from a user over one or more turns",
];

/// Classifies a user message by its parts. A single part that the program inserted makes the whole message
/// injected.
pub(crate) fn classify<'t>(parts: impl IntoIterator<Item = &'t str>) -> TextOrigin {
    let mut said = TextOrigin::Typed;
    for part in parts {
        let text = part.trim();
        if text.starts_with("<user_shell_command>") {
            return TextOrigin::Shell;
        }
        let is_notice = NOTICES.iter().any(|notice| text.starts_with(notice));
        if is_notice || is_tagged(text) || is_instructions(text) {
            return TextOrigin::Context;
        }
        if SUMMARIES.iter().any(|summary| text.starts_with(summary)) {
            said = TextOrigin::Summary;
        }
    }
    said
}

fn is_tagged(text: &str) -> bool {
    let opens = CONTEXT.iter().any(|tag| text.starts_with(tag));
    let tag = text.strip_prefix('<').and_then(|rest| rest.split_once('>')).filter(|_| opens);
    // The opening tag may have attributes.
    let ends = |name: &str| {
        let end = text.strip_suffix('>').and_then(|text| text.strip_suffix(name));
        end.is_some_and(|text| text.ends_with("</"))
    };
    tag.is_some_and(|(tag, _)| ends(tag) || tag.split_whitespace().next().is_some_and(ends))
}

fn is_instructions(text: &str) -> bool {
    let (beginning, end) = INSTRUCTIONS;
    text.starts_with(beginning) && text.ends_with(end)
}

/// Returns whether a message of the model is one that another agent sent, which 0.135 stores as a
/// document in the model's name.
pub(crate) fn is_from_agent(text: &str) -> bool {
    let Some(message) = text.starts_with(FROM_AGENT).then(|| Object::read(text).ok()).flatten()
    else {
        return false;
    };
    ["recipient", "content", "trigger_turn"].iter().all(|field| message.has(field))
}

/// The headings before the typed text, behind what an editor or the desktop app prepends.
const REQUESTS: [&str; 2] = ["## My request for Codex:", "## My request:"];

/// Returns the text that a person typed, without the files and pages that an editor or the desktop app prepends. If
/// nothing was typed, they are the prompt.
pub(crate) fn typed(message: &str) -> &str {
    let text = message.trim();
    let has_context = text.starts_with(['#', '<']);
    let behind = |heading: &&str| {
        let mut places = text.match_indices(*heading).map(|(at, _)| at);
        let at = places.find(|at| *at == 0 || text[..*at].ends_with('\n'))?;
        Some(at + heading.len())
    };
    let start = REQUESTS.iter().filter(|_| has_context).filter_map(behind).min();
    let typed = start.map_or(text, |start| text[start..].trim());
    if typed.is_empty() { text } else { typed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_is_told_from_typed_words() {
        let one = |text: &str| classify([text]);
        assert_eq!(one("fix the <environment_context> bug"), TextOrigin::Typed);
        assert_eq!(
            one(" <environment_context>\n<cwd>/x</cwd></environment_context>\n"),
            TextOrigin::Context
        );
        assert_eq!(one("<skill> is a tag I want to write about"), TextOrigin::Typed);
        assert_eq!(one("<skill>x</skill> in <b>bold</b>"), TextOrigin::Typed);
        assert_eq!(one("<external_a b=\"c\">x</external_a>"), TextOrigin::Context);
        assert_eq!(one("<extension_context>\nx\n</extension_context>"), TextOrigin::Context);
        assert_eq!(
            one("<permissions instructions>x</permissions instructions>"),
            TextOrigin::Context
        );
        let instructions = "# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\na\n</INSTRUCTIONS>";
        assert_eq!(one(instructions), TextOrigin::Context);
        assert_eq!(one("# AGENTS.md instructions are outdated"), TextOrigin::Typed);
        assert_eq!(
            one("<user_shell_command>\n<command>ls</command></user_shell_command>"),
            TextOrigin::Shell
        );
        assert_eq!(
            one("Another language model started to solve this problem and"),
            TextOrigin::Summary
        );
        assert_eq!(classify(["hello", "<skill>x</skill>"]), TextOrigin::Context);
    }

    #[test]
    fn a_message_of_another_agent_is_a_document() {
        let sent = r#"{"author":"/root/a","recipient":"/root","other_recipients":[],"content":"x","trigger_turn":false}"#;
        assert!(is_from_agent(sent));
        assert!(!is_from_agent(r#"{"author":"/root/a","content":"x"}"#));
        assert!(!is_from_agent(&sent[..40]) && !is_from_agent(&format!("Sent: {sent}")));
    }

    #[test]
    fn an_editor_marks_the_typed_words() {
        assert_eq!(typed("# Context\nopen: a.rs\n## My request for Codex:\nfix it\n"), "fix it");
        assert_eq!(
            typed("## My request for Codex:\nsay `## My request for Codex:`"),
            "say `## My request for Codex:`"
        );
        assert_eq!(typed(" plain "), "plain");
        let files = "# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request:\n";
        assert_eq!(typed(&format!("{files}\nlook at it\n")), "look at it");
        assert_eq!(typed(files), files.trim());
        let page = "<in-app-browser-context source=\"x\">p</in-app-browser-context>\n\n## My request:\nread";
        assert_eq!(typed(page), "read");
        let quoted = "why is `## My request:` at the end?";
        assert_eq!(typed(quoted), quoted);
        assert_eq!(typed("what is\n## My request:\nfor?"), "what is\n## My request:\nfor?");
    }
}
