//! Saved histories: `/chat save`, `/chat share` and restore points hold the model's own `Content`
//! list, `{role, parts}` each, without ids, times or tokens.

use serde_json::value::RawValue;

use super::prompt;
use super::record::elements;
use crate::read::json;

/// The turns of a history in the form of session messages; what is no turn is passed over.
pub(super) fn as_messages(turns: &[&RawValue]) -> Vec<Box<RawValue>> {
    let mut out: Vec<Box<RawValue>> = Vec::new();
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
            out.extend(message(out.len(), kind, &[context]));
        }
        out.extend(message(out.len(), kind, &parts));
    }
    out
}

fn is_context(part: &RawValue) -> bool {
    let text = prompt::text(part);
    text.starts_with("<session_context>")
        || text.starts_with("This is the Gemini CLI. We are setting")
}

fn message(index: usize, kind: &str, parts: &[&RawValue]) -> Option<Box<RawValue>> {
    let parts: Vec<&str> = parts.iter().map(|part| part.get()).collect();
    let (id, parts) = (index + 1, parts.join(","));
    RawValue::from_string(format!(r#"{{"id":"{id}","type":"{kind}","content":[{parts}]}}"#)).ok()
}
