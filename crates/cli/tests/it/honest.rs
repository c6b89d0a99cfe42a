//! Tests messages: about loss, about files that cannot be read, and about typed text.

use crate::support::{TestEnv, session, small_home};

/// Returns a home with one session that Gemini CLI will delete at its next start.
fn old() -> TestEnv {
    let env = TestEnv::new();
    let (id, at) = ("88888888-0000-4000-8000-000000000008", "2026-06-01T10:00:00.000Z");
    env.write(".gemini/tmp/p/.project_root", "/code/p");
    let path = ".gemini/tmp/p/chats/session-2026-06-01T10-00-88888888.jsonl";
    env.write(path, session(id, at, at, &["hello"]));
    env
}

#[test]
fn what_is_captured_will_not_be_lost() {
    let env = old();
    let first = env.run(&[]);
    assert!(first.stdout.contains("1 session will be deleted by Gemini CLI"), "{}", first.stdout);
    let second = env.run(&[]);
    assert!(!second.stdout.contains("! "), "{}", second.stdout);
    assert!(second.stdout.contains("1 session that the archive keeps"), "{}", second.stdout);
    let doctor = env.run(&["doctor"]);
    assert!(doctor.stdout.contains("All of it is in the archive"), "{}", doctor.stdout);
    assert_eq!(env.json(&["doctor", "--json"])["deletions"][0]["kept"], true);
}

#[test]
fn the_first_run_says_what_it_keeps_and_where() {
    let env = old();
    let said = |run: &crate::support::Run| run.stderr.matches("Created `").count();
    let first = env.run(&["sessions"]);
    assert_eq!(said(&first), 1, "{}", first.stderr);
    assert!(first.stderr.contains("archive.db`, which keeps a private copy"), "{}", first.stderr);
    assert_eq!(said(&env.run(&["sessions"])), 0);
    assert_eq!(said(&TestEnv::new().run(&["--demo", "tag", "latest", "x"])), 0);
}

/// Imitates a folder without permissions, which a test that runs as root cannot have.
#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_read_is_not_empty() {
    let env = TestEnv::new();
    std::fs::create_dir(env.home().join(".gemini")).unwrap();
    std::os::unix::fs::symlink("tmp", env.home().join(".gemini/tmp")).unwrap();
    let overview = env.run(&[]).stdout;
    assert!(overview.contains("home, cannot be read"), "{overview}");
    let sessions = env.run(&["sessions"]);
    assert!(sessions.stderr.contains(".gemini`: cannot be read"), "{}", sessions.stderr);
    let doctor = env.run(&["doctor"]).stdout;
    assert!(doctor.contains("Problems: 1"), "{doctor}");
    assert!(doctor.contains("not all of it can be read"), "{doctor}");
}

/// A project that cannot be read is named, and does not make its place unreadable.
#[cfg(unix)]
#[test]
fn one_folder_that_cannot_be_read_is_named() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.home().join(".gemini/tmp")).unwrap();
    std::os::unix::fs::symlink("shop", env.home().join(".gemini/tmp/shop")).unwrap();
    let overview = env.run(&[]).stdout;
    assert!(overview.contains("home, not all of it can be read"), "{overview}");
    assert!(overview.contains("! ~/.gemini/tmp/shop: "), "{overview}");
    let sessions = env.run(&["sessions"]).stderr;
    assert!(sessions.contains(".gemini`: not all of it can be read"), "{sessions}");
    assert!(sessions.contains("hint: `~/.gemini/tmp/shop`: "), "{sessions}");

    let env = small_home();
    std::os::unix::fs::symlink("till", env.home().join(".gemini/tmp/till")).unwrap();
    let overview = env.run(&[]).stdout;
    assert!(overview.contains("! `~/.gemini/tmp/till` cannot be read ("), "{overview}");
}

/// Errors of the archive name it as all other output does.
#[test]
fn an_archive_has_one_spelling() {
    let env = TestEnv::new();
    env.write("archive.db", "not a database, but long enough to be taken for one".repeat(50));
    let path = env.home().join("archive.db");
    let path = path.to_str().unwrap();
    for args in [&["sessions", "--archive", path][..], &["archive", "info", "--archive", path]] {
        let said = env.run(args).stderr;
        assert!(said.contains("`~/archive.db`") && !said.contains("[TEMP]"), "{said}");
    }
}

