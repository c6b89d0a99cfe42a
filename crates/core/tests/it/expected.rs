//! Converts sessions and their messages to one JSON form, for comparison with tables written by
//! hand.

use std::fmt::Write as _;
use std::path::Path;

use backstory_core::assemble::SessionFacts;
use backstory_core::content::View;
use backstory_core::export::json::{MessageRow, SessionRow};
use backstory_core::model::{Message, MessageKind, ToolCall};
use backstory_core::pricing::{Bill, Table};
use serde_json::{Value, json};

use crate::support::Home;

/// Returns all sessions in the form of the tables; file names are relative to `folder`.
pub(crate) fn sessions(home: &Home, folder: &Path) -> Value {
    home.sessions.iter().map(|session| self::session(home, session, folder)).collect()
}

pub(crate) fn session(home: &Home, assembled: &SessionFacts, folder: &Path) -> Value {
    let mut out =
        serde_json::to_value(SessionRow::new(&assembled.session, Bill::default())).unwrap();
    let parts = assembled.session.parts.iter();
    out["parts"] = parts
        .map(|part| {
            let file = part.file.strip_prefix(folder).unwrap_or(&part.file);
            json!([file.to_str().unwrap().replace('\\', "/"), part.why.name()])
        })
        .collect();
    let view = |view| home.messages(assembled, view);
    out["messages"] = view(View::Full).iter().map(message).collect();
    out["current"] = view(View::Current).iter().map(|message| message.id.as_str()).collect();
    out["listed"] = assembled.session.is_listed().into();
    out
}

fn message(message: &Message) -> Value {
    let mut out = serde_json::to_value(MessageRow::new(message, &Table::embedded())).unwrap();
    if matches!(message.kind, MessageKind::Prompt | MessageKind::Slash) {
        out["typed"] = message.words().trim().into();
    }
    let references = message.references.iter();
    out["references"] = references.map(|file| json!([file.path, file.bytes])).collect();
    out["tools"] = message.tool_calls.iter().map(tool).collect();
    out
}

fn tool(call: &ToolCall) -> Value {
    json!([call.name.name, call.name.label, call.status.name(), call.exit_code])
}

/// Returns the places where `ours` differs from `expected`. Every expected field must exist; others
/// may.
pub(crate) fn differences(expected: &Value, ours: &Value) -> String {
    let mut out = String::new();
    compare("", expected, ours, &mut out);
    out
}

fn compare(place: &str, expected: &Value, ours: &Value, out: &mut String) {
    match (expected, ours) {
        (Value::Object(fields), Value::Object(_)) => {
            for (key, value) in fields {
                compare(&format!("{place}.{key}"), value, &ours[key], out);
            }
        }
        (Value::Array(wanted), Value::Array(got)) => {
            let id = |value: &Value| value["id"].as_str().map(str::to_owned);
            for (n, (wanted, got)) in wanted.iter().zip(got).enumerate() {
                let name = id(wanted).unwrap_or_else(|| n.to_string());
                compare(&format!("{place}[{name}]"), wanted, got, out);
            }
            if wanted.len() != got.len() {
                let list = |values: &[Value]| {
                    let names = values.iter().map(|value| id(value).unwrap_or(value.to_string()));
                    names.collect::<Vec<_>>().join(", ")
                };
                let _ = writeln!(out, "{place}: expected {}; ours {}", list(wanted), list(got));
            }
        }
        _ if expected == ours => {}
        _ => {
            let _ = writeln!(out, "{place}: expected {expected}, ours {ours}");
        }
    }
}
