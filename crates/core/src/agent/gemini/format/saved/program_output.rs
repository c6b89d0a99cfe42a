//! Converts the output of `--output-format json` and `stream-json` to a session.
//!
//! Both contain less than a session file: no message ids, no thoughts, and tokens only as sums per
//! model. Each sum becomes one call of its model.

use serde_json::{Map, Value, json};

use crate::agent::gemini::format::load::{Loaded, of_messages};

/// Converts the output of `--output-format json`.
pub(crate) fn json_output(text: &str) -> Option<Loaded> {
    let capture: Value = serde_json::from_str(text).ok()?;
    let mut messages = Vec::new();
    if let Some(error) = capture["error"]["message"].as_str() {
        messages.push(json!({ "id": "error", "type": "error", "content": error }));
    }
    messages.push(json!({ "id": "response", "type": "gemini", "content": capture["response"] }));
    messages.extend(calls(&capture["stats"]["models"], None));
    Some(of_messages(&header(&capture["session_id"], None), &messages))
}

/// Converts the output of `--output-format stream-json`, one event per line.
pub(crate) fn stream_json(text: &str) -> Option<Loaded> {
    let mut session = Value::Null;
    let mut started = None;
    let mut messages: Vec<Value> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let id = format!("event-{}", n + 1);
        let at = event["timestamp"].clone();
        match event["type"].as_str()? {
            "init" => {
                session = event["session_id"].clone();
                started = Some(at);
            }
            "message" if event["role"] == "user" => messages.push(
                json!({ "id": id, "timestamp": at, "type": "user", "content": event["content"] }),
            ),
            "message" => {
                // Replies arrive in pieces.
                let piece = event["content"].as_str().unwrap_or_default();
                match messages.last_mut() {
                    Some(last) if last["type"] == "gemini" && event["delta"] == true => {
                        let so_far = last["content"].as_str().unwrap_or_default();
                        last["content"] = Value::String(format!("{so_far}{piece}"));
                    }
                    _ => messages.push(reply(&id, &at, piece)),
                }
            }
            "tool_use" => {
                if messages.last().is_none_or(|last| last["type"] != "gemini") {
                    messages.push(reply(&id, &at, ""));
                }
                let call = json!({
                    "id": event["tool_id"], "name": event["tool_name"], "args": event["parameters"],
                    "status": "executing", "timestamp": at,
                });
                if let Some(last) = messages.last_mut() {
                    match last["toolCalls"].as_array_mut() {
                        Some(calls) => calls.push(call),
                        None => last["toolCalls"] = Value::Array(vec![call]),
                    }
                }
            }
            "tool_result" => finish_call(&mut messages, &event),
            "error" => messages.push(
                json!({ "id": id, "timestamp": at, "type": "error", "content": event["message"] }),
            ),
            "result" => messages.extend(calls(&event["stats"]["models"], Some(&at))),
            _ => {}
        }
    }
    Some(of_messages(&header(&session, started.as_ref()), &messages))
}

fn header(session: &Value, started: Option<&Value>) -> Map<String, Value> {
    let mut out = Map::new();
    if session.is_string() {
        out.insert("sessionId".to_owned(), session.clone());
    }
    if let Some(started) = started {
        out.insert("startTime".to_owned(), started.clone());
    }
    out
}

fn reply(id: &str, at: &Value, text: &str) -> Value {
    json!({ "id": id, "timestamp": at, "type": "gemini", "content": text })
}

fn finish_call(messages: &mut [Value], event: &Value) {
    let calls = messages.iter_mut().filter_map(|message| message["toolCalls"].as_array_mut());
    let mut calls = calls.flatten().filter(|call| call["id"] == event["tool_id"]);
    if let Some(call) = calls.next() {
        let failed = event["status"] == "error";
        let response = if failed {
            json!({ "error": event["error"]["message"] })
        } else {
            json!({ "output": event["output"] })
        };
        call["status"] = event["status"].clone();
        call["result"] = json!([{ "functionResponse": {
            "id": event["tool_id"], "name": call["name"], "response": response } }]);
    }
}

/// Returns one call per model. Here `prompt` is the whole prompt and `input` the uncached part of
/// it; `stream-json` calls the whole `input_tokens`.
fn calls(models: &Value, at: Option<&Value>) -> Vec<Value> {
    let Some(models) = models.as_object() else { return Vec::new() };
    let call = |(model, stats): (&String, &Value)| {
        let tokens = if stats["tokens"].is_object() { &stats["tokens"] } else { stats };
        let first = |names: &[&str]| {
            names.iter().map(|name| &tokens[*name]).find(|value| value.is_number()).cloned()
        };
        let mut message = json!({
            "id": format!("usage-{model}"), "type": "gemini", "content": "", "model": model,
            "tokens": {
                "input": first(&["prompt", "input_tokens", "input"]),
                "output": first(&["candidates", "output_tokens"]),
                "cached": first(&["cached"]), "thoughts": first(&["thoughts"]),
                "tool": first(&["tool"]), "total": first(&["total", "total_tokens"]),
            },
        });
        if let Some(at) = at {
            message["timestamp"] = at.clone();
        }
        message
    };
    models.iter().map(call).collect()
}
