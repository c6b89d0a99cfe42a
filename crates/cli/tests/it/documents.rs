//! Tests `--json`: every command that answers prints one document that names its schema.

use crate::support::{TestEnv, small_home};

/// Returns the schema of the document that a command prints, which must be its whole output.
fn schema(env: &TestEnv, args: &[&str]) -> String {
    let run = env.run(&[args, &["--json"]].concat());
    assert!(matches!(run.code, Some(0 | 1)), "{args:?}: {}", run.stderr);
    let document: serde_json::Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"));
    document["schema"].as_str().unwrap().to_owned()
}

#[test]
fn every_command_that_answers_prints_a_document() {
    let env = small_home();
    let copy = ["archive", "backup", "copy.db"];
    for (args, want) in [
        (&[][..], "overview"),
        (&["sessions"], "sessions"),
        (&["sessions", "--format", "csv"], "sessions"),
        (&["sessions", "-p", "nosuch"], "sessions"),
        (&["show", "11111111"], "session"),
        (&["search", "cart"], "search"),
        (&["search", "nosuchword"], "search"),
        (&["prompts"], "prompts"),
        (&["usage"], "usage"),
        (&["usage", "branch"], "usage"),
        (&["usage", "limits"], "limits"),
        (&["tools"], "tools"),
        (&["commands"], "commands"),
        (&["log"], "log"),
        (&["files"], "files"),
        (&["digest"], "digest"),
        (&["projects"], "projects"),
        (&["projects", "link", "abcd1234", "/code/x"], "project-link"),
        (&["secrets"], "secrets"),
        (&["verify"], "verify"),
        (&["pricing"], "pricing"),
        (&["doctor"], "doctor"),
        (&["redact", "--rules"], "redact"),
        (&["export", "11111111", "--format", "json"], "session"),
        (&["export", "11111111", "--format", "md", "-o", "one.md"], "export"),
        (&["export", "--all", "--format", "html", "-o", "pages"], "export"),
        (&["restore", "11111111", "--dry-run"], "restore"),
        (&["sync"], "sync"),
        (&["name", "11111111", "the cart"], "annotations"),
        (&["tag", "11111111", "old"], "annotations"),
        (&["untag", "11111111", "old"], "annotations"),
        (&["archive", "info"], "archive"),
        (&["archive", "check"], "archive-check"),
        (&copy, "archive-backup"),
        (&["archive", "merge", "copy.db"], "archive-merge"),
        (&["forget", "11111111", "--dry-run"], "forget"),
        (&["forget", "11111111", "--yes"], "forget"),
        (&["unforget", "--list"], "unforget"),
        (&["unforget", "11111111"], "unforget"),
    ] {
        assert_eq!(schema(&env, args), format!("backstory.{want}/1"), "{args:?}");
    }
}

#[test]
fn what_an_export_did() {
    let env = small_home();
    let export = ["export", "--all", "--format", "markdown", "-o", "out", "--json"];
    let first = env.json(&export);
    assert_eq!(
        first,
        serde_json::json!({
            "schema": "backstory.export/1", "output": "out", "written": 3, "unchanged": 0, "left": 0
        })
    );
    assert_eq!(env.json(&export)["unchanged"], 3);
}
