//! Extracts hints at a session's project folder.

use std::io::{Read as _, SeekFrom};

use crate::agent::gemini::format::record::{Element, ToolCalls};
use crate::agent::gemini::text::prompt;
use crate::discover::Source;
use crate::facts::{MessageFacts, PartFacts, Span};
use crate::model::MessageKind;
use crate::projects::{SessionHints, is_absolute};
use crate::read::bytes::{Bytes, ReadSeek};
use crate::read::{decode, json};

/// The number of messages of a session that are searched.
const MESSAGES: usize = 200;

/// The longest record that is read at once, in bytes.
const MOST_READ: usize = 1 << 16;

/// Extracts hints from the text of a session; a file that cannot be read yields none.
pub(crate) fn hints(source: &Source, part: &PartFacts, bytes: &dyn Bytes) -> SessionHints {
    let mut hints = SessionHints::default();
    let Ok(mut file) = bytes.open(source) else { return hints };
    let telling = |message: &&MessageFacts| {
        message.kind == MessageKind::Injected || !message.tools.is_empty()
    };
    for facts in part.messages.iter().filter(telling).take(MESSAGES) {
        let text = facts.spans.last().and_then(|span| read(&mut *file, span));
        let Some(text) = text else { continue };
        let Some(message) = Element::new(&text).and_then(|element| element.message) else {
            continue;
        };
        if let Some(content) = message.fields.content.filter(|_| facts.tools.is_empty()) {
            hints.workspace.extend(workspace(&prompt::text(content)));
        }
        if let ToolCalls::Calls(calls) = &message.fields.tool_calls {
            for args in calls.iter().filter_map(|call| call.args) {
                let _ = json::each_field(args.get(), |key, value| {
                    if matches!(&*key, b"file_path" | b"absolute_path" | b"path" | b"dir_path") {
                        let path = json::string(value).filter(|path| is_absolute(path));
                        hints.tool_paths.extend(path.map(std::borrow::Cow::into_owned));
                    }
                });
            }
        }
    }
    hints
}

fn read(mut file: &mut dyn ReadSeek, span: &Span) -> Option<String> {
    match span {
        Span::Inline(text) => Some(text.to_string()),
        Span::File { offset, length } => {
            file.seek(SeekFrom::Start(*offset)).ok()?;
            let mut bytes = Vec::with_capacity(usize::try_from(*length).ok()?.min(MOST_READ));
            (&mut file).take(*length).read_to_end(&mut bytes).ok()?;
            Some(decode(&bytes).into_owned())
        }
    }
}

/// Returns the list under "Workspace Directories", or the single directory of older versions.
fn workspace(context: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut in_list = false;
    for line in context.lines() {
        if let Some(path) = line.strip_prefix("I'm currently working in the directory: ") {
            out.push(path.trim().to_owned());
        }
        if line.contains("Workspace Directories:") {
            in_list = true;
        } else if let Some(path) = line.trim_start().strip_prefix("- ").filter(|_| in_list)
            && is_absolute(path)
        {
            out.push(path.trim().to_owned());
        } else {
            in_list = false;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_of_both_eras() {
        let new = "x\n- **Workspace Directories:**\n  - /home/a/b\n  - /home/a/c\n- **Directory Structure:**\n  - /no";
        assert_eq!(workspace(new), ["/home/a/b", "/home/a/c"]);
        assert_eq!(workspace("I'm currently working in the directory: /home/a/b\n"), ["/home/a/b"]);
    }
}
