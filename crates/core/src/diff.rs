//! The changes that a tool call made to files, as a diff.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

use crate::model::ToolCall;
use crate::read::json;

/// Returns the diff of an edit: the one that the agent displayed, or one made from the arguments.
pub fn diff(call: &ToolCall) -> Option<Cow<'_, str>> {
    if let Some(shown) = displayed(call) {
        return Some(match shown {
            Cow::Borrowed(text) => Cow::Borrowed(without_header(text)),
            Cow::Owned(text) => Cow::Owned(without_header(&text).to_owned()),
        });
    }
    let args: Value = serde_json::from_str(call.args.as_deref()?.get()).ok()?;
    if let Some(patch) = args.get("input").and_then(Value::as_str) {
        return patch.starts_with("*** Begin Patch").then(|| Cow::Owned(patch.to_owned()));
    }
    let edits = match args.get("edits").and_then(Value::as_array) {
        Some(edits) => edits.as_slice(),
        None => std::slice::from_ref(&args),
    };
    let text = |edit: &Value, name: &str| edit.get(name)?.as_str().map(str::to_owned);
    let mut out = String::new();
    for edit in edits {
        let is_write = call.name.canonical == "file_write";
        let new =
            text(edit, "new_string").or_else(|| text(edit, "content").filter(|_| is_write))?;
        replaced(&text(edit, "old_string").unwrap_or_default(), &new, &mut out);
    }
    Some(out).filter(|out| !out.is_empty()).map(Cow::Owned)
}

/// Returns the diff that the agent displayed.
pub(crate) fn displayed(call: &ToolCall) -> Option<Cow<'_, str>> {
    let shown = call.result_display.as_deref().filter(|raw| raw.get().starts_with('{'))?;
    let mut diff = None;
    json::each_field(shown.get(), |key, value| {
        if *key == *b"fileDiff" {
            diff = json::string(value);
        }
    })
    .ok()?;
    diff
}

/// Returns a diff without the lines before its first hunk, which repeat the name of the file.
fn without_header(diff: &str) -> &str {
    let hunk = if diff.starts_with("@@") { Some(0) } else { diff.find("\n@@").map(|at| at + 1) };
    hunk.map_or(diff, |at| &diff[at..])
}

/// Writes the lines that differ between two texts.
fn replaced(old: &str, new: &str, out: &mut String) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[same..], &new[same..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    for line in &old[..old.len() - end] {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "-{line}");
    }
    for line in &new[..new.len() - end] {
        let _ = writeln!(out, "+{line}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::tools::tool_name;

    fn call(name: &str, args: &str, shown: Option<&str>) -> ToolCall {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).ok();
        ToolCall {
            args: raw(args),
            result_display: shown.and_then(raw),
            ..ToolCall::new("".into(), tool_name(name, None))
        }
    }

    #[test]
    fn the_displayed_diff_comes_first() {
        let shown =
            r#"{"fileDiff":"Index: a.rs\n====\n--- a.rs\n+++ a.rs\n@@ -1 +1 @@\n-a\n+b\n"}"#;
        let got = call("replace", r#"{"old_string":"x","new_string":"y"}"#, Some(shown));
        assert_eq!(diff(&got).as_deref(), Some("@@ -1 +1 @@\n-a\n+b\n"));
    }

    #[test]
    fn arguments_become_a_diff() {
        for (name, args, want) in [
            (
                "replace",
                r#"{"old_string":"a\nb\nc","new_string":"a\nx\ny\nc"}"#,
                Some("-b\n+x\n+y\n"),
            ),
            ("replace", r#"{"old_string":"a\na","new_string":"a"}"#, Some("-a\n")),
            (
                "replace",
                r#"{"edits":[{"old_string":"a","new_string":"b"},{"old_string":"c","new_string":""}]}"#,
                Some("-a\n+b\n-c\n"),
            ),
            ("write_file", r#"{"content":"a\nb\n"}"#, Some("+a\n+b\n")),
            ("replace", r#"{"old_string":"a","new_string":"a"}"#, None),
            (
                "apply_patch",
                r#"{"input":"*** Begin Patch\n*** End Patch"}"#,
                Some("*** Begin Patch\n*** End Patch"),
            ),
            ("read_file", r#"{"file_path":"a"}"#, None),
            ("read_file", "[]", None),
        ] {
            assert_eq!(diff(&call(name, args, None)).as_deref(), want, "{args}");
        }
    }

    proptest::proptest! {
        #[test]
        fn equal_lines_at_both_ends_are_left_out(a in "[ab\n]{0,20}", b in "[ab\n]{0,20}") {
            let mut out = String::new();
            replaced(&a, &b, &mut out);
            let count = |sign| out.lines().filter(|line| line.starts_with(sign)).count();
            let (old, new) = (a.lines().count(), b.lines().count());
            proptest::prop_assert_eq!(old - count('-'), new - count('+'));
            proptest::prop_assert_eq!(out.is_empty(), a.lines().eq(b.lines()));
        }
    }
}
