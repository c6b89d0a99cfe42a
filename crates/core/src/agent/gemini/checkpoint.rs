//! Saved histories: `/chat save`, `/chat share` and restore points hold the model's own `Content`
//! list, `{role, parts}` each, without ids, times or tokens.

use super::prompt;
use super::record::elements;
use crate::read::json::{self, Raw};

/// The turns of a history in the form of session messages; what is no turn is passed over.
pub(super) fn as_messages(turns: &[Raw<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    for turn in turns {
        let (mut role, mut parts) = (None, None);
        let _ = json::each_field(turn.get(), |key, value| match &*key {
            b"role" => role = json::string(value),
            b"parts" => parts = Some(value),
            _ => {}
        });
        let Some(role) = role else { continue };
        let kind = if role == "user" { "user" } else { "gemini" };
        let list = parts.filter(|parts| parts.get().starts_with('['));
        let mut parts = list.map(|list| elements(list.get())).unwrap_or_default();
        // The history joins what was put in with what was typed after it.
        if kind == "user" && parts.len() > 1 && is_context(parts[0]) {
            let context = parts.remove(0);
            out.push(message(out.len(), kind, &[context]));
        }
        out.push(message(out.len(), kind, &parts));
    }
    out
}

fn is_context(part: Raw<'_>) -> bool {
    let text = prompt::text(part);
    text.starts_with("<session_context>")
        || text.starts_with("This is the Gemini CLI. We are setting")
}

fn message(index: usize, kind: &str, parts: &[Raw<'_>]) -> String {
    let parts: Vec<&str> = parts.iter().map(|part| part.get()).collect();
    let (id, parts) = (index + 1, parts.join(","));
    format!(r#"{{"id":"{id}","type":"{kind}","content":[{parts}]}}"#)
}
