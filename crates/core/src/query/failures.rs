//! Groups failed tool calls by error. Texts that differ only in numbers and paths are the same
//! error.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use jiff::Timestamp;

use super::reading::tool_calls;
use crate::assemble::SessionFacts;
use crate::content::Reader;
use crate::facts::ToolFacts;
use crate::model::{ToolCall, ToolStatus};
use crate::time::Period;

/// One kind of failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The tool.
    pub tool: String,
    /// The first line of the error, with numbers and paths replaced.
    pub text: String,
    /// The number of failures.
    pub count: u64,
    /// The time of the last one.
    pub last: Option<Timestamp>,
    /// The session of the last one.
    pub session: String,
    /// Its original error.
    pub example: String,
}

/// Collects the failed tool calls of sessions by tool and error. Only their text is read.
pub struct Failures {
    period: Period,
    rows: BTreeMap<(String, String), Row>,
}

impl Failures {
    /// Returns an empty collection.
    pub fn new(period: Period) -> Self {
        Self { period, rows: BTreeMap::new() }
    }

    /// Adds the failures of a session.
    pub fn add(&mut self, assembled: &SessionFacts, reader: Reader<'_>) -> io::Result<()> {
        let session = &assembled.session.id;
        let has_failed = |tool: &ToolFacts| tool.status == ToolStatus::Error;
        tool_calls(assembled, reader, &self.period, has_failed, |call, at| {
            let example = first_line(call);
            let (tool, text) = (call.name.name.clone(), fold(&example));
            let new = || Row {
                tool: tool.clone(),
                text: text.clone(),
                count: 0,
                last: None,
                session: session.clone(),
                example: example.clone(),
            };
            let row = self.rows.entry((tool.clone(), text.clone())).or_insert_with(new);
            row.count += 1;
            if at > row.last {
                row.last = at;
                row.session.clone_from(session);
                row.example.clone_from(&example);
            }
        })
    }

    /// Returns the rows, the most frequent first.
    pub fn rows(self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.into_values().collect();
        rows.sort_by_key(|row| (Reverse(row.count), Reverse(row.last)));
        rows
    }
}

/// Returns the first line of an error that is not empty, cut to a readable length.
fn first_line(call: &ToolCall) -> String {
    const LONGEST: usize = 200;
    if let Some(code) = call.exit_code.filter(|_| call.status != ToolStatus::Error) {
        return format!("exit code {code}");
    }
    let text = call.error.as_deref().or(call.output.as_deref()).unwrap_or_default();
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or("no text").chars().take(LONGEST).collect()
}

/// Replaces the variable parts of a text: paths become `…`, numbers `N`.
fn fold(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split(' ') {
        if !out.is_empty() {
            out.push(' ');
        }
        let inner = word.trim_matches(|c: char| c.is_ascii_punctuation() && !"/\\.~".contains(c));
        let is_path = inner.len() > 1 && inner.contains(['/', '\\']) && !inner.contains("://");
        if is_path {
            out.push_str(&word.replace(inner, "…"));
            continue;
        }
        let mut chars = word.chars().peekable();
        while let Some(char) = chars.next() {
            if char.is_ascii_digit() {
                while chars.next_if(char::is_ascii_digit).is_some() {}
                out.push('N');
            } else {
                out.push(char);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn numbers_and_paths_are_folded() {
        let same = |a: &str, b: &str| assert_eq!(fold(a), fold(b));
        same("File not found: /a/b.rs", "File not found: /c/d/e.rs");
        same("`src/x.rs` line 12: no", "`src/y.rs` line 3: no");
        same("exit code 3 after 20ms", "exit code 127 after 1ms");
        same(r#"cannot open "C:\work\a.txt"."#, r#"cannot open "D:\b"."#);
        assert_eq!(fold("File not found: /a/b.rs"), "File not found: …");
        assert_eq!(fold("took 12.5 s (of 30)"), "took N.N s (of N)");
        assert_eq!(fold("see https://a.b/c and/or"), "see https://a.b/c …");
        assert_eq!(fold("a / b"), "a / b");
    }
}
