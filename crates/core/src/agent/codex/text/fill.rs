//! Adds the content of records to messages.

use crate::agent::codex::format::{Kind, Object, Record};
use crate::facts::MessageFacts;
use crate::model::{Attachment, Message, MessageKind, SessionId, Thought, ToolCall, ToolStatus};
use crate::read::json::Raw;
use crate::tools::tool_name;

use super::activity::{self, Activity};
use super::outcome::{self, Outcome};
use super::request;

/// Adds the content of one of its records to a message.
pub(crate) fn fill(message: &mut Message, facts: &MessageFacts, record: &str) {
    let Ok(record) = Record::read(record) else { return };
    match record.kind {
        Kind::Item => item(message, &record.body),
        Kind::Event => event(message, &record),
        Kind::Compacted => {
            message.text = record.body.text("message").unwrap_or_default().into_owned();
        }
        Kind::Delivery => {
            message.text = record.body.text("content").unwrap_or_default().into_owned();
        }
        _ => {}
    }
    // The facts of the message record the status and time of each tool call.
    for call in &mut message.tool_calls {
        let known = facts.tools.iter().find(|tool| tool.id.as_deref() == Some(&call.id));
        if let Some(tool) = known {
            call.status = tool.status;
            call.at = tool.at;
            call.lines_added = tool.lines.map(|(added, _)| added);
            call.lines_removed = tool.lines.map(|(_, removed)| removed);
            call.agent_session = tool.agent_id.as_deref().map(SessionId::from);
        }
    }
}

fn item(message: &mut Message, item: &Object<'_>) {
    let kind = item.text("type").unwrap_or_default();
    match &*kind {
        "message" | "agent_message" => said(message, item),
        "reasoning" => message.thoughts.extend(thoughts(item)),
        kind if kind.ends_with("_output") => answered(message, item),
        kind if kind.ends_with("_call") => message.tool_calls.push(call(item)),
        _ => {}
    }
}

/// Sets the text and attachments of a message. They are complete in an item, but not in an event.
fn said(message: &mut Message, item: &Object<'_>) {
    message.text = item.words().join("\n");
    if message.kind == MessageKind::Shell {
        message.text = shell(&message.text);
    }
    let parts = item.list("content").into_iter();
    message.attachments = parts.filter_map(attachment).collect();
}

/// Formats a command that was typed with `!` as Markdown.
fn shell(text: &str) -> String {
    let inside = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.rsplit_once(&format!("</{tag}>")).map(|(inside, _)| inside.trim().to_owned())
    };
    match (inside("command"), inside("result")) {
        (Some(command), Some(result)) => format!("```sh\n{command}\n```\n\n```\n{result}\n```"),
        _ => text.to_owned(),
    }
}

fn attachment(part: Raw<'_>) -> Option<Attachment> {
    let object = Object::of(part);
    let url = object.text("image_url").or_else(|| object.text("audio_url"))?;
    let raw = part.boxed();
    Some(match url.strip_prefix("data:").and_then(|url| url.split_once(',')) {
        Some((mime, data)) => {
            let mime = mime.split(';').next().unwrap_or_default();
            Attachment::new(Some(mime.into()), Attachment::decoded_size(data), None, raw)
        }
        None => Attachment::new(None, 0, Some(url), raw),
    })
}

/// Returns the thoughts of the model: summaries of the form `**subject** description`, and full texts.
fn thoughts(item: &Object<'_>) -> Vec<Thought> {
    let summary = item.texts("summary").into_iter().map(|text| {
        let split = text.trim().strip_prefix("**").and_then(|rest| rest.split_once("**"));
        let (subject, description) = split.unwrap_or(("", &text));
        (subject.trim().to_owned(), description.trim().to_owned())
    });
    let raw = item.texts("content").into_iter().map(|text| (String::new(), text.into_owned()));
    let thought = |(subject, description)| Thought { subject, description, at: None };
    summary.chain(raw).map(thought).collect()
}

fn call(item: &Object<'_>) -> ToolCall {
    let facts = request::requested(item).facts;
    ToolCall {
        args: request::arguments(item),
        status: facts.status,
        ..empty_call(request::id(item).unwrap_or_default(), &facts.name)
    }
}

fn empty_call(id: String, name: &str) -> ToolCall {
    ToolCall { recorded: true, ..ToolCall::new(id.into(), tool_name(name, None)) }
}

fn answered(message: &mut Message, item: &Object<'_>) {
    let id = item.text("call_id").unwrap_or_default();
    let Some(call) = message.tool_calls.iter_mut().find(|call| call.id == *id) else { return };
    let Some(output) = item.get("output").or_else(|| item.get("tools")) else { return };
    let Outcome { status, exit_code } = Outcome::read(output);
    call.exit_code = exit_code.or(call.exit_code);
    let words = outcome::words(output);
    if status == ToolStatus::Error && exit_code.is_none() {
        call.error = Some(words);
    } else {
        call.output = Some(words);
    }
}

fn event(message: &mut Message, record: &Record<'_>) {
    let body = &record.body;
    match &*record.inner() {
        "user_message" | "agent_message" => announced(message, || body.text("message")),
        "item_completed" => {
            let item = body.object("item");
            match item.text("type").as_deref() {
                Some("UserMessage" | "AgentMessage") => {
                    announced(message, || Some(item.texts("content").join("\n").into()));
                }
                _ => did(message, &item),
            }
        }
        _ => did(message, body),
    }
}

/// Sets the text from an event, unless an item already has: an item usually repeats it.
fn announced<'t>(message: &mut Message, text: impl FnOnce() -> Option<std::borrow::Cow<'t, str>>) {
    if message.text.is_empty() {
        message.text = text().unwrap_or_default().into_owned();
    }
}

/// Adds the facts of an event about a tool.
fn did(message: &mut Message, event: &Object<'_>) {
    let Some(activity) = Activity::read(event) else { return };
    if let Some(call) = message.tool_calls.iter_mut().find(|call| call.id == *activity.id) {
        call.exit_code = activity.exit_code.or(call.exit_code);
        return;
    }
    let name = activity.name().to_owned();
    message.tool_calls.push(ToolCall {
        args: activity::arguments(event),
        exit_code: activity.exit_code,
        output: activity::output(event),
        ..empty_call(activity.id, &name)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_command_is_shown_as_markdown() {
        let text = "<user_shell_command>\n<command>\nls\n</command>\n<result>\nExit code: 0\n</result>\n</user_shell_command>";
        assert_eq!(shell(text), "```sh\nls\n```\n\n```\nExit code: 0\n```");
        assert_eq!(shell("other"), "other");
    }

    #[test]
    fn thoughts_have_a_subject() {
        let item = Object::read(
            r#"{"summary":[{"text":"**Looking** around"}],"content":[{"text":"raw"}]}"#,
        )
        .unwrap();
        let thoughts: Vec<_> =
            thoughts(&item).into_iter().map(|t| (t.subject, t.description)).collect();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(thoughts, [pair("Looking", "around"), pair("", "raw")]);
    }
}
