//! Tests the completions that a shell is offered.

use std::fs;

use crate::support::{Run, TestEnv, session, small_home};

/// Asks as the script of a shell does, with the words up to the cursor, of which the last is unfinished.
fn asked(env: &TestEnv, shell: &str, words: &[&str]) -> Run {
    let args: Vec<&str> = ["--", "backstory"].iter().chain(words).copied().collect();
    let run = env.finish(env.command(&args).env("BACKSTORY_COMPLETE", shell));
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{words:?}");
    run
}

fn offered(env: &TestEnv, words: &[&str]) -> String {
    asked(env, "fish", words).stdout
}

/// Returns a synced home in which all values differ.
fn home() -> TestEnv {
    let env = small_home();
    assert_eq!(env.run(&["tag", "11111111", "urgent"]).code, Some(0));
    assert_eq!(env.run(&["name", "22222222", "sorting"]).code, Some(0));
    env
}

#[test]
fn sessions_are_offered_with_their_titles_the_newest_first() {
    let env = home();
    insta::assert_snapshot!(offered(&env, &["show", ""]), @"
    latest	why
    44444444	why · tools
    22222222	sorting · shop
    11111111	add a cart · shop
    ");
    insta::assert_snapshot!(offered(&env, &["export", "1"]), @"11111111	add a cart · shop");
    insta::assert_snapshot!(offered(&env, &["resume", "so"]), @"sorting	22222222 shop");
}

#[test]
fn every_argument_that_names_a_session_is_completed() {
    let env = home();
    for words in [
        &["show", "1111"][..],
        &["resume", "1111"],
        &["export", "1111"],
        &["events", "1111"],
        &["name", "1111"],
        &["tag", "1111"],
        &["untag", "1111"],
        &["forget", "22222222", "1111"],
        &["search", "cart", "--session", "1111"],
        &["search", "cart", "--session=1111"],
    ] {
        assert!(offered(&env, words).contains("11111111\tadd a cart"), "{words:?}");
    }
}

#[test]
fn values_of_filters_come_from_the_archive() {
    let env = home();
    insta::assert_snapshot!(offered(&env, &["sessions", "-p", ""]), @"
    shop	/code/shop
    tools
    ");
    insta::assert_snapshot!(offered(&env, &["usage", "--tag", ""]), @"urgent	1 session");
    insta::assert_snapshot!(offered(&env, &["sessions", "--agent", "c"]), @"
    claude
    codex
    ");
    insta::assert_snapshot!(offered(&env, &["sessions", "--on", "last"]), @"
    last-week	the week before
    last-month	the month before
    ");
    insta::assert_snapshot!(offered(&env, &["usage", "mo"]), @"
    monthly
    model
    ");
}

#[test]
fn restore_is_offered_deleted_sessions_only() {
    let env = home();
    assert_eq!(env.run(&["sync", "-q"]).code, Some(0));
    let file = ".gemini/tmp/shop/chats/session-2026-07-20T10-00-11111111.jsonl";
    fs::remove_file(env.home().join(file)).unwrap();
    assert_eq!(env.run(&["sync", "-q"]).code, Some(0));
    insta::assert_snapshot!(offered(&env, &["restore", ""]), @"11111111	add a cart · shop");
}

#[test]
fn a_title_is_one_line_without_escapes() {
    let env = TestEnv::new();
    let id = "55555555-0000-4000-8000-000000000005";
    let time = "2026-08-13T08:00:00.000Z";
    let log = session(id, time, time, &["a\\u001b[31m\\tred\\nthing"]);
    env.write(".gemini/tmp/x/chats/session-2026-08-13T08-00-55555555.jsonl", log);
    assert_eq!(env.run(&["sync", "-q"]).code, Some(0));
    assert_eq!(offered(&env, &["show", "5"]), "55555555\ta[31m red thing · x\n");
}

#[test]
fn completing_reads_the_archive_as_it_is_and_writes_nothing() {
    let env = home();
    let folder = env.home().join(".local/share/backstory");
    let state = || {
        let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(Result::unwrap).collect();
        files.sort_by_key(fs::DirEntry::path);
        let read = |file: &fs::DirEntry| (file.path(), fs::read(file.path()).unwrap());
        files.iter().map(read).collect::<Vec<_>>()
    };
    let before = state();
    let id = "66666666-0000-4000-8000-000000000006";
    let log = session(id, "2026-08-13T09:00:00.000Z", "2026-08-13T09:00:00.000Z", &["new"]);
    env.write(".gemini/tmp/shop/chats/session-2026-08-13T09-00-66666666.jsonl", log);
    assert!(!offered(&env, &["show", ""]).contains("66666666"));
    assert!(before == state(), "the archive was written");
}

#[test]
fn nothing_is_offered_and_nothing_said_where_there_is_no_usable_archive() {
    let env = TestEnv::new();
    assert!(!offered(&env, &["show", ""]).contains("latest"));
    assert!(fs::read_dir(env.home()).unwrap().next().is_none(), "something was written");
    env.write("archive.db", "not an archive");
    for words in [
        &["--archive", "archive.db", "show", "l"][..],
        &["--archive=archive.db", "show", "l"],
        &["--demo", "show", "l"],
        &["--from", ".", "show", "l"],
        &["--config", "archive.db", "show", "l"],
    ] {
        assert_eq!(offered(&env, words), "", "{words:?}");
    }
    assert_eq!(asked(&env, "bash", &[]).stdout, "");
}

#[test]
fn the_variable_alone_changes_nothing() {
    let env = TestEnv::new();
    let run = env.finish(env.command(&["--version"]).env("BACKSTORY_COMPLETE", "fish"));
    assert!(run.stdout.starts_with("backstory "), "{}", run.stdout);
}
