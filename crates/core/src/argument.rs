//! Summarizes the arguments of a tool call in one line.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::model::ToolCall;
use crate::read::json::{self, Raw};

/// The arguments worth showing next to a tool's name; the first one that exists is used.
const KEY_ARGUMENTS: [&str; 11] = [
    "file_path",
    "absolute_path",
    "path",
    "dir_path",
    "command",
    "cmd",
    "pattern",
    "query",
    "prompt",
    "agent_name",
    "url",
];

/// Informative arguments that are used if none of [`KEY_ARGUMENTS`] exists.
const OTHERS: [&str; 16] = [
    "target_file",
    "title",
    "question",
    "objective",
    "task",
    "request",
    "fact",
    "sql",
    "reason",
    "plan_filename",
    "plan_path",
    "paths",
    "name",
    "skill",
    "subject",
    "plan",
];

/// Returns the text to show next to the name of a tool.
pub fn argument(call: &ToolCall) -> Option<String> {
    let args = call.args.as_deref();
    let name = call.name.name.as_str();
    let found = match name {
        "ask_user" | "AskUserQuestion" => {
            args.and_then(|args| questions(args, call.output.as_deref()))
        }
        "write_todos" | "write_todos_list" | "TodoWrite" => args.and_then(todos),
        _ => args.and_then(key_argument).or_else(|| args.and_then(other)),
    };
    // These tools share their label with others that do something else.
    let is_vague = call.name.canonical == "planning"
        || (call.name.canonical == "shell_exec" && name.contains("background"));
    found.or_else(|| is_vague.then(|| with_process(name, args)))
}

