//! Tests that the command that resumes a session is one that Claude Code can fulfil.

use std::collections::BTreeSet;

use backstory_core::agent::claude::Claude;
use backstory_core::agent::lifecycle::{
    ArchivedSession, FileRole, Refusal, RestorePlan, RestoreTarget,
};
use backstory_core::agent::{Agent, Lifecycle};
use backstory_core::env::Env;
use backstory_core::projects::ProjectHints;
use serde_json::{Value, json};

use crate::claude_lines::{A, B, Tree, read, reply, user, with};

const C: &str = "cccccccc-0000-4000-8000-000000000000";

fn lifecycle() -> &'static dyn Lifecycle {
    Agent::lifecycle(&Claude).unwrap()
}

fn plan(tree: &Tree, id: &str) -> Result<RestorePlan, Refusal> {
    let rows = tree.archive.files().unwrap();
    let files: Vec<_> = rows.iter().map(|row| (&row.source, &row.about)).collect();
    let facts = tree.sessions.iter().find(|session| session.session.id == id).unwrap();
    let target = RestoreTarget {
        machine: tree.archive.machine().unwrap_or_default(),
        root: Some(tree.folder.path().to_owned()),
        places: BTreeSet::from([tree.folder.path().join("projects")]),
        project: None,
        projects: &tree.archive.projects(&ProjectHints::default()).unwrap(),
    };
    let archived = ArchivedSession { facts, name: None, files: &files, attached: &[] };
    lifecycle().plan_restore(&archived, &target)
}

/// Returns the id that the command resumes.
fn resumed(plan: &RestorePlan, id: &str) -> String {
    let command = lifecycle().resume(id, plan, &Env::default()).unwrap();
    command.arguments.last().unwrap().clone()
}

fn turn(session: &str, n: u32, parent: &str) -> [Value; 2] {
    let (prompt, answer) = (format!("u{n}"), format!("r{n}"));
    let lines = [
        user(&prompt, parent, n * 60, "question"),
        reply(&answer, &prompt, n * 60 + 1, &format!("m{n}"), "answer"),
    ];
    lines.map(|line| with(line, &json!({ "sessionId": session })))
}

#[test]
fn a_session_in_the_file_of_another_is_resumed_under_that_name_or_not_at_all() {
    let cleared = [turn(A, 1, ""), turn(B, 2, ""), turn(C, 3, "")].concat();
    let tree = read(&[(&format!("{A}.jsonl"), &cleared)]);
    assert_eq!(resumed(&plan(&tree, C).unwrap(), C), A);
    assert!(matches!(plan(&tree, B), Err(Refusal::InFileOf(other)) if other == A));
}

#[test]
fn a_session_needs_the_file_that_is_named_after_it() {
    let (first, second) = (turn(A, 1, ""), turn(A, 2, "r1"));
    let tree = read(&[(&format!("{A}.jsonl"), &first), (&format!("{B}.jsonl"), &second)]);
    let plan = plan(&tree, A).unwrap();
    let main = plan.files.iter().find(|file| file.role == FileRole::Session).unwrap();
    assert!(main.path.ends_with(format!("{A}.jsonl")), "{}", main.path.display());
    assert_eq!((resumed(&plan, A).as_str(), plan.files.len()), (A, 2));
}

#[test]
fn a_session_that_was_moved_is_resumed_where_it_is() {
    let project = tempfile::tempdir().unwrap();
    let moved = project.path().canonicalize().unwrap().join("New Shop");
    std::fs::create_dir(&moved).unwrap();
    let moved = moved.to_str().unwrap();
    let name: String =
        moved.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let tree = read(&[(&format!("../{name}/{A}.jsonl"), &turn(A, 1, ""))]);
    assert_eq!(plan(&tree, A).unwrap().project.as_deref(), Some(moved));
    // If two folders have the name, the recorded one counts.
    std::fs::create_dir(moved.replace(' ', "-")).unwrap();
    assert_eq!(plan(&tree, A).unwrap().project.as_deref(), Some("/work/app"));
}
