//! Counts the lines that patches add and remove.

use crate::agent::codex::format::Object;
use crate::read::json::{self, Raw};

/// Counts the lines that the text of a patch adds and removes.
pub(super) fn lines(patch: &str) -> (u64, u64) {
    let count = |sign: char| patch.lines().filter(|line| line.starts_with(sign)).count() as u64;
    (count('+'), count('-'))
}

/// Returns the files that the text of a patch changes.
pub(super) fn paths(patch: &str) -> Vec<String> {
    let marks = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    let mut paths = Vec::new();
    for line in patch.lines() {
        let path = marks.iter().find_map(|mark| line.strip_prefix(mark));
        paths.extend(path.map(|path| path.trim().to_owned()));
    }
    paths
}

/// Returns the patch that a command applies and does nothing else: `apply_patch` with the patch as an argument or a
/// here-document, in a folder of its own or not.
pub(super) fn in_command(command: &str) -> Option<&str> {
    let from = command.find(BEGIN)?;
    let length = command[from..].find(END)? + END.len();
    let before = command[..from].trim_start();
    let before = match before.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
        Some((_, rest)) => rest.trim_start(),
        None => before,
    };
    before.starts_with("apply_patch").then(|| &command[from..from + length])
}

/// The first and the last line of a patch.
const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// Returns whether a text may contain a patch.
pub(super) fn is_in(text: &str) -> bool {
    text.contains(BEGIN)
}

/// Counts the lines that recorded changes of files add and remove.
pub(super) fn changed(changes: Raw<'_>) -> (u64, u64) {
    let (mut added, mut removed) = (0, 0);
    let _ = json::each_field(changes.get(), |_, change| {
        let change = Object::of(change);
        let content = change.text("content").map_or(0, |content| content.lines().count() as u64);
        match change.text("type").as_deref() {
            Some("add") => added += content,
            Some("delete") => removed += content,
            _ => {
                let (more, less) = lines(&change.text("unified_diff").unwrap_or_default());
                (added, removed) = (added + more, removed + less);
            }
        }
    });
    (added, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_and_changes_are_counted() {
        let patch =
            "*** Begin Patch\n*** Update File: a\n@@\n hello\n-world\n+there\n+more\n*** End Patch";
        assert_eq!(lines(patch), (2, 1));
        assert_eq!(paths(patch), ["a"]);
        assert_eq!(paths(&patch.replace("@@", "*** Move to: b\n@@")), ["a", "b"]);
        for command in ["apply_patch <<'EOF'\n", "cd x && apply_patch <<EOF\n", "apply_patch "] {
            assert_eq!(in_command(&format!("{command}{patch}\nEOF\n")), Some(patch), "{command}");
        }
        assert_eq!(in_command(&format!("cat <<EOF\n{patch}\nEOF")), None);
        assert_eq!(in_command("apply_patch <<EOF\n*** Begin Patch"), None);
        let changes = r#"{"/a":{"type":"add","content":"x\ny\n"},"/b":{"type":"delete","content":"z\n"},
            "/c":{"type":"update","unified_diff":"@@ -1 +1 @@\n-q\n+r\n"}}"#;
        assert_eq!(changed(Raw::new(changes).unwrap()), (3, 2));
    }
}
