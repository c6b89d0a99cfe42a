//! Maps the tools of all agents to common names.

use crate::model::ToolName;

/// Names and aliases; label, canonical name, category.
const TABLE: &[(&[&str], &str, &str, &str)] = &[
    (&["run_shell_command", "run_command", "shell", "Shell"], "Bash", "shell_exec", "Execute"),
    (
        &["shell_command", "exec_command", "local_shell", "container.exec", "unified_exec"],
        "Bash",
        "shell_exec",
        "Execute",
    ),
    (&["write_stdin"], "BashInput", "shell_input", "Execute"),
    (&["exec"], "Script", "script", "Execute"),
    (&["list_background_processes", "read_background_output"], "Bash", "shell_exec", "Execute"),
    (&["apply_patch"], "Edit", "file_edit", "Edit"),
    (&["view_image"], "ReadImage", "file_read", "Read"),
    (&["update_plan"], "Plan", "planning", "Plan"),
    (
        &[
            "spawn_agent",
            "send_input",
            "resume_agent",
            "wait_agent",
            "close_agent",
            "followup_task",
            "send_message",
            "interrupt_agent",
            "list_agents",
        ],
        "Agent",
        "agent",
        "Agent",
    ),
    (
        &["Bash", "BashOutput", "TaskOutput", "KillShell", "KillBash", "TaskStop"],
        "Bash",
        "shell_exec",
        "Execute",
    ),
    (
        &["read_file", "ReadFile", "read_many_files", "Read", "NotebookRead"],
        "Read",
        "file_read",
        "Read",
    ),
    (&["write_file", "create_file", "WriteFile", "Write"], "Write", "file_write", "Edit"),
    (&["replace", "edit_file", "EditFile", "smart_edit"], "Edit", "file_edit", "Edit"),
    (&["Edit", "MultiEdit", "NotebookEdit"], "Edit", "file_edit", "Edit"),
    (&["delete_file"], "Delete", "file_delete", "Edit"),
    (&["list_directory", "list_dir", "ListDir", "LS"], "LS", "file_read", "Read"),
    (
        &["grep_search", "search_file_content", "search_files", "SearchText", "Grep"],
        "Grep",
        "file_search",
        "Search",
    ),
    (&["glob", "find_files", "Glob"], "Glob", "file_search", "Search"),
    (&["web_fetch", "WebFetch"], "WebFetch", "web_access", "Fetch"),
    (&["google_web_search", "web_search", "WebSearch"], "WebSearch", "web_access", "Fetch"),
    (&["save_memory"], "Memory", "memory", "Think"),
    (
        &["write_todos", "write_todos_list", "enter_plan_mode", "exit_plan_mode", "update_topic"],
        "Plan",
        "planning",
        "Plan",
    ),
    (
        &[
            "TodoWrite",
            "TaskCreate",
            "TaskUpdate",
            "TaskList",
            "TaskGet",
            "EnterPlanMode",
            "ExitPlanMode",
        ],
        "Plan",
        "planning",
        "Plan",
    ),
    (&["codebase_investigator"], "Agent", "file_search", "Search"),
    (
        &[
            "invoke_agent",
            "delegate_to_agent",
            "generalist",
            "cli_help",
            "introspection_agent",
            "browser_agent",
            "complete_task",
            "Task",
            "Agent",
            "Workflow",
            "SendMessage",
        ],
        "Agent",
        "agent",
        "Agent",
    ),
    (&["activate_skill", "Skill", "SlashCommand"], "Skill", "skill", "Other"),
    (&["ask_user", "AskUserQuestion"], "Ask", "ask_user", "Other"),
    (&["get_internal_docs"], "Docs", "docs", "Read"),
    (
        &["list_mcp_resources", "read_mcp_resource", "ListMcpResourcesTool", "ReadMcpResourceTool"],
        "MCP",
        "mcp",
        "Other",
    ),
];

