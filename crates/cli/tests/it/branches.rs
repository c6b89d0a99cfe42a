//! Tests `usage` by git branch, the cost per prompt, and the forecast of the month.

use serde_json::{Value, json};

use crate::support::{TestEnv, session};

/// Writes a session of Claude Code with one prompt and one call of 1,000 input tokens.
fn write(env: &TestEnv, number: u32, project: &str, branch: Option<&str>, day: u32) {
    let id = format!("{number:08x}-0000-4000-8000-000000000000");
    let record = |kind: &str, second: u32, message: Value| {
        let mut record = json!({
            "type": kind, "uuid": format!("{kind}-{number}"), "sessionId": id, "version": "2.1.0",
            "cwd": format!("/code/{project}"), "message": message,
            "timestamp": format!("2026-08-{day:02}T10:00:{second:02}.000Z"),
        });
        record["parentUuid"] =
            if kind == "user" { Value::Null } else { json!(format!("user-{number}")) };
        if let Some(branch) = branch {
            record["gitBranch"] = json!(branch);
        }
        format!("{record}\n")
    };
    let reply = json!({
        "id": format!("msg_{number}"), "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{ "type": "text", "text": "done" }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 1000 * number, "output_tokens": 100 },
    });
    let log = record("user", 0, json!({ "role": "user", "content": format!("prompt {number}") }))
        + &record("assistant", 30, reply);
    env.write(&format!(".claude/projects/-code-{project}/{id}.jsonl"), log);
}

fn home() -> TestEnv {
    let env = TestEnv::new();
    write(&env, 1, "shop", Some("main"), 3);
    write(&env, 2, "shop", Some("cart"), 4);
    write(&env, 3, "shop", Some("cart"), 5);
    write(&env, 4, "site", Some("main"), 6);
    write(&env, 5, "site", None, 7);
    env
}

#[test]
fn usage_by_branch() {
    let env = home();
    assert_eq!(env.run(&["sync", "-q"]).code, Some(0));
    insta::assert_snapshot!(env.run(&["usage", "branch"]).show(), @"
    exit code 0
    --- stdout
      BRANCH       CALLS   INPUT  CACHED  OUTPUT  THOUGHTS   TOTAL     COST
      shop:cart        2   5,000       0     200         0   5,200    $0.02
      (no branch)      1   5,000       0     100         0   5,100    $0.02
      site:main        1   4,000       0     100         0   4,100    $0.01
      shop:main        1   1,000       0     100         0   1,100  $0.0045
      total            5  15,000       0     500         0  15,500    $0.05
    --- stderr
    This month: $0.05; at this pace, $0.12 by its end.
    5 prompts: $0.01 each on average, median $0.01.
    0 % of input came from the cache; 0 % of output was thoughts.
    Cost is an estimate: list prices of 2026-11-15, days in UTC.
    Not in the files, and not counted: titles, compactions, web searches and suggestions (Claude Code).
    ");
    let rows = env.json(&["usage", "branch", "--breakdown", "--json"]);
    let rows = rows["rows"].as_array().unwrap();
    let cart = rows.iter().find(|row| row["key"] == "shop:cart").unwrap();
    assert_eq!((&cart["sessions"], &cart["models"][0]["calls"]), (&2.into(), &2.into()));
}

#[test]
fn a_filter_for_branches() {
    let env = home();
    let ids = |args: &[&str]| {
        let sessions = env.json(&[&["sessions", "--json"], args].concat());
        let ids = sessions["sessions"].as_array().unwrap().iter();
        let mut ids: Vec<String> =
            ids.map(|s| s["id"].as_str().unwrap()[7..8].to_owned()).collect();
        ids.sort();
        ids.concat()
    };
    assert_eq!(ids(&["--branch", "cart"]), "23");
    assert_eq!(ids(&["--branch", "main", "-p", "site"]), "4");
    assert_eq!(ids(&["--branch", "main", "--branch", "cart"]), "1234");
    let usage = env.json(&["usage", "--branch", "cart", "--json"]);
    assert_eq!(usage["total"]["input"], 5000);
    assert_eq!(env.run(&["sessions", "--branch", "nosuch"]).code, Some(1));
}

#[test]
fn the_month_is_forecast_without_a_budget() {
    let env = home();
    let said = |args: &[&str]| env.run(args).stderr;
    // 15 input and 0.5 output thousands of tokens, at $3 and $15 a million, in 13.7 of 31 days.
    assert!(said(&["usage"]).contains("This month: $0.05; at this pace, $0.12 by its end."));
    let month =
        &env.json(&["usage", "--since", "2026-08-05", "--branch", "cart", "--json"])["month"];
    assert_eq!((&month["spent_usd"], &month["at_least"]), (&"0.018000".into(), &false.into()));
    // Periods that are over have none, nor do budgets, which have their own.
    for args in [&["usage", "--until", "2026-08-05"][..], &["usage", "--budget", "5/month"]] {
        assert!(!said(args).contains("This month"), "{args:?}");
    }
    // Neither has the first day of a month.
    let mut command = env.command(&["usage"]);
    let run = env.finish(command.env("BACKSTORY_NOW", "2026-09-01T12:00:00Z"));
    assert!(!run.stderr.contains("This month"), "{}", run.stderr);
}

#[test]
fn the_cost_of_prompts_and_calls() {
    let env = home();
    let prompts =
        |args: &[&str]| env.json(&[&["usage"], args, &["--json"]].concat())["prompts"].take();
    assert_eq!(
        prompts(&["prompt"]),
        json!({ "count": 5, "mean_usd": "0.010500", "median_usd": "0.010500" })
    );
    assert_eq!(prompts(&["session", "--branch", "cart"])["count"], 2);
    assert_eq!(prompts(&["daily"]), Value::Null);
    let models = env.run(&["usage", "model"]).stdout;
    assert!(models.contains("PER CALL") && models.contains("  $0.01\n"), "{models}");
}

#[test]
fn an_agent_without_branches_is_under_a_label() {
    let env = TestEnv::new();
    let time = "2026-08-13T08:00:00.000Z";
    let log = session("55555555-0000-4000-8000-000000000005", time, time, &["x"]).replace(
        r#""model":"gemini-2.5-pro""#,
        r#""model":"gemini-2.5-pro","tokens":{"input":10,"output":5,"cached":0,"thoughts":0,"tool":0,"total":15}"#,
    );
    env.write(".gemini/tmp/x/chats/session-2026-08-13T08-00-55555555.jsonl", log);
    let rows = env.json(&["usage", "branch", "--json"]);
    assert_eq!(rows["rows"][0]["key"], "(no branch)");
}
