//! Recognizes user messages that no person typed.

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
const CONTEXT: [&str; 12] = [
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

/// Returns the text that a person typed, without the list of open files that an editor prepends.
pub(crate) fn typed(message: &str) -> &str {
    let mark = "## My request for Codex:";
    message.split_once(mark).map_or(message, |(_, typed)| typed).trim()
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
    fn an_editor_marks_the_typed_words() {
        assert_eq!(typed("# Context\nopen: a.rs\n## My request for Codex:\nfix it\n"), "fix it");
        assert_eq!(
            typed("## My request for Codex:\nsay `## My request for Codex:`"),
            "say `## My request for Codex:`"
        );
        assert_eq!(typed(" plain "), "plain");
    }
}
