//! Tests that nothing leaves that must not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use backstory_core::redact::{Redactor, Rules};
use serde_json::{Value, json};

use crate::support::{Station, testdata};

/// Returns all texts of rows.
fn texts(rows: &[Value]) -> Vec<String> {
    let values = rows.iter().filter_map(Value::as_object).flat_map(|row| row.values());
    values.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Writes a session of a project whose every field is `text`.
fn write_session(home: &Path, number: usize, project: &Path, text: &str) {
    let chats = home.join(format!("tmp/p{number}/chats"));
    fs::create_dir_all(&chats).unwrap();
    fs::write(home.join(format!("tmp/p{number}/.project_root")), project.to_str().unwrap())
        .unwrap();
    let id = format!("00000000-0000-4000-8000-{number:012}");
    let head = json!({
        "sessionId": id, "projectHash": "h", "startTime": "2026-01-01T00:00:00Z",
        "lastUpdated": "2026-01-01T00:00:00Z", "summary": text,
    });
    let prompt = json!({
        "id": format!("u{number}"), "timestamp": "2026-01-01T00:00:01Z", "type": "user", "content": text,
    });
    let reply = json!({
        "id": format!("m{number}"), "timestamp": "2026-01-01T00:00:02Z", "type": "gemini", "content": text,
        "model": text, "tokens": { "input": 1, "output": 1, "cached": 0, "total": 2 },
        "toolCalls": [{ "id": text, "name": text, "args": {}, "status": "success" }],
    });
    let lines = [head, prompt, reply, json!({ "type": text, "strange": text })];
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let file = chats.join(format!("session-2026-01-01T00-00-{}.jsonl", &id[28..]));
    fs::write(file, lines.join("\n") + "\n").unwrap();
}

#[test]
fn secrets_leave_in_no_table() {
    let home = tempfile::tempdir().unwrap();
    let rules = Rules::embedded().unwrap();
    let mut secrets = Vec::new();
    let mut all = Vec::new();
    for name in ["set", "fourth", "fifth", "sixth"] {
        let set = fs::read_to_string(testdata(&format!("redaction/{name}.jsonl"))).unwrap();
        // A part of each set is enough: every text is scanned many times.
        for line in set.lines().step_by(4) {
            let row: Value = serde_json::from_str(line).unwrap();
            let text = row["text"].as_str().unwrap();
            let mut redactor = Redactor::new(&rules);
            redactor.text(text);
            redactor.learn();
            let clean = redactor.text(text).into_owned();
            let hidden = row["secrets"].as_array().unwrap().iter().filter_map(Value::as_str);
            let hidden: Vec<String> =
                hidden.filter(|secret| !clean.contains(secret)).map(str::to_owned).collect();
            if !hidden.is_empty() {
                write_session(home.path(), all.len(), &home.path().join("p"), text);
                all.push(text.to_owned());
                secrets.push(hidden);
            }
        }
    }
    // The company has prices for these models, so that their names are in that table too.
    let prices: Vec<Value> =
        all.iter().map(|text| json!({ "model": text, "input": 1, "output": 2 })).collect();
    let file = home.path().join("prices.json");
    fs::write(&file, Value::from(prices).to_string()).unwrap();
    let policy = format!("text = true\nprices = '{}'", file.display());
    let station = Station::new(home.path(), &policy);
    let rows = station.dry_run("lake");
    let names = |table: &str| -> BTreeSet<&str> {
        let rows = rows.iter().filter(|row| row["table"] == table);
        rows.filter_map(|row| row["model"].as_str()).collect()
    };
    assert_eq!(names("prices"), names("calls"));
    let of = |session: usize| format!("00000000-0000-4000-8000-{session:012}");
    let mut models = 0;
    for (n, hidden) in secrets.iter().enumerate() {
        let id = of(n);
        let own: Vec<Value> =
            rows.iter().filter(|row| row["session"] == id.as_str()).cloned().collect();
        assert!(own.len() >= 4, "{own:?}");
        models += own.iter().filter(|row| row["table"] == "calls").count();
        for text in texts(&own) {
            assert!(
                !hidden.iter().any(|secret| text.contains(secret.as_str())),
                "{}: {text}",
                all[n]
            );
        }
    }
    assert_eq!(models, secrets.len());
    assert!(secrets.len() > 250, "{}", secrets.len());

    // Without text, no words leave at all.
    station.set_policy("");
    let rows = station.dry_run("lake");
    assert!(!rows.iter().any(|row| row["table"] == "texts" || !row["title"].is_null()));
}

#[test]
fn excluded_projects_and_paths_do_not_leave() {
    let home = tempfile::tempdir().unwrap();
    let projects = tempfile::tempdir().unwrap();
    for (n, name) in ["open", "hidden"].iter().enumerate() {
        let folder = projects.path().join(name);
        fs::create_dir_all(folder.join(".git")).unwrap();
        let config =
            format!("[remote \"origin\"]\nurl = https://ada:pw@git.acme.example/shop/{name}.git\n");
        fs::write(folder.join(".git/config"), config).unwrap();
        write_session(home.path(), n, &folder, &format!("words of {name}"));
    }
    write_session(home.path(), 2, &projects.path().join("plain"), "words of plain");
    let policy = "text = true\n[projects]\nexclude = ['git.acme.example/shop/hidden']\n";
    let station = Station::new(home.path(), policy);
    let rows = station.dry_run("lake");
    let texts = texts(&rows);
    assert!(rows.iter().any(|row| row["project"] == "git.acme.example/shop/open"), "{texts:?}");
    assert!(texts.iter().any(|text| text.starts_with("plain~")), "{texts:?}");
    assert!(rows.iter().any(|row| row["table"] == "faults"), "{texts:?}");
    for text in &texts {
        assert!(!text.contains("hidden"), "{text}");
        for folder in [home.path(), projects.path()] {
            assert!(!text.contains(folder.to_str().unwrap()), "{text}");
        }
    }

    // A project that is excluded later is removed.
    station.export();
    station.set_policy("[projects]\ninclude = ['git.acme.example/shop/hidden']\n");
    station.export();
    let projects: Vec<Value> =
        station.exported().iter().map(|row| row["project"].clone()).collect();
    assert!(projects.iter().all(|name| name.is_null() || *name == "git.acme.example/shop/hidden"));
    assert!(projects.iter().any(|name| *name == "git.acme.example/shop/hidden"));
}

/// A subagent may work in another project than the session that started it.
#[test]
fn the_branch_of_an_excluded_project_does_not_leave_with_another() {
    let home = tempfile::tempdir().unwrap();
    let projects = tempfile::tempdir().unwrap();
    let id = "00000000-0000-4000-8000-000000000001";
    let record = |folder: &str, agent: Value| {
        let cwd = projects.path().join(folder);
        let branch = if folder == "open" { "" } else { "merger-with-initech" };
        json!({
            "type": "user", "uuid": format!("u-{folder}"), "parentUuid": null, "sessionId": id, "cwd": cwd,
            "timestamp": "2026-01-01T00:00:01Z", "gitBranch": branch, "isSidechain": !agent.is_null(),
            "agentId": agent, "version": "2.1.0", "message": { "role": "user", "content": "hi" },
        })
    };
    let folder = home.path().join("projects/-p");
    fs::create_dir_all(folder.join(id).join("subagents")).unwrap();
    let write = |file: &str, record: &Value| {
        fs::write(folder.join(file), format!("{record}\n")).unwrap();
    };
    write(&format!("{id}.jsonl"), &record("hidden", Value::Null));
    write(&format!("{id}/subagents/agent-a1b2c3d.jsonl"), &record("open", "a1b2c3d".into()));
    let station = Station::new(home.path(), "");
    let branches = |policy: &str| -> Vec<Value> {
        station.set_policy(policy);
        let rows = station.dry_run("lake");
        let sessions = rows.iter().filter(|row| row["table"] == "sessions");
        sessions.map(|row| row["branch"].clone()).collect()
    };
    assert_eq!(branches(""), ["merger-with-initech", "merger-with-initech"]);
    assert_eq!(branches("[projects]\nexclude = ['*/hidden']\n"), [Value::Null]);
}

#[test]
fn nothing_leaves_without_a_policy_or_a_key() {
    let station = Station::new(&testdata("codex"), "");
    let lake = station.at("lake");
    let lake = lake.to_str().unwrap();
    fs::remove_file(station.at("policy.toml")).unwrap();
    let output = station.run(&["export", lake]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing leaves without a policy"));
    fs::write(station.at("policy.toml"), "organisation = 'a'\nperson = 'b'\n").unwrap();
    assert_eq!(station.run(&["export", lake]).status.code(), Some(2));
    assert!(!station.at("lake").exists());
}