/// Returns the one argument worth showing next to a tool's name. Arguments are an object, or a
/// string that encodes one.
pub fn key_argument(args: &RawValue) -> Option<String> {
    let inside = json::string(Raw::of(args));
    let object = inside.as_deref().unwrap_or(args.get());
    let mut found: [Option<Raw<'_>>; KEY_ARGUMENTS.len()] = [None; KEY_ARGUMENTS.len()];
    json::each_field(object, |key, value| {
        if let Some(rank) = KEY_ARGUMENTS.iter().position(|name| name.as_bytes() == &*key) {
            found[rank] = Some(value);
        }
    })
    .ok()?;
    let value = found.into_iter().flatten().find(|value| value.get() != "null")?;
    let text = json::string(value).unwrap_or_else(|| value.get().into());
    Some(text.trim_start().to_owned())
}

fn parsed(args: &RawValue) -> Option<Value> {
    let value: Value = serde_json::from_str(args.get()).ok()?;
    match value {
        Value::String(text) => serde_json::from_str(&text).ok(),
        value => Some(value),
    }
}

fn other(args: &RawValue) -> Option<String> {
    let args = parsed(args)?;
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Array(list) => {
            Some(list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "))
        }
        _ => None,
    };
    let found = OTHERS.iter().filter_map(|name| text(args.get(name)?));
    found.into_iter().find(|text| !text.is_empty())
}

/// Returns the questions and the user's answers, which are an object from the number of a question
/// to its answer.
fn questions(args: &RawValue, output: Option<&str>) -> Option<String> {
    let args = parsed(args)?;
    let answers: Value =
        output.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let answers = answers.get("answers").cloned().unwrap_or_default();
    let mut out = Vec::new();
    for (n, question) in args.get("questions")?.as_array()?.iter().enumerate() {
        let Some(question) = question.get("question").and_then(Value::as_str) else { continue };
        let answer = answers.get(n.to_string()).or_else(|| answers.get(n)).and_then(Value::as_str);
        out.push(match answer {
            Some(answer) => format!("{} → {}", question.trim(), answer.trim()),
            None => question.trim().to_owned(),
        });
    }
    Some(out.join("; ")).filter(|text| !text.is_empty())
}

/// Returns the progress of a list of todos, and the current one.
fn todos(args: &RawValue) -> Option<String> {
    let args = parsed(args)?;
    let todos = args.get("todos")?.as_array()?;
    let status = |todo: &&Value| todo.get("status").and_then(Value::as_str).map(str::to_owned);
    let done = todos.iter().filter(|todo| status(todo).as_deref() == Some("completed")).count();
    let current = todos
        .iter()
        .find(|todo| status(todo).as_deref() == Some("in_progress"))
        .or_else(|| todos.iter().find(|todo| status(todo).as_deref() == Some("pending")))
        .and_then(|todo| todo.get("description").or_else(|| todo.get("content"))?.as_str());
    let so_far = format!("{done} of {} done", todos.len());
    Some(current.map_or(so_far.clone(), |current| format!("{so_far}: {}", current.trim())))
}

/// Returns the name of a tool, and the id of the process that it is about.
fn with_process(name: &str, args: Option<&RawValue>) -> String {
    let pid = args.and_then(parsed).and_then(|args| args.get("pid")?.as_u64());
    pid.map_or_else(|| name.to_owned(), |pid| format!("{name} {pid}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::tool_name;

    #[test]
    fn the_telling_argument() {
        let got = |text: &str| key_argument(&RawValue::from_string(text.to_owned()).unwrap());
        assert_eq!(got(r#"{"content":"x","file_path":"a.rs"}"#).as_deref(), Some("a.rs"));
        assert_eq!(got(r#"{"command":"ls","dir_path":"src"}"#).as_deref(), Some("src"));
        assert_eq!(got(r#""{\"cmd\":\"cargo test\"}""#).as_deref(), Some("cargo test"));
        assert_eq!(got(r#"{"path":null,"query":5}"#).as_deref(), Some("5"));
        assert_eq!(got(r#"{"command":"\n\n \tgit log\n"}"#).as_deref(), Some("git log\n"));
        assert_eq!(got(r#"{"todos":[]}"#), None);
        assert_eq!(got("7"), None);
    }

    #[test]
    fn every_tool_says_what_it_was_about() {
        let questions =
            r#"{"questions":[{"question":"Which store?","header":"DB"},{"question":"Sure?"}]}"#;
        let todos = r#"{"todos":[{"description":"a","status":"completed"},{"description":"b","status":"in_progress"}]}"#;
        for (name, args, output, want) in [
            ("read_file", r#"{"target_file":"/src/main.ts"}"#, "", "/src/main.ts"),
            ("update_topic", r#"{"title":"Parser","summary":"s"}"#, "", "Parser"),
            ("write_todos", todos, "", "1 of 2 done: b"),
            ("write_todos", r#"{"todos":[]}"#, "", "0 of 0 done"),
            (
                "TodoWrite",
                r#"{"todos":[{"content":"a","status":"pending","activeForm":"doing a"}]}"#,
                "",
                "0 of 1 done: a",
            ),
            ("AskUserQuestion", questions, "answered", "Which store?; Sure?"),
            ("TaskCreate", r#"{"subject":"Parser","description":"d"}"#, "", "Parser"),
            ("ExitPlanMode", r#"{"plan":"First, …"}"#, "", "First, …"),
            ("enter_plan_mode", r#"{"reason":"large change"}"#, "", "large change"),
            ("exit_plan_mode", r#"{"plan_filename":"p.md"}"#, "", "p.md"),
            ("exit_plan_mode", "{}", "", "exit_plan_mode"),
            ("codebase_investigator", r#"{"objective":"find bugs"}"#, "", "find bugs"),
            ("cli_help", r#"{"question":"how?"}"#, "", "how?"),
            ("save_memory", r#"{"fact":"tabs"}"#, "", "tabs"),
            ("mcp_db_query", r#"{"sql":"select 1"}"#, "", "select 1"),
            ("read_background_output", r#"{"pid":42}"#, "", "read_background_output 42"),
            ("ask_user", questions, "", "Which store?; Sure?"),
            (
                "ask_user",
                questions,
                r#"{"answers":{"0":"SQLite"}}"#,
                "Which store? → SQLite; Sure?",
            ),
            (
                "ask_user",
                questions,
                r#"{"answers":["SQLite","yes"]}"#,
                "Which store? → SQLite; Sure? → yes",
            ),
            ("ask_user", questions, "cancelled", "Which store?; Sure?"),
        ] {
            let call = ToolCall {
                args: RawValue::from_string(args.to_owned()).ok(),
                output: Some(output.to_owned()),
                ..ToolCall::new("".into(), tool_name(name, None))
            };
            assert_eq!(argument(&call).as_deref(), Some(want), "{name}");
        }
    }
}
