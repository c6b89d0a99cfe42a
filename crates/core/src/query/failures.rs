//! Groups failed tool calls by error. Texts that differ only in numbers and paths are the same
//! error.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::activity::FailedCall;
use crate::archive::{Archive, ArchiveError};
use crate::model::SessionId;
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
    pub session: SessionId,
    /// Its original error.
    pub example: String,
}

/// Groups the failed tool calls of sessions in a period by tool and error. Returns the rows, the
/// most frequent first.
pub fn failures(
    archive: &Archive,
    sessions: &[SessionId],
    period: &Period,
) -> Result<Vec<Row>, ArchiveError> {
    let mut rows: BTreeMap<(String, String), Row> = BTreeMap::new();
    let activities = archive.activities(sessions)?;
    for (session, failures) in sessions.iter().zip(activities.parts::<Vec<FailedCall>>(sessions)?) {
        for call in failures.into_iter().filter(|call| period.includes(call.at)) {
            let FailedCall { at, tool, error } = call;
            let text = fold(&error);
            let new = || Row {
                tool: tool.clone(),
                text: text.clone(),
                count: 0,
                last: None,
                session: session.clone(),
                example: error.clone(),
            };
            let row = rows.entry((tool.clone(), text.clone())).or_insert_with(new);
            row.count += 1;
            if at > row.last {
                row.last = at;
                row.session = session.clone();
                row.example.clone_from(&error);
            }
        }
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| (Reverse(row.count), Reverse(row.last)));
    Ok(rows)
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
