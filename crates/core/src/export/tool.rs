//! Formats a tool call for readers: a headline, and the sections to unfold below it.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

use crate::clean;
use crate::diff::displayed;
use crate::model::{ToolCall, ToolStatus};
use crate::number::{bytes, count};
use crate::read::json::{self, Raw};

/// The headline of a call.
pub struct Headline<'a> {
    /// The mark of the outcome, such as `✓`.
    pub mark: &'static str,
    /// `success`, `failed`, `error`, `cancelled` or `unfinished`.
    pub state: &'static str,
    /// The name of the tool.
    pub label: Cow<'a, str>,
    /// The most informative argument, on one line.
    pub argument: Option<String>,
    /// Facts such as an exit code.
    pub notes: Vec<String>,
}

/// One section below the headline.
pub struct Section<'a> {
    /// Its title.
    pub title: Cow<'a, str>,
    /// Its kind.
    pub kind: SectionKind,
    /// Its text.
    pub text: Cow<'a, str>,
}

/// The kind of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// A command that ran.
    Command,
    /// A unified diff.
    Diff,
    /// Any text.
    Text,
    /// An error.
    Error,
}

/// The longest argument in a headline, in characters; longer ones are repeated below it.
const ARGUMENT: usize = 100;

/// Texts longer than this are cut in the middle, because the end is often more informative.
const LONG: usize = 10_000;
const HEAD: usize = 6_000;
const TAIL: usize = 3_000;

/// Returns a path below the folder of a project without that folder, and any other text as it is.
pub fn in_project<'a>(text: &'a str, project: Option<&str>) -> &'a str {
    let folder = project.unwrap_or_default().trim_end_matches('/');
    let below = text.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    below.filter(|rest| !folder.is_empty() && !rest.is_empty()).unwrap_or(text)
}

/// Returns the headline of a call whose most informative argument is `argument`, in a project in this folder.
pub fn headline<'a>(
    call: &'a ToolCall,
    argument: Option<&str>,
    project: Option<&str>,
) -> Headline<'a> {
    let (mark, state) = match call.status {
        ToolStatus::Success if call.exit_code.is_some_and(|code| code != 0) => ("✗", "failed"),
        ToolStatus::Success => ("✓", "success"),
        ToolStatus::Error => ("✗", "error"),
        ToolStatus::Cancelled => ("⊘", "cancelled"),
        ToolStatus::Unfinished => ("…", "unfinished"),
    };
    let name = &call.name;
    let label = match name.label.as_str() {
        "MCP" => format!("MCP {}", clean::line(&name.name)).into(),
        "" => "tool".into(),
        label => clean::line(label),
    };
    let mut notes = Vec::new();
    if let Some(code) = call.exit_code.filter(|code| *code != 0) {
        notes.push(format!("exit code {code}"));
    }
    if let (Some(added), Some(removed)) = (call.lines_added, call.lines_removed)
        && added + removed > 0
    {
        notes.push(format!("+{} −{}", count(added), count(removed)));
    }
    if matches!(state, "error" | "cancelled" | "unfinished") {
        notes.push(state.to_owned());
    }
    let argument = argument.map(|text| short(in_project(text, project), ARGUMENT));
    Headline { mark, state, label, argument, notes }
}

/// Returns one line of at most `most` characters.
pub(super) fn short(text: &str, most: usize) -> String {
    let mut line = clean::one_line(text);
    let mut out: String = line.by_ref().take(most).collect();
    if line.next().is_some() {
        out.truncate(out.trim_end().len());
        out.push('…');
    }
    out
}

/// Returns the sections of a call. Long texts are cut unless the `whole` is wanted.
pub fn sections<'a>(call: &'a ToolCall, argument: Option<&str>, whole: bool) -> Vec<Section<'a>> {
    let mut out = Vec::new();
    let diff = displayed(call);
    let has_diff = diff.is_some();
    arguments(call, argument, has_diff, &mut out);
    let mut push = |title: &'static str, kind, text: Option<Cow<'a, str>>| {
        out.extend(text.map(|text| Section { title: title.into(), kind, text }));
    };
    push("diff", SectionKind::Diff, diff);
    // The answer to an edit repeats the diff.
    let is_told = has_diff && call.status == ToolStatus::Success && !whole;
    push("output", SectionKind::Text, call.output.as_deref().filter(|_| !is_told).map(Cow::from));
    push("error", SectionKind::Error, call.error.as_deref().map(Cow::from));
    out.retain(|section| !section.text.trim_start().is_empty());
    for section in &mut out {
        section.text = match std::mem::take(&mut section.text) {
            Cow::Borrowed(text) => tidy(text, whole),
            Cow::Owned(text) => tidy(&text, whole).into_owned().into(),
        };
    }
    out
}

