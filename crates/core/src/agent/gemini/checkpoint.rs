//! Saved histories: `/chat save`, `/chat share` and restore points hold the model's own `Content`
//! list, `{role, parts}` each, without ids, times or tokens.

use serde_json::value::RawValue;

use crate::read::json;

/// One turn of a history in the form of a session message; `None` when it is no turn.
pub(super) fn as_message(index: usize, turn: &RawValue) -> Option<String> {
    let (mut role, mut parts) = (None, None);
    json::each_field(turn.get(), |key, value| match &*key {
        b"role" => role = json::string(value),
        b"parts" => parts = Some(value),
        _ => {}
    })
    .ok()?;
    let kind = if role? == "user" { "user" } else { "gemini" };
    let parts = parts.map_or("[]", RawValue::get);
    Some(format!(r#"{{"id":"{}","type":"{kind}","content":{parts}}}"#, index + 1))
}
