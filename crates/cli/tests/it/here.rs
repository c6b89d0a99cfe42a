//! Tests that commands consider the folder that they run in.

use std::fs;

use crate::support::{Run, TestEnv, session};

const SHOP: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const WEB: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const OLD: &str = "cccccccc-0000-4000-8000-000000000003";

/// Returns a home with the projects `shop`, `shop/web` and `shop-old`; the last is the newest.
fn home() -> TestEnv {
    let env = TestEnv::new();
    for (n, (id, path)) in
        [(SHOP, "shop"), (WEB, "shop/web"), (OLD, "shop-old")].into_iter().enumerate()
    {
        let folder = env.home().join("code").join(path);
        fs::create_dir_all(folder.join("src")).unwrap();
        let at = format!("2026-08-1{n}T10:00:00.000Z");
        let dir = format!(".gemini/tmp/p{n}");
        let folder = folder.canonicalize().unwrap();
        env.write(&format!("{dir}/.project_root"), folder.to_str().unwrap());
        let log = session(id, &at, &at, &[&format!("work in {path}")]);
        env.write(&format!("{dir}/chats/session-2026-08-1{n}T10-00-{}.jsonl", &id[..8]), log);
    }
    env
}

fn run_in(env: &TestEnv, folder: &str, args: &[&str]) -> Run {
    env.finish(env.command(args).current_dir(env.home().join(folder)))
}

fn ids(env: &TestEnv, folder: &str, args: &[&str]) -> Vec<String> {
    let run = run_in(env, folder, args);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let sessions = document["sessions"].as_array().unwrap();
    sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_dot_is_the_project_of_this_folder() {
    let env = home();
    let listed = |folder, word| ids(&env, folder, &["sessions", "--json", "-p", word]);
    // A project includes those below it, but not one whose name only begins alike.
    assert_eq!(listed("code/shop", "."), [WEB, SHOP]);
    assert_eq!(listed("code/shop/src", "."), [WEB, SHOP]);
    assert_eq!(listed("code/shop/web/src", "."), [WEB]);
    assert_eq!(listed("code/shop/web", ".."), [WEB, SHOP]);
    assert_eq!(listed("code", "./shop-old"), [OLD]);
    assert_eq!(listed("code", "."), [OLD, WEB, SHOP], "a folder of projects");
    let run = run_in(&env, ".gemini", &["sessions", "-p", "."]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("no session ran in `"), "{}", run.stderr);
}

#[test]
fn latest_prefers_the_project_of_this_folder() {
    let env = home();
    let shown = |folder, args: &[&str]| run_in(&env, folder, args).stdout;
    assert!(shown("code/shop/src", &["show", "latest"]).contains(SHOP));
    assert!(shown("code/shop/web", &["show"]).contains(WEB));
    assert!(shown("", &["show", "latest"]).contains(OLD), "elsewhere the newest of all");
    assert!(shown("code/shop", &["show", "@1"]).contains(OLD), "numbers count in the whole list");
    assert!(shown("code/shop", &["resume", "--print"]).contains(&format!("--resume {SHOP}")));
}

#[test]
fn a_misspelt_project_gets_a_suggestion() {
    let env = home();
    for command in ["sessions", "tools", "commands", "prompts", "usage", "projects"] {
        let run = env.run(&[command, "-p", "shpo"]);
        assert_eq!(run.code, Some(1), "{command}");
        let want = "no project is called `shpo`\n  hint: did you mean `shop` or `shop-old`?";
        assert!(run.stderr.contains(want), "{command}: {}", run.stderr);
    }
    let run = env.run(&["search", "work", "-p", "nosuch"]);
    assert!(run.stderr.contains("no project is called `nosuch`"), "{}", run.stderr);
    let run = env.run(&["sessions", "-p", "nosuch", "--json"]);
    assert!(run.stdout.contains("\"sessions\": []"), "programs get an empty document");
}

#[test]
fn one_day_takes_one_flag() {
    let env = home();
    let listed = |args: &[&str]| ids(&env, "", &[&["sessions", "--json"], args].concat());
    // The clock says Friday, 14 August.
    assert_eq!(listed(&["--on", "monday"]), [SHOP]);
    assert_eq!(listed(&["--on", "2026-08-11"]), [WEB]);
    assert_eq!(listed(&["--since", "last 3 days"]), [OLD]);
    let run = env.run(&["sessions", "--on", "3d"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("`--on`: `3d` is a moment, not a period"), "{}", run.stderr);
    assert_eq!(env.run(&["sessions", "--on", "monday", "--since", "3d"]).code, Some(2));
}

#[test]
fn a_day_is_its_latest_session() {
    let env = home();
    let shown = |folder, word| run_in(&env, folder, &["show", word]).stdout;
    assert!(shown("code", "2026-08-11").contains(WEB));
    assert!(shown("code", "wednesday").contains(OLD), "2026-08-12 was a Wednesday");
    // Like `latest`, it is about the project of this folder if that has one.
    assert!(shown("code", "2026-08").contains(OLD));
    assert!(shown("code/shop/src", "2026-08").contains(SHOP));
    let none = run_in(&env, "code", &["show", "yesterday"]);
    assert_eq!(none.code, Some(1));
    assert!(none.stderr.starts_with("error: no session is called `yesterday`"), "{}", none.stderr);
}
