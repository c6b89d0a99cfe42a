//! Tests a home with the sessions of several agents: reports add up, and every list can be limited to one agent.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::TestEnv;

const AGENTS: [&str; 3] = ["claude", "codex", "gemini"];

/// Returns a home with sessions of all agents.
fn home() -> TestEnv {
    let env = TestEnv::new();
    for tree in [
        "claude/2.1.325/resume/claude",
        "codex/0.125.0/forks/codex",
        "gemini/0.61.0/interactive/gemini",
    ] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(tree);
        let name = from.file_name().unwrap().to_str().unwrap().to_owned();
        copy(&from, &env.home().join(format!(".{name}")));
    }
    env
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, to).unwrap();
        }
    }
}

const FIELDS: [&str; 10] = [
    "calls",
    "input",
    "cached",
    "cache_write_5m",
    "cache_write_1h",
    "output",
    "thoughts",
    "tool",
    "other",
    "total",
];

fn numbers(row: &Value) -> [u64; 10] {
    FIELDS.map(|field| row[field].as_u64().unwrap())
}

fn sum<'a>(rows: impl Iterator<Item = &'a Value>) -> [u64; 10] {
    rows.map(numbers).fold([0; 10], |sum, row| std::array::from_fn(|n| sum[n] + row[n]))
}

fn rows(answer: &Value) -> impl Iterator<Item = &Value> {
    answer["rows"].as_array().unwrap().iter()
}

#[test]
fn every_report_adds_up_over_agents() {
    let env = home();
    let by_agent = env.json(&["usage", "agent", "--json"]);
    let found: Vec<&str> = rows(&by_agent).map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!(found.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from(AGENTS));
    let total = numbers(&by_agent["total"]);
    for group in ["agent", "project", "model", "daily", "monthly", "session", "kind", "prompt"] {
        let all = env.json(&["usage", group, "--json"]);
        assert_eq!(numbers(&all["total"]), total, "{group}");
        let mut parts: BTreeMap<String, [u64; 10]> = BTreeMap::new();
        for agent in AGENTS {
            let own = env.json(&["usage", group, "--agent", agent, "--json"]);
            let wanted = rows(&by_agent).find(|row| row["key"] == agent).unwrap();
            assert_eq!(numbers(&own["total"]), numbers(wanted), "{group} {agent}");
            for row in rows(&own) {
                let sum = parts.entry(row["key"].as_str().unwrap().to_owned()).or_default();
                let more = numbers(row);
                *sum = std::array::from_fn(|n| sum[n] + more[n]);
            }
        }
        let together =
            rows(&all).map(|row| (row["key"].as_str().unwrap().to_owned(), numbers(row)));
        assert_eq!(together.collect::<BTreeMap<_, _>>(), parts, "{group}");
        if group != "prompt" {
            assert_eq!(sum(rows(&all)), total, "{group}");
        }
    }
    // Without an archive the numbers are the same.
    let from = env.home();
    let given = env.json(&["usage", "agent", "--from", from.to_str().unwrap(), "--json"]);
    assert_eq!(given["rows"], by_agent["rows"]);
}

