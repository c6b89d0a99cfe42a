//! Checks the counts of Claude Code's calls on damaged trees against an independent implementation of the
//! rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use backstory_core::assemble::SessionFacts;
use backstory_core::model::Usage;
use proptest::prelude::*;
use serde_json::{Deserializer, Value, json};

use crate::claude_lines::{A, B, read, reply, user, with};
use crate::support::{Home, files_below, testdata};

/// Token counts (input, five-minute and one-hour cache writes, cache reads, output), and whether they are a
/// lower bound.
type Count = ([u64; 5], bool);

/// Counts by the rule: each number of a call is the maximum over all lines of all files.
fn reference(tree: &Path) -> BTreeMap<String, Count> {
    let mut calls: BTreeMap<String, ([u64; 5], bool, bool)> = BTreeMap::new();
    let is_log = |path: &PathBuf| path.to_str().unwrap().contains(".jsonl");
    for file in files_below(&tree.join("projects")).into_iter().filter(is_log) {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
        for line in text.lines() {
            let line = line.trim_matches(|c: char| c.is_whitespace() || c == '\0');
            let records = Deserializer::from_str(line).into_iter::<Value>();
            for record in records.map_while(Result::ok) {
                let inner = &record["data"]["message"];
                let is_nested = record["type"] == "progress" && inner["type"] == "assistant";
                let record = if is_nested { inner } else { &record };
                let message = &record["message"];
                let is_call = record["type"] == "assistant"
                    && message["usage"].is_object()
                    && message["model"] != "<synthetic>";
                let Some(id) = message["id"].as_str().filter(|_| is_call) else { continue };
                let number = |value: &Value| value.as_u64().unwrap_or(0);
                let usage = &message["usage"];
                let total = number(&usage["cache_creation_input_tokens"]);
                let hour = number(&usage["cache_creation"]["ephemeral_1h_input_tokens"]).min(total);
                let (known, has_stopped, is_cut) = calls.entry(id.to_owned()).or_default();
                if (total, hour) > (known[1] + known[2], known[2]) {
                    (known[1], known[2]) = (total - hour, hour);
                }
                let largest =
                    [(0, "input_tokens"), (3, "cache_read_input_tokens"), (4, "output_tokens")];
                for (at, key) in largest {
                    known[at] = known[at].max(number(&usage[key]));
                }
                *has_stopped |= message["stop_reason"].is_string();
                *is_cut |= record["isAbortedMidStream"] == true;
            }
        }
    }
    let count = |(numbers, has_stopped, is_cut): ([u64; 5], bool, bool)| {
        let is_lost = numbers[..4].iter().all(|number| *number == 0);
        (numbers, !has_stopped || is_cut || is_lost)
    };
    calls.into_iter().map(|(id, call)| (id, count(call))).collect()
}

fn counted(home: &Home) -> BTreeMap<String, Count> {
    let mut out = BTreeMap::new();
    for entry in home.sessions.iter().flat_map(SessionFacts::listed).filter(|entry| entry.owned) {
        let Some(call) = &entry.facts.call else { continue };
        let usage = call.usage;
        let numbers = [
            usage.input,
            usage.cache_write_5m,
            usage.cache_write_1h,
            usage.cached,
            usage.output + usage.thoughts,
        ];
        let twice = out.insert(entry.facts.id.to_string(), (numbers, call.at_least));
        assert!(twice.is_none(), "{} counts twice", entry.facts.id);
    }
    out
}

#[test]
fn a_call_is_dated_by_its_earliest_line() {
    // The line above it was written later, so the first file looks like the copy.
    let tree = read(&[
        (&format!("{A}.jsonl"), &[user("u1", "", 600, "one"), reply("r1", "u1", 1, "m1", "first")]),
        (
            &format!("{B}.jsonl"),
            &[with(reply("r2", "", 300, "m1", "first"), &serde_json::json!({ "sessionId": B }))],
        ),
    ]);
    let owned =
        tree.sessions.iter().flat_map(|session| &session.messages).filter(|entry| entry.owned);
    let dates: Vec<String> = owned
        .filter(|entry| entry.facts.call.is_some())
        .map(|entry| entry.facts.at.unwrap().to_string())
        .collect();
    assert_eq!(dates, ["2026-03-01T10:00:01Z"]);
}

