//! Determines the outcome of a tool call from its output.

use std::borrow::Cow;

use crate::agent::codex::format::{Object, parts};
use crate::model::ToolStatus;
use crate::read::json::{self, Raw};

/// The outcome of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Whether the call succeeded.
    pub(crate) status: ToolStatus,
    /// The exit code of the command, if the output contains one.
    pub(crate) exit_code: Option<i32>,
}

/// The number of characters at the beginning of an output that determine the outcome.
const BEGINNING: usize = 400;

/// The prefixes of the outputs of failed calls.
const FAILURES: [&str; 8] = [
    "unsupported call:",
    "apply_patch verification failed:",
    "failed to parse function arguments:",
    "invalid arguments:",
    "Script failed",
    "execution error:",
    "exec_command failed",
    "error: ",
];

impl Outcome {
    /// Reads the output of a call: a text, or a list of parts.
    pub(crate) fn read(output: Raw<'_>) -> Self {
        let head = beginning(output);
        let exit_code = exit_code(&head, output);
        let is_aborted = head.starts_with("aborted by user") || head.trim() == "aborted";
        let status = if is_aborted {
            ToolStatus::Cancelled
        } else if FAILURES.iter().any(|failure| head.starts_with(failure)) {
            ToolStatus::Error
        } else {
            ToolStatus::Success.with_exit_code(exit_code)
        };
        Self { status, exit_code }
    }
}

/// Returns the beginning of an output.
fn beginning(output: Raw<'_>) -> String {
    if let Some(chars) = json::chars(output) {
        let mut head = String::with_capacity(BEGINNING);
        head.extend(chars.take(BEGINNING));
        return head;
    }
    let first = parts(output).into_iter().next().unwrap_or_default();
    first.chars().take(BEGINNING).collect()
}

fn exit_code(head: &str, output: Raw<'_>) -> Option<i32> {
    if head.starts_with("{\"output\":") {
        // The numbers follow the text, which may be long.
        let (_, rest) = output.get().rsplit_once("\\\"exit_code\\\":")?;
        return number(rest);
    }
    let line = |mark: &str| {
        let rest = head.lines().take(6).find_map(|line| line.strip_prefix(mark))?;
        number(rest)
    };
    line("Exit code: ").or_else(|| line("Process exited with code "))
}

fn number(text: &str) -> Option<i32> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
    text[..end].parse().ok()
}

/// Returns the text of an output without the frame that the program adds.
pub(crate) fn words(output: Raw<'_>) -> String {
    let Some(text) = json::string(output) else { return parts(output).join("\n") };
    if text.starts_with("{\"output\":")
        && let Ok(inside) = Object::read(&text)
        && let Some(output) = inside.text("output")
    {
        return output.into_owned();
    }
    let is_framed =
        ["Chunk ID: ", "Exit code: ", "Wall time: "].iter().any(|f| text.starts_with(f));
    match text.split_once("\nOutput:\n").filter(|_| is_framed) {
        Some((_, output)) => output.to_owned(),
        None => text.into_owned(),
    }
}

/// Returns the thread of the agent that a call started, if its output names it.
pub(crate) fn started_agent(tool: &str, output: Raw<'_>) -> Option<String> {
    if tool != "spawn_agent" {
        return None;
    }
    let text: Cow<'_, str> = json::string(output)?;
    Object::read(&text).ok()?.owned("agent_id")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(text: &str) -> (ToolStatus, Option<i32>) {
        let raw = serde_json::to_string(text).unwrap();
        let Outcome { status, exit_code } = Outcome::read(Raw::new(&raw).unwrap());
        (status, exit_code)
    }

    #[test]
    fn outputs_are_shown_without_their_frames() {
        let shown = |text: &str| {
            let raw = serde_json::to_string(text).unwrap();
            words(Raw::new(&raw).unwrap())
        };
        assert_eq!(shown(r#"{"output":"a\nb","metadata":{"exit_code":0}}"#), "a\nb");
        assert_eq!(
            shown("Exit code: 0\nWall time: 1 seconds\nOutput:\na\nOutput:\nb"),
            "a\nOutput:\nb"
        );
        assert_eq!(shown("a\nOutput:\nb"), "a\nOutput:\nb");
    }

    #[test]
    fn every_form_of_output_says_how_the_call_ended() {
        use ToolStatus::{Cancelled, Error, Success};
        let json =
            r#"{"output":"x \"exit_code\":9","metadata":{"exit_code":3,"duration_seconds":0}}"#;
        assert_eq!(outcome(json), (Error, Some(3)));
        assert_eq!(outcome("Exit code: 0\nWall time: 0 seconds\nOutput:\nx"), (Success, Some(0)));
        let chunk = "Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 2\nOutput:\n";
        assert_eq!(outcome(chunk), (Error, Some(2)));
        assert_eq!(outcome("unsupported call: x"), (Error, None));
        assert_eq!(outcome("aborted by user after 3.5s"), (Cancelled, None));
        assert_eq!(outcome("Plan updated"), (Success, None));
        assert_eq!(outcome(""), (Success, None));
    }
}
