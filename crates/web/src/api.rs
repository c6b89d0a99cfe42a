//! The documents of the command line, under `/api/v1`.
//!
//! `/api/v1/COMMAND?OPTION=VALUE` is `backstory COMMAND --OPTION VALUE --json`, and the part after the command
//! is its argument: `/api/v1/show/ID`, `/api/v1/usage/model`. Only commands that read are there.

use maud::html;

use crate::app::Ask;
use crate::layout::{Frame, frame};
use crate::pages::LONGEST;
use crate::reply::{Problem, Reply};

/// The commands, each with the name of its argument and an example.
const COMMANDS: [(&str, Option<&str>, &str); 14] = [
    ("overview", None, "/api/v1/overview"),
    ("sessions", None, "/api/v1/sessions?since=7d&limit=20"),
    ("show", Some("session"), "/api/v1/show/ID"),
    ("search", Some("query"), "/api/v1/search/parser?limit=20"),
    ("prompts", None, "/api/v1/prompts?since=7d"),
    ("usage", Some("group"), "/api/v1/usage/model?since=this-month"),
    ("tools", Some("group"), "/api/v1/tools"),
    ("commands", None, "/api/v1/commands?limit=20"),
    ("log", None, "/api/v1/log?since=today"),
    ("files", Some("path"), "/api/v1/files?limit=20"),
    ("digest", None, "/api/v1/digest?since=today"),
    ("projects", None, "/api/v1/projects"),
    ("verify", None, "/api/v1/verify"),
    ("doctor", None, "/api/v1/doctor"),
];

/// Answers with the document of a command.
pub(crate) fn document(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let name = ask.path.get(2).map_or("", String::as_str);
    let Some((command, argument, _)) = COMMANDS.iter().find(|(command, ..)| *command == name)
    else {
        return Err(Problem::not_found(format!("There is no document `{name}`."))
            .hint("`/api/v1` lists them."));
    };
    let mut arguments: Vec<(String, String)> = ask.query.pairs().to_vec();
    match (ask.path.get(3), argument) {
        (Some(value), Some(argument)) => arguments.push(((*argument).to_owned(), value.clone())),
        (Some(_), None) => return Err(Problem::invalid(format!("`{command}` takes no argument."))),
        (None, _) => {}
    }
    if arguments.iter().any(|(name, value)| name == "query" && value.chars().count() > LONGEST) {
        return Err(Problem::invalid(format!("The query is longer than {LONGEST} characters.")));
    }
    // A session is named by its id or a name in the archive, never by a file.
    for (name, value) in &mut arguments {
        if name == "session" && *command == "show" {
            let found =
                ask.all().find(value).map_err(|error| Problem::not_found(error.to_string()))?;
            *value = found.id.to_string();
        }
    }
    Ok(Reply::json(ask.app.site.program.run(command, &arguments, true)?))
}

/// Lists the documents.
#[expect(clippy::unnecessary_wraps, reason = "a page")]
pub(crate) fn index(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let body = html! {
        h1 { "Documents for programs" }
        p { "Each is what the command prints with " code { "--json" } "; its options are values of the address. A program sends the token of the printed address as " code { "Authorization: Bearer TOKEN" } "." }
        table.numbers { thead { tr { th scope="col" { "Command" } th scope="col" { "Example" } } }
            tbody { @for (command, _, example) in COMMANDS { tr { th scope="row" { code { "backstory " (command) } } td { @if example.contains("ID") { code { (example) } } @else { a href=(example) { (example) } } } } } }
        }
    };
    let page = Frame { title: "API", section: "", scope: None, class: "api", script: None, body };
    Ok(frame(ask, page))
}
