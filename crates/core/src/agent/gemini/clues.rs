//! What a session lets slip about the folder it ran in.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::log::Span;
use super::prompt;
use super::record::{Element, ToolCalls};
use super::said::Said;
use crate::model::MessageKind;
use crate::read::bytes::open_regular;
use crate::read::{decode, json};

/// How many messages of a session are looked into.
const MESSAGES: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Clues {
    /// The folders that the injected context names.
    pub(super) workspace: Vec<String>,
    /// Absolute paths that tools were called with.
    pub(super) tool_paths: Vec<String>,
}

impl Clues {
    pub(super) fn is_empty(&self) -> bool {
        self.workspace.is_empty() && self.tool_paths.is_empty()
    }
}

/// Looks into the file; a file that cannot be read has nothing to say.
pub(super) fn of(path: &Path, said: &[Said]) -> Clues {
    let mut clues = Clues::default();
    let Ok(mut file) = open_regular(path) else { return clues };
    let telling = |said: &&Said| said.kind == MessageKind::Injected || !said.tools.is_empty();
    for said in said.iter().filter(telling).take(MESSAGES) {
        let Some(text) = said.spans.last().and_then(|span| read(&mut file, span)) else { continue };
        let Some(message) = Element::new(&text).and_then(|element| element.message) else {
            continue;
        };
        if let Some(content) = message.fields.content.filter(|_| said.tools.is_empty()) {
            clues.workspace.extend(workspace(&prompt::text(content)));
        }
        if let ToolCalls::Calls(calls) = &message.fields.tool_calls {
            for args in calls.iter().filter_map(|call| call.args) {
                let _ = json::each_field(args.get(), |key, value| {
                    if matches!(&*key, b"file_path" | b"absolute_path" | b"path" | b"dir_path") {
                        let path = json::string(value).filter(|path| is_absolute(path));
                        clues.tool_paths.extend(path.map(std::borrow::Cow::into_owned));
                    }
                });
            }
        }
    }
    clues
}

fn read(file: &mut File, span: &Span) -> Option<String> {
    match span {
        Span::Inline(text) => Some(text.to_string()),
        Span::File { offset, length } => {
            file.seek(SeekFrom::Start(*offset)).ok()?;
            let mut bytes = Vec::new();
            file.take(*length).read_to_end(&mut bytes).ok()?;
            Some(decode(&bytes).into_owned())
        }
    }
}

/// The list under "Workspace Directories", and the one line of older versions.
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

/// Absolute on either kind of system.
fn is_absolute(path: &str) -> bool {
    let drive = path.as_bytes().get(1) == Some(&b':')
        && path.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    path.starts_with('/') || drive
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