#[test]
fn a_call_is_counted_once() {
    let env = home();
    let run = env.run(&["export", "--all", "--format", "calls"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let calls: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let keys: BTreeSet<&str> =
        calls.iter().map(|call| call["dedup_key"].as_str().unwrap()).collect();
    assert_eq!(keys.len(), calls.len());
    // The API makes the ids of Claude's messages and of the responses that Codex CLI records; other ids need their
    // session.
    let is_formed = |call: &Value| {
        let [key, agent, session] =
            ["dedup_key", "agent", "session"].map(|name| call[name].as_str().unwrap());
        let is_in_session = key.starts_with(&format!("{agent}:{session}:"));
        match agent {
            "claude" => key.starts_with("claude:msg_"),
            "codex" => is_in_session || key.starts_with("codex:resp_"),
            _ => is_in_session,
        }
    };
    assert!(calls.iter().all(is_formed), "{keys:?}");
    let total = &env.json(&["usage", "agent", "--json"])["total"];
    assert_eq!(Some(calls.len() as u64), total["calls"].as_u64());
}

#[test]
fn one_project_is_that_of_all_agents_that_worked_in_it() {
    let env = home();
    let projects = env.json(&["usage", "project", "--json"]);
    let shared = rows(&projects).filter(|row| {
        let path = row["key"].as_str().unwrap();
        let of = |agent: &&str| {
            let run = env.run(&["sessions", "--agent", agent, "-p", path, "--json"]);
            run.code == Some(0)
        };
        AGENTS.into_iter().filter(of).count() > 1
    });
    assert!(shared.count() > 0, "{projects}");
}

#[test]
fn every_list_can_be_limited_to_one_agent() {
    let env = home();
    let ids = |agent: &str| -> BTreeSet<String> {
        let answer = env.json(&["sessions", "--all", "--agent", agent, "--json"]);
        let sessions = answer["sessions"].as_array().unwrap();
        assert!(sessions.iter().all(|session| session["agent"] == agent));
        sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect()
    };
    let own: BTreeMap<&str, BTreeSet<String>> = AGENTS.map(|agent| (agent, ids(agent))).into();
    let mut searched = BTreeSet::new();
    let (mut own_tools, mut all_tools) = (0, 0);
    for agent in AGENTS {
        let lists = [
            ("prompts", &["prompts", "--json"][..], "prompts"),
            ("search", &["search", "prompt", "--json"][..], "hits"),
        ];
        for (name, args, list) in lists {
            let answer = env.json(&[args, &["--agent", agent]].concat());
            for row in answer[list].as_array().unwrap() {
                assert!(
                    own[agent].contains(row["session"].as_str().unwrap()),
                    "{name} {agent}: {row}"
                );
                searched.insert((name, agent));
            }
        }
        let events = env.run(&["events", "--agent", agent]);
        let events = events.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert!(events.into_iter().all(|event| event["agent"] == agent));
        let tools = |args: &[&str]| {
            // An agent may have used none.
            let run = env.run(&[&["tools", "--json"], args].concat());
            let answer: Value = serde_json::from_str(&run.stdout).unwrap();
            rows(&answer).map(|row| row["calls"].as_u64().unwrap()).sum::<u64>()
        };
        own_tools += tools(&["--agent", agent]);
        all_tools = tools(&[]);
    }
    assert_eq!(own_tools, all_tools);
    assert_eq!(searched.len(), 2 * AGENTS.len(), "{searched:?}");
    let hits = env.json(&["search", "prompt", "--json"]);
    let of = |hit: &Value| {
        let id = hit["session"].as_str().unwrap();
        AGENTS.into_iter().find(|agent| own[agent].contains(id)).unwrap()
    };
    let found: BTreeSet<&str> = hits["hits"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(found, BTreeSet::from(AGENTS));
}

#[test]
fn limits_are_those_of_a_plan() {
    let env = home();
    let answer = env.json(&["usage", "limits", "--json"]);
    let windows: Vec<_> = rows(&answer).map(|row| row["window_minutes"].as_u64()).collect();
    assert_eq!(windows, [Some(300), Some(10_080)]);
    assert!(answer["history"].as_array().unwrap().len() > 2);
    let table = env.run(&["usage", "limits"]).stdout;
    assert!(table.contains(" 5 h ") && table.contains(" 7 d "), "{table}");
    let count =
        |args: &[&str]| env.run(&[&["usage", "limits"], args].concat()).stdout.lines().count();
    assert_eq!((count(&[]), count(&["-n", "1"])), (3, 2));
    assert!(count(&["--history"]) > 3);
    assert_eq!(env.run(&["usage", "limits", "--agent", "gemini"]).code, Some(1));
    assert_eq!(env.run(&["usage", "limits", "-p", "demo"]).code, Some(2));
    assert_eq!(env.run(&["usage", "--history"]).code, Some(2));
}

#[test]
fn the_tokens_in_front_matter_add_up() {
    let env = home();
    let folder = env.home().join("exported");
    let run = env.run(&["export", "--all", "--format", "markdown", "-o", folder.to_str().unwrap()]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let (mut all, mut written) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let front = text.strip_prefix("---\n").and_then(|text| text.split_once("\n---\n"));
        let Some((_, usage)) = front.and_then(|(front, _)| front.split_once("\nusage:\n")) else {
            continue;
        };
        let usage: BTreeMap<&str, u64> = usage
            .lines()
            .map(|line| line.trim().split_once(": ").unwrap())
            .map(|(name, tokens)| (name, tokens.parse().unwrap()))
            .collect();
        assert_eq!(usage.values().sum::<u64>(), 2 * usage["total"], "{usage:?}");
        written += usage["cache_write_5m"] + usage["cache_write_1h"];
        all += usage["total"];
    }
    assert!(written > 0);
    assert_eq!(all, env.json(&["usage", "--json"])["total"]["total"]);
}

#[test]
fn only_sessions_of_gemini_cli_have_its_format() {
    let env = home();
    for agent in ["claude", "codex"] {
        let list = env.json(&["sessions", "--agent", agent, "--json"]);
        let id = list["sessions"][0]["id"].as_str().unwrap();
        let run = env.run(&["export", id, "--format", "gemini"]);
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{}", run.stderr);
        assert!(run.stderr.contains("has no file that Gemini CLI could load"), "{}", run.stderr);
    }
    // An export of all contains the others.
    let run = env.run(&["export", "--all", "--format", "gemini", "-o", "out"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[test]
fn the_cost_of_a_prompt_is_that_of_all_prompts() {
    let env = TestEnv::new();
    let all = env.json(&["--demo", "usage", "prompt", "--json"]);
    let first = env.json(&["--demo", "usage", "prompt", "-n", "2", "--json"]);
    assert_eq!(all["prompts"], first["prompts"]);
    assert!(all["prompts"]["count"].as_u64() > Some(2));
}
