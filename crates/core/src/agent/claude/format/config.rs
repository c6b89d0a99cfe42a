//! Extracts what was typed from `~/.claude.json`, where old versions keep it. The file also has credentials and other
//! private data, of which nothing is read.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use super::prompt_log::with_pasted;
use crate::read::bytes::{SETTINGS_LIMIT, read_regular};
use crate::read::json::{self, Raw};
use crate::read::{decode, json::Malformed, unpadded};

/// Returns the typed lines that the earlier extract lacks, in the form of a prompt log. The program only keeps the
/// last lines of each project.
pub(in crate::agent::claude) fn extract(path: &Path, earlier: &[u8]) -> io::Result<Vec<u8>> {
    let bytes = read_regular(path, SETTINGS_LIMIT)?;
    let text = decode(&bytes);
    let earlier = decode(earlier);
    let mut known: HashSet<String> = earlier.lines().map(str::to_owned).collect();
    let mut out = String::new();
    let typed = typed(unpadded(&text)).map_err(|malformed| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it is not JSON: {malformed}"))
    })?;
    for (project, text) in typed {
        let line = serde_json::json!({ "display": text, "project": project }).to_string();
        if known.insert(line.clone()) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    Ok(out.into_bytes())
}

/// Returns the typed lines, each with the path of its project, the oldest of a project first.
fn typed(text: &str) -> Result<Vec<(String, String)>, Malformed> {
    let mut out = Vec::new();
    json::check(text)?;
    each_field(text, "projects", |projects| {
        let _ = json::each_field(projects.get(), |path, project| {
            each_field(project.get(), "history", |history| {
                for entry in json::elements(history.get()).into_iter().rev() {
                    let typed = display(entry).filter(|typed| !typed.trim().is_empty());
                    let project = json::to_text(path.clone()).into_owned();
                    out.extend(typed.map(|typed| (project, typed)));
                }
            });
        });
    });
    Ok(out)
}

/// Calls `found` with a field of an object.
fn each_field<'a>(object: &'a str, name: &str, mut found: impl FnMut(Raw<'a>)) {
    let _ = json::each_field(object, |key, value| {
        if *key == *name.as_bytes() {
            found(value);
        }
    });
}

/// Returns the text of an entry: the entry itself, or the one that it displays.
fn display(entry: Raw<'_>) -> Option<String> {
    let (mut display, mut pasted) = (json::string(entry), None);
    each_field(entry.get(), "display", |value| display = json::string(value));
    each_field(entry.get(), "pastedContents", |value| pasted = Some(value));
    Some(with_pasted(display?.into_owned(), pasted))
}