/// Whatever is typed, no control character, mark of direction or hidden character comes back.
#[test]
fn mistakes_are_repeated_without_what_could_lie() {
    let env = small_home();
    let typed = "a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}\u{200b}\u{feff}\rb";
    let mistakes: [&[&str]; 7] = [
        &[typed],
        &["usage", typed],
        &["show", typed],
        &["sessions", "--since", typed],
        &["sessions", "--color", typed],
        &["--color", "always", "sessions", "--format", typed],
        &["usage", "--budget", typed],
    ];
    for args in mistakes {
        let run = env.run(args);
        let shown = run.stderr.replace("\u{1b}[", "");
        let is_bad = |c: &char| {
            (c.is_control() && *c != '\n')
                || matches!(*c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{FEFF}')
        };
        assert_eq!(shown.chars().find(is_bad), None, "{args:?}: {:?}", run.stderr);
        assert!(run.stderr.contains("error:"), "{args:?}");
    }
}

#[test]
fn every_command_takes_the_demo() {
    let env = TestEnv::new();
    let commands: [&[&str]; 8] = [
        &["sync"],
        &["name", "latest", "mine"],
        &["tag", "latest", "x"],
        &["untag", "latest", "x"],
        &["forget", "latest", "--yes"],
        &["unforget", "--list"],
        &["archive", "info"],
        &["archive", "check"],
    ];
    for args in commands {
        let run = env.run(&[args, &["--demo"]].concat());
        assert!(matches!(run.code, Some(0 | 1)), "{args:?}: {}", run.stderr);
        assert!(!run.stderr.contains("error"), "{args:?}: {}", run.stderr);
    }
    // Nothing is left.
    assert_eq!(std::fs::read_dir(env.home()).unwrap().count(), 0);
}

#[test]
fn names_mean_one_session() {
    let env = small_home();
    assert_eq!(env.run(&["name", "22222222", "mine"]).code, Some(0));
    for (session, name) in [("11111111", "mine"), ("11111111", "latest"), ("11111111", "@2")] {
        let run = env.run(&["name", session, name]);
        assert_eq!(run.code, Some(2), "{name}: {}", run.stderr);
    }
    assert_eq!(env.run(&["name", "22222222", "mine"]).code, Some(0), "its own name again");
    let row = env.json(&["tag", "mine", "x", "y", "--json"]);
    assert_eq!(row["schema"], "backstory.annotations/1");
    assert_eq!(row["name"], "mine");
    assert_eq!(row["tags"], serde_json::json!(["x", "y"]));
}

#[test]
fn forgetting_has_documents_too() {
    let env = small_home();
    let dry = env.json(&["forget", "11111111", "--dry-run", "--json"]);
    assert_eq!(dry["schema"], "backstory.forget/1");
    assert_eq!(dry["dry_run"], true);
    assert!(dry["sessions"][0]["id"].as_str().unwrap().starts_with("11111111"));
    let empty = env.run(&["unforget", "--list"]);
    assert_eq!((empty.code, empty.stderr.as_str()), (Some(1), "No sessions were forgotten.\n"));
    let done = env.json(&["forget", "11111111", "--yes", "--json"]);
    assert_eq!(done["dry_run"], false);
    let list = env.json(&["unforget", "--list", "--json"]);
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    let back = env.json(&["unforget", "11111111", "--json"]);
    assert_eq!(back["sessions"], list["sessions"]);
    assert_eq!(env.run(&["unforget", "11111111"]).code, Some(1));
}

#[test]
fn an_empty_archive_has_no_shares() {
    let env = TestEnv::new();
    env.run(&["sync"]);
    let info = env.run(&["archive", "info"]).stdout;
    assert!(!info.contains('%') && !info.contains("oldest from"), "{info}");
    assert!(info.lines().all(|line| line == line.trim_end()), "{info}");
}

#[test]
fn nothing_is_said_of_what_is_not_there() {
    let env = TestEnv::new();
    // A damaged document has neither a conversation nor a call.
    let path = ".gemini/tmp/p/chats/session-2026-08-01T00-00-99999999.json";
    env.write(path, r#"{"sessionId": "x", "messages": ["#);
    let overview = env.run(&[]).stdout;
    assert!(!overview.contains("@1") && !overview.contains("Sat 08 Aug"), "{overview}");
    let usage = env.run(&["usage"]);
    assert_eq!(usage.code, Some(1));
    assert!(!usage.stderr.contains("without filters"), "{}", usage.stderr);
    let rows = env.json(&["sessions", "--all", "--json"])["sessions"].clone();
    for row in rows.as_array().unwrap() {
        let id = row["id"].as_str().unwrap();
        assert_eq!(env.run(&["show", id]).code, Some(0), "{id}");
    }
    let table = env.run(&["sessions", "--all"]).stdout;
    for row in rows.as_array().unwrap() {
        assert!(table.contains(row["id"].as_str().unwrap()), "{table}");
    }
}

#[test]
fn tables_end_where_their_text_does() {
    let env = TestEnv::new();
    for args in [&["--demo"][..], &["--demo", "sessions"], &["--demo", "usage"]] {
        let plain = env.run(args).stdout;
        assert!(plain.lines().all(|line| line == line.trim_end()), "{args:?}: {plain}");
        let args = [args, &["--color", "always"]].concat();
        let run = env.run(&args);
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains("m\u{1b}[0m"), "{args:?}: {text:?}");
        }
    }
}

#[test]
fn a_document_is_a_document_whatever_the_format() {
    let env = TestEnv::new();
    let got = env.json(&["--demo", "sessions", "--json", "--format", "csv"]);
    assert_eq!(got["schema"], "backstory.sessions/1");
}
