//! `search`, on the demo's tree and on small homes.

use crate::support::{SHOP, TestEnv, small_home};

fn demo(args: &[&str]) -> serde_json::Value {
    let args: Vec<&str> = [&["--demo", "search", "--json"], args].concat();
    TestEnv::new().json(&args)
}

fn total(args: &[&str]) -> u64 {
    demo(args)["total"].as_u64().unwrap()
}

#[test]
fn for_people() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["--demo", "search", "berth calendar"]).show(), @"");
    insta::assert_snapshot!(env.run(&["--demo", "search", "tokyo where:prompt", "-C", "1"]).show(), @"");
}

#[test]
fn for_programs() {
    let mut got = demo(&["\"back-to-back\"", "--limit", "1"]);
    got["took_ms"] = 0.into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&got).unwrap(), @"");
}

#[test]
fn conditions() {
    let all = total(&["tide"]);
    assert!(all > 0);
    let user = total(&["tide role:user"]);
    let others = total(&["tide -role:user"]);
    assert!(user > 0 && others > 0 && user + others <= all, "{user} + {others} of {all}");
    assert_eq!(total(&["tide", "--role", "user"]), user, "the same as a flag");
    assert_eq!(total(&["tide project:tidepool"]), total(&["tide", "--project", "tidepool"]));
    assert!(total(&["tool:Bash"]) > 0, "without a word");
    assert_eq!(total(&["tool:Bash"]), total(&["tool:run_shell_command"]));
    assert!(total(&["tide kind:prompt"]) <= user);
}

#[test]
fn nothing_is_an_answer() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["search", "cart zyzzyva"]).show(), @"");
    insta::assert_snapshot!(env.run(&["search", "cart till"]).show(), @"");
    insta::assert_snapshot!(env.run(&["search", "cart fate:rewound"]).show(), @"");
    let run = env.run(&["search", "zyzzyva", "--json"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("\"hits\": []"), "{}", run.stdout);
}

#[test]
fn a_bad_query_says_where() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["search", "add \"a cart"]).show(), @"");
    insta::assert_snapshot!(env.run(&["search", "日本 role:chef"]).show(), @"");
    insta::assert_snapshot!(env.run(&["search", "???"]).show(), @"");
    insta::assert_snapshot!(env.run(&["search", "--regex", "a("]).show(), @"");
}

#[test]
fn characters_and_patterns() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["search", "--exact", "a ca"]).show(), @"");
    assert_eq!(env.json(&["search", "--regex", "^(add|sort) ", "--json"])["total"], 2);
    assert_eq!(env.run(&["search", "--exact", "A CART"]).code, Some(1), "case counts");
    assert_eq!(env.json(&["search", "--regex", "(?i)A CART", "--json"])["total"], 1);
}

/// The archive has it: what is gone is found like the rest.
#[test]
fn gone_sessions_are_found() {
    let env = small_home();
    assert_eq!(env.run(&["sync", "-q"]).code, Some(0));
    std::fs::remove_dir_all(env.home().join(".gemini")).unwrap();
    let got = env.json(&["search", "cart", "--json"]);
    assert_eq!((&got["total"], &got["hits"][0]["session"]), (&1.into(), &SHOP.into()));
    assert_eq!(got["hits"][0]["snippet"][1], serde_json::json!(["cart", true]));
}

#[test]
fn sessions_and_show_take_words_too() {
    let env = small_home();
    let got = env.json(&["sessions", "--grep", "till", "--json"]);
    assert_eq!(got["sessions"][0]["id"], SHOP);
    assert_eq!(got["sessions"].as_array().unwrap().len(), 1);
    insta::assert_snapshot!(env.run(&["show", "1111", "--grep", "till"]).show(), @"");
    assert_eq!(env.run(&["show", "1111", "--grep", "zyzzyva"]).code, Some(1));
}

#[test]
fn names_are_found_at_once() {
    let env = small_home();
    assert_eq!(env.run(&["search", "cart", "-q"]).code, Some(0));
    env.run(&["name", "1111", "The lighthouse"]);
    let got = env.json(&["search", "lighthouse", "--json"]);
    assert_eq!(
        (&got["hits"][0]["where"], &got["hits"][0]["message"]),
        (&"name".into(), &serde_json::Value::Null)
    );
    env.run(&["forget", "1111", "--yes"]);
    assert_eq!(env.run(&["search", "lighthouse OR cart"]).code, Some(1));
}

#[test]
fn everything_that_was_typed() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["--demo", "prompts", "--project", "harbor", "--long"]).show(), @"");
    insta::assert_snapshot!(env.run(&["--demo", "prompts", "--grep", "tide -feed"]).show(), @"");
    let got = env.json(&["--demo", "prompts", "--json"]);
    let rows = got["prompts"].as_array().unwrap();
    for from in ["session", "logs", "shell_history"] {
        assert!(rows.iter().any(|row| row["from"] == from), "{from}");
    }
}