/// Cuts and then cleans a text; the other order would process text that is mostly left out.
fn tidy(text: &str, whole: bool) -> Cow<'_, str> {
    match if whole { Cow::Borrowed(text) } else { cut(text) } {
        Cow::Borrowed(text) => clean::block(text),
        Cow::Owned(text) => clean::block(&text).into_owned().into(),
    }
}

/// Adds the arguments that the headline does not contain.
fn arguments<'a>(
    call: &'a ToolCall,
    told: Option<&str>,
    has_diff: bool,
    out: &mut Vec<Section<'a>>,
) {
    let Some(args) = call.args.as_deref() else { return };
    let mut small = String::new();
    let mut told_once = false;
    let mut large = Vec::new();
    let _ = json::each_field(args.get(), |key, value| {
        let key = json::to_text(key);
        let text = json::string(value).unwrap_or_else(|| readable(value));
        let is_told = !told_once && told == Some(text.trim_start());
        told_once |= is_told;
        let is_command = matches!(&*key, "command" | "cmd");
        let in_diff = has_diff && matches!(&*key, "content" | "old_string" | "new_string");
        let is_long = text.len() > 4 * ARGUMENT
            || text.chars().nth(ARGUMENT).is_some()
            || text.contains('\n');
        if in_diff || (is_told && !is_long) || text.is_empty() || *text == *"null" {
            return;
        }
        if is_long {
            let kind = if is_command { SectionKind::Command } else { SectionKind::Text };
            let title = clean::line(&key).into_owned().into();
            large.push(Section { title, kind, text });
        } else {
            let _ = writeln!(small, "{}: {text}", clean::line(&key));
        }
    });
    if !small.is_empty() {
        out.push(Section {
            title: "arguments".into(),
            kind: SectionKind::Text,
            text: small.into(),
        });
    }
    out.extend(large);
}

/// Formats a list or an object, on several lines if it is long.
fn readable(value: Raw<'_>) -> Cow<'_, str> {
    let text = value.get();
    let laid_out = (text.len() > ARGUMENT)
        .then(|| serde_json::from_str::<Value>(text).ok())
        .flatten()
        .and_then(|value| serde_json::to_string_pretty(&value).ok());
    laid_out.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Returns the beginning and the end of a long text, cut at line ends if possible.
fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= LONG {
        return Cow::Borrowed(text);
    }
    let head = &text[..boundary(text, HEAD)];
    let head = head.rfind('\n').filter(|at| *at > HEAD / 2).map_or(head, |at| &head[..at]);
    let tail = &text[boundary(text, text.len() - TAIL)..];
    let tail = tail.find('\n').filter(|at| *at < TAIL / 2).map_or(tail, |at| &tail[at + 1..]);
    let left_out = bytes((text.len() - head.len() - tail.len()) as u64);
    Cow::Owned(format!("{head}\n[… {left_out} left out …]\n{tail}"))
}

/// Returns the last character boundary up to `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_a_project_are_relative() {
        for (text, project, want) in [
            ("/code/shop/src/a.rs", Some("/code/shop"), "src/a.rs"),
            ("/code/shop/src/a.rs", Some("/code/shop/"), "src/a.rs"),
            ("/code/shopping/a.rs", Some("/code/shop"), "/code/shopping/a.rs"),
            ("/code/shop", Some("/code/shop"), "/code/shop"),
            ("/etc/hosts", Some("/"), "/etc/hosts"),
            ("/etc/hosts", None, "/etc/hosts"),
            ("cat /code/shop/a.rs", Some("/code/shop"), "cat /code/shop/a.rs"),
        ] {
            assert_eq!(in_project(text, project), want, "{text}");
        }
    }

    #[test]
    fn one_line_that_fits() {
        assert_eq!(short("ls  -l\n\tsrc", 10), "ls -l src");
        assert_eq!(short("0123456789", 10), "0123456789");
        assert_eq!(short("0123456789a", 10), "0123456789…");
        assert_eq!(short("\u{1b}[31m\n", 10), "[31m");
    }

    #[test]
    fn long_texts_keep_both_ends() {
        assert!(matches!(cut(&"x".repeat(LONG)), Cow::Borrowed(_)));
        let lines: Vec<String> = (0..5_000).map(|n| format!("line {n} é\n")).collect();
        let lines = lines.concat();
        let cut = cut(&lines);
        assert!(cut.starts_with("line 0 é\n") && cut.ends_with("line 4999 é\n"), "{cut}");
        assert!(cut.len() < LONG && cut.contains("\n[… "));
        assert!(cut.lines().all(|line| line.starts_with("line ") || line.starts_with("[… ")));
        // A single endless line is cut too, between characters.
        assert!(super::cut(&"é".repeat(LONG)).len() < LONG);
    }
}