/// Returns the common names of a recorded tool. `shown` is the name the agent displayed; for an MCP
/// tool of older versions, only that contains its server.
pub fn tool_name(name: &str, shown: Option<&str>) -> ToolName {
    let known = |label: &str, canonical, category, server: Option<&str>| ToolName {
        name: name.to_owned(),
        label: label.to_owned(),
        canonical,
        category,
        server: server.map(str::to_owned),
    };
    let row = TABLE.iter().find(|(names, ..)| names.contains(&name));
    if let Some((_, label, canonical, category)) = row {
        return known(label, canonical, category, None);
    }
    if name.starts_with("tracker_") {
        return known("Plan", "planning", "Plan", None);
    }
    if let Some(server) = mcp_server(name, shown) {
        return known("MCP", "mcp", "Other", Some(server).filter(|server| !server.is_empty()));
    }
    if name.starts_with("discovered_tool_") {
        return known(name, "discovered", "Other", None);
    }
    known(name, "other", "Other", None)
}

/// Returns whether a tool changes files, and may therefore show a diff.
pub(crate) fn edits(name: &str) -> bool {
    let row = TABLE.iter().find(|(names, ..)| names.contains(&name));
    row.is_some_and(|(.., category)| *category == "Edit")
}

/// Returns whether a tool runs shell commands, so that its output ends with an exit code.
pub(crate) fn runs_commands(name: &str) -> bool {
    let row = TABLE.iter().find(|(names, ..)| names.contains(&name));
    row.is_some_and(|(.., category)| *category == "Execute")
}

/// Returns the MCP server of a tool that is not one of the agents' own.
pub(crate) fn server<'a>(name: &'a str, shown: Option<&'a str>) -> Option<&'a str> {
    let may_be =
        name.starts_with("mcp_") || name.contains("__") || shown.is_some_and(|s| s.ends_with(')'));
    let is_own = || TABLE.iter().any(|(names, ..)| names.contains(&name));
    (may_be && !is_own()).then(|| mcp_server(name, shown)).flatten()
}

fn mcp_server<'a>(name: &'a str, shown: Option<&'a str>) -> Option<&'a str> {
    let told = shown.and_then(|shown| shown.strip_suffix(" MCP Server)")?.rsplit_once('('));
    if let Some((_, server)) = told {
        return Some(server);
    }
    if let Some(rest) = name.strip_prefix("mcp__") {
        return Some(rest.split_once("__").map_or(rest, |(server, _)| server));
    }
    if let Some(rest) = name.strip_prefix("mcp_") {
        return Some(rest.split_once('_').map_or(rest, |(server, _)| server));
    }
    name.split_once("__").map(|(server, _)| server).filter(|server| !server.is_empty())
}

/// Returns whether a tool runs another agent.
pub(crate) fn is_agent(name: &str) -> bool {
    matches!(tool_name(name, None).label.as_str(), "Agent") && name != "complete_task"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_servers() {
        let got = |name: &str, shown: Option<&str>| {
            let tool = tool_name(name, shown);
            (tool.label, tool.canonical, tool.category, tool.server)
        };
        let plain =
            |label: &str, canonical, category| (label.to_owned(), canonical, category, None);
        assert_eq!(got("run_shell_command", None), plain("Bash", "shell_exec", "Execute"));
        assert_eq!(got("search_file_content", None), plain("Grep", "file_search", "Search"));
        assert_eq!(got("tracker_create_task", None), plain("Plan", "planning", "Plan"));
        assert_eq!(
            got("discovered_tool_x", None),
            plain("discovered_tool_x", "discovered", "Other")
        );
        assert_eq!(got("exec_command", None), plain("Bash", "shell_exec", "Execute"));
        assert_eq!(got("apply_patch", None), plain("Edit", "file_edit", "Edit"));
        assert_eq!(got("made_up", None), plain("made_up", "other", "Other"));
        let mcp = |server: &str| ("MCP".to_owned(), "mcp", "Other", Some(server.to_owned()));
        assert_eq!(got("mcp_github_get_issue", None), mcp("github"));
        assert_eq!(got("mcp__my_server__get", None), mcp("my_server"));
        assert_eq!(got("mcp_my_server_get", Some("get (my_server MCP Server)")), mcp("my_server"));
        assert_eq!(got("github__get_issue", None), mcp("github"));
        assert_eq!(got("mcp__my_server__get_issue", None), mcp("my_server"));
        assert_eq!(
            got("firebase_login", Some("firebase_login (firebase MCP Server)")),
            mcp("firebase")
        );
    }
}