/// A kind of damage to a log. The numbers choose the position.
#[derive(Debug, Clone)]
enum Damage {
    Remove(usize),
    Repeat(usize, usize),
    Swap(usize, usize),
    /// Two lines are joined.
    Join(usize),
    /// A line is cut off in the middle.
    Tear(usize, usize),
    Garbage(usize),
    Nuls(usize),
    /// All lines from there on are lost.
    Cut(usize),
    /// A line gets the session and the uuid of another one.
    Rename(usize, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = 0..1000usize;
    prop_oneof![
        place.clone().prop_map(Damage::Remove),
        (place.clone(), place.clone()).prop_map(|(a, b)| Damage::Repeat(a, b)),
        (place.clone(), place.clone()).prop_map(|(a, b)| Damage::Swap(a, b)),
        place.clone().prop_map(Damage::Join),
        (place.clone(), place.clone()).prop_map(|(a, b)| Damage::Tear(a, b)),
        place.clone().prop_map(Damage::Garbage),
        place.clone().prop_map(Damage::Nuls),
        place.clone().prop_map(Damage::Cut),
        (place.clone(), place).prop_map(|(a, b)| Damage::Rename(a, b)),
    ]
}

fn apply(lines: &mut Vec<String>, damage: &Damage) {
    let count = lines.len();
    if count == 0 {
        return;
    }
    match *damage {
        Damage::Remove(at) => drop(lines.remove(at % count)),
        Damage::Repeat(from, to) => lines.insert(to % count, lines[from % count].clone()),
        Damage::Swap(a, b) => lines.swap(a % count, b % count),
        Damage::Join(at) if count > 1 => {
            let next = lines.remove(at % (count - 1) + 1);
            lines[at % (count - 1)].push_str(&next);
        }
        Damage::Join(_) => {}
        Damage::Tear(at, length) => {
            let line = &mut lines[at % count];
            let end = line.char_indices().nth(length).map_or(line.len(), |(end, _)| end);
            line.truncate(end);
        }
        Damage::Garbage(at) => lines.insert(at % count, "{\"type\":\"assistant\",".to_owned()),
        Damage::Nuls(at) => lines[at % count].insert_str(0, "\0\0"),
        Damage::Cut(at) => lines.truncate(at % count),
        Damage::Rename(a, b) => {
            let names = |line: &str| -> Option<[String; 2]> {
                let value: Value = serde_json::from_str(line).ok()?;
                Some([value["sessionId"].as_str()?.to_owned(), value["uuid"].as_str()?.to_owned()])
            };
            let (old, new) = (names(&lines[a % count]), names(&lines[b % count]));
            if let (Some([session, uuid]), Some([other_session, other_uuid])) = (old, new) {
                let line = lines[a % count].replace(&session, &other_session);
                lines[a % count] = line.replace(&uuid, &other_uuid);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn damaged_trees_count_as_the_rule_says(
        case in prop::sample::select(vec![
            "1.0.17/resume", "1.0.17/subagent", "1.0.128/extras", "1.0.128/resume", "2.1.5/autocompact",
            "2.1.5/interactive", "2.1.58/resume", "2.1.104/errors", "2.1.104/subagent", "2.1.325/interactive",
            "2.1.325/resume",
        ]),
        damages in prop::collection::vec((0..64usize, damage()), 0..12),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("claude");
        let origin = testdata("claude").join(case).join("claude");
        let mut logs = Vec::new();
        for file in files_below(&origin.join("projects")) {
            let copy = tree.join(file.strip_prefix(&origin).unwrap());
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::copy(&file, &copy).unwrap();
            if copy.extension().is_some_and(|ending| ending == "jsonl") {
                logs.push(copy);
            }
        }
        for (at, damage) in &damages {
            let log = &logs[at % logs.len()];
            let text = std::fs::read_to_string(log).unwrap();
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            apply(&mut lines, damage);
            std::fs::write(log, lines.join("\n")).unwrap();
        }
        // A named folder is searched by content, so a file that is damaged beyond recognition is left out.
        let env = backstory_core::env::Env {
            vars: std::iter::once(("CLAUDE_CONFIG_DIR".to_owned(), tree.clone().into())).collect(),
            ..Default::default()
        };
        let home = Home::of(backstory_core::agent::Agents::default().discover(&env));
        prop_assert_eq!(counted(&home), reference(&tree));
        for session in &home.sessions {
            let ids: BTreeSet<&str> = session.messages.iter().map(|m| m.facts.id.as_str()).collect();
            prop_assert_eq!(ids.len(), session.messages.len(), "{}", session.session.id);
        }
    }
}

#[test]
fn the_thoughts_of_a_call_are_part_of_its_output_in_all_copies() {
    let with_usage = |usage: Value| {
        let mut line = reply("r1", "u1", 1, "m1", "first");
        line["message"]["usage"] = usage;
        line
    };
    let whole = with_usage(
        json!({ "input_tokens": 1, "output_tokens": 1000, "output_tokens_details": { "thinking_tokens": 990 } }),
    );
    let cut = with_usage(json!({ "input_tokens": 1, "output_tokens": 400 }));
    let in_b = |line: Value| with(line, &json!({ "sessionId": B }));
    let tree = read(&[
        (&format!("{A}.jsonl"), &[user("u1", "", 0, "one"), whole]),
        (&format!("{B}.jsonl"), &[in_b(user("u1", "", 0, "one")), in_b(cut)]),
    ]);
    let usage: Usage = tree.sessions.iter().map(|session| session.session.usage).sum();
    assert_eq!((usage.output, usage.thoughts), (10, 990));
}
