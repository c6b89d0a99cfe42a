//! Tests that of sessions that copied one another, exactly one shows each message and counts each call.

use std::collections::BTreeMap;

use backstory_core::content::View;
use backstory_core::model::MessageKind;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::claude_lines::{A, B, Tree, read, reply, user, with};

/// Returns the prompts that a session shows in the full view.
fn prompts(tree: &Tree, id: &str) -> Vec<String> {
    let session = tree.sessions.iter().find(|session| session.session.id == id).unwrap();
    let messages = tree.messages(session, View::Full);
    let typed = messages.iter().filter(|message| message.kind == MessageKind::Prompt);
    typed.map(|message| message.words().to_owned()).collect()
}

/// Returns a conversation of some turns, one minute each.
fn turns(count: u32) -> Vec<Value> {
    let turn = |n: u32| {
        let parent = if n == 1 { String::new() } else { format!("r{}", n - 1) };
        let (prompt, answer) = (format!("u{n}"), format!("r{n}"));
        [
            user(&prompt, &parent, n * 60, &format!("question {n}")),
            reply(&answer, &prompt, n * 60 + 1, &format!("m{n}"), "answer"),
        ]
    };
    (1..=count).flat_map(turn).collect()
}

fn in_session(lines: &[Value], session: &str) -> Vec<Value> {
    lines.iter().map(|line| with(line.clone(), &json!({ "sessionId": session }))).collect()
}

/// Reads an original in session B and its copy in session A, which sorts first.
fn with_copy(original: &[Value], copy: &[Value]) -> Tree {
    let original = in_session(original, B);
    read(&[(&format!("{B}.jsonl"), &original), (&format!("{A}.jsonl"), copy)])
}

#[test]
fn a_fork_that_names_the_old_session_on_lines_of_the_user_has_only_its_own_prompts() {
    let original = turns(4);
    let old = |line: &Value| with(line.clone(), &json!({ "sessionId": B }));
    let copied =
        original.iter().map(|line| if line["type"] == "user" { old(line) } else { line.clone() });
    let own = [user("u9", "r4", 600, "question 9"), reply("r9", "u9", 601, "m9", "answer")];
    let tree = with_copy(&original, &copied.chain(own).collect::<Vec<_>>());
    assert_eq!(prompts(&tree, B), ["question 1", "question 2", "question 3", "question 4"]);
    assert_eq!(prompts(&tree, A), ["question 9"]);
    assert_eq!(tree.all.get(B).unwrap().calls, 4);
}

#[test]
fn a_copy_with_new_ids_does_not_repeat_a_prompt_that_was_never_answered() {
    let original = [turns(1), vec![user("u2", "r1", 70, "again")]].concat();
    let copied = [
        user("c1", "", 600, "question 1"),
        reply("d1", "c1", 600, "m1", "answer"),
        user("c2", "d1", 600, "again"),
    ];
    let own = [user("c3", "c2", 660, "again"), reply("d3", "c3", 661, "m3", "answer")];
    let tree = with_copy(&original, &[&copied[..], &own[..]].concat());
    assert_eq!(prompts(&tree, B), ["question 1", "again"]);
    assert_eq!(prompts(&tree, A), ["again"]);
    // The same question, asked again in a fork, is answered in both.
    let own = [user("u9", "r1", 600, "question 2"), reply("r9", "u9", 601, "m9", "answer")];
    let tree = with_copy(&turns(2), &[&turns(1)[..], &own[..]].concat());
    for id in [A, B] {
        assert_eq!(prompts(&tree, id).last().unwrap(), "question 2");
    }
}

#[test]
fn a_call_counts_if_any_file_of_its_session_has_it() {
    let whole = turns(2);
    // An older copy in another folder has a reply without its numbers, below a line that was written later.
    let mut older = turns(1);
    older[1]["timestamp"] = json!("2026-03-01T09:00:00.000Z");
    older[1]["message"].as_object_mut().unwrap().remove("usage");
    let name = format!("{A}.jsonl");
    let tree = read(&[(&name, &whole), (&format!("../-backup/{name}"), &older)]);
    assert_eq!(tree.all.get(A).unwrap().calls, 2);
}

#[test]
fn a_fork_may_begin_right_after_the_last_copied_reply() {
    let original = turns(3);
    let queue = json!({ "type": "queue-operation", "sessionId": A, "timestamp": "2026-03-01T10:03:01.500Z" });
    let own = [user("u9", "r3", 182, "question 9"), reply("r9", "u9", 183, "m9", "answer")];
    let tree = with_copy(&original, &[vec![queue], original.clone(), own.to_vec()].concat());
    assert_eq!(prompts(&tree, B), ["question 1", "question 2", "question 3"]);
    assert_eq!(prompts(&tree, A), ["question 9"]);
    assert_eq!((tree.all.get(B).unwrap().calls, tree.all.get(A).unwrap().calls), (3, 1));
}

#[test]
fn a_clock_that_was_set_back_does_not_give_calls_to_a_copy() {
    let mut original = turns(3);
    for line in &mut original[2..] {
        line["timestamp"] = json!(line["timestamp"].as_str().unwrap().replace("T10:", "T09:"));
    }
    let renamed = |text: &Value| json!(text.as_str().map(|text| format!("copied-{text}")));
    let copy = original.iter().enumerate().map(|(n, line)| {
        let (uuid, parent) = (renamed(&line["uuid"]), renamed(&line["parentUuid"]));
        let at = format!("2026-03-01T11:00:{n:02}.000Z");
        with(line.clone(), &json!({ "uuid": uuid, "parentUuid": parent, "timestamp": at }))
    });
    let tree = with_copy(&original, &copy.collect::<Vec<_>>());
    assert_eq!(prompts(&tree, B), ["question 1", "question 2", "question 3"]);
    assert_eq!(prompts(&tree, A), [""; 0]);
    assert_eq!((tree.all.get(B).unwrap().calls, tree.all.get(A).unwrap().calls), (3, 0));
}

#[test]
fn what_a_fork_copied_after_the_last_reply_is_not_its_own() {
    let mut original = turns(1);
    original.extend([
        user("u2", "r1", 120, "question 2"),
        user("i2", "u2", 121, "[Request interrupted by user]"),
        user("c2", "i2", 122, "<command-name>/cost</command-name>"),
    ]);
    let mark = json!({ "forkedFrom": { "sessionId": B, "messageUuid": "x" } });
    let copied = original.iter().map(|line| with(line.clone(), &mark));
    let own = [user("u9", "c2", 600, "question 9"), reply("r9", "u9", 601, "m9", "answer")];
    let fork: Vec<Value> = copied.chain(own).collect();
    let tree = with_copy(&original, &fork);
    let session = tree.all.get(A).unwrap();
    assert_eq!((session.prompts, session.first_prompt.as_deref()), (1, Some("question 9")));
    assert_eq!(prompts(&tree, A), ["question 9"]);
    assert_eq!(tree.all.get(B).unwrap().prompts, 3);
    // Without the original, the fork has them.
    let alone = read(&[(&format!("{A}.jsonl"), &fork)]);
    assert_eq!(prompts(&alone, A), ["question 1", "question 2", "question 9"]);
    assert_eq!(alone.all.get(A).unwrap().prompts, 4);
}

/// The ways in which versions copy lines into a new session.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    /// New uuids, times and session (1.0.17).
    Renamed,
    /// New times and session (1.0.128).
    Dated,
    /// A new session, except on lines of the user (2.0.30).
    OldUsers,
    /// Nothing new (2.1.58).
    Old,
    /// A new session, below a newer line (2.1.104).
    Below,
    /// A new session and a mark (`/branch`).
    Marked,
}

const WAYS: [Way; 6] = [Way::Renamed, Way::Dated, Way::OldUsers, Way::Old, Way::Below, Way::Marked];

/// A session: how it copies which session up to which turn, how many turns follow, and which are answered.
#[derive(Debug, Clone)]
struct Plan {
    way: Way,
    from: prop::sample::Index,
    cut: prop::sample::Index,
    name: u32,
    is_answered: Vec<bool>,
    clock: i32,
}

fn plan() -> impl Strategy<Value = Plan> {
    let answered = prop::collection::vec(prop::bool::weighted(0.8), 1..4);
    (
        prop::sample::select(&WAYS[..]),
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<u32>(),
        answered,
        -90..90,
    )
        .prop_map(|(way, from, cut, name, is_answered, clock)| Plan {
            way,
            from,
            cut,
            name,
            is_answered,
            clock,
        })
}

/// The files written so far.
#[derive(Default)]
struct Files {
    /// The sessions and their turns, each with its lines.
    sessions: Vec<(String, Vec<Vec<Value>>, Vec<Value>)>,
    count: u32,
    clock: i32,
    /// The latest time that was given.
    latest: i32,
}

impl Files {
    fn time(&mut self) -> Value {
        self.clock += 1;
        self.latest = self.latest.max(self.clock);
        json!(format!(
            "2026-03-01T{:02}:{:02}:{:02}.000Z",
            self.clock / 3600,
            self.clock / 60 % 60,
            self.clock % 60
        ))
    }

    /// Adds a session that copies turns of another one, and continues with its own.
    fn add(&mut self, plan: &Plan) {
        let id = format!("{:08x}-{:04x}-4000-8000-000000000000", plan.name, self.sessions.len());
        let mut turns: Vec<Vec<Value>> = Vec::new();
        let mut before = Vec::new();
        // A clock may be set back, but no copy is older than its original.
        self.clock = self.latest;
        if !self.sessions.is_empty() {
            let (_, from, _) = &self.sessions[plan.from.index(self.sessions.len())];
            let mut end = plan.cut.index(from.len()) + 1;
            // Nothing relates a renamed prompt to its original, except for a reply.
            let is_renamed = |turn: &[Value]| turn[0]["uuid"].as_str().unwrap().contains('-');
            while (plan.way == Way::Renamed || is_renamed(&from[end - 1]))
                && from[end - 1].len() < 2
            {
                end -= 1;
            }
            turns = from[..end].to_vec();
            if plan.way == Way::Below {
                let at = self.time();
                before.push(json!({ "type": "queue-operation", "sessionId": id, "timestamp": at }));
            }
            for line in turns.iter_mut().flatten() {
                self.copy(line, plan.way, &id);
            }
        }
        self.clock = (self.clock + plan.clock).max(1);
        for is_answered in &plan.is_answered {
            let n = self.count;
            self.count += 1;
            let parent = turns
                .last()
                .and_then(|turn| turn.last())
                .map_or("", |last| last["uuid"].as_str().unwrap());
            let (prompt, answer) = (format!("u{n}"), format!("r{n}"));
            let mut turn = vec![user(&prompt, parent, 0, &format!("question {n}"))];
            if *is_answered || n == 0 {
                turn.push(reply(&answer, &prompt, 0, &format!("m{n}"), "answer"));
            }
            for line in &mut turn {
                line["timestamp"] = self.time();
                line["sessionId"] = json!(id);
            }
            turns.push(turn);
        }
        self.sessions.push((id, turns, before));
    }

    fn copy(&mut self, line: &mut Value, way: Way, id: &str) {
        if way == Way::Renamed {
            for key in ["uuid", "parentUuid"] {
                line[key] = json!(line[key].as_str().map(|uuid| format!("{}-{uuid}", &id[..13])));
            }
        }
        if matches!(way, Way::Renamed | Way::Dated) {
            line["timestamp"] = self.time();
        }
        if way == Way::Marked {
            line["forkedFrom"] =
                json!({ "sessionId": line["sessionId"], "messageUuid": line["uuid"] });
        }
        if way != Way::Old && (way != Way::OldUsers || line["type"] != "user") {
            line["sessionId"] = json!(id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn each_prompt_and_each_call_is_in_exactly_one_session(plans in prop::collection::vec(plan(), 1..6)) {
        let mut files = Files { latest: 7200, ..Files::default() };
        for plan in &plans {
            files.add(plan);
        }
        let names: Vec<(String, Vec<Value>)> = files.sessions.iter().map(|(id, turns, before)| {
            (format!("{id}.jsonl"), before.iter().chain(turns.iter().flatten()).cloned().collect())
        }).collect();
        let tree = read(&names.iter().map(|(name, lines)| (name.as_str(), lines.as_slice())).collect::<Vec<_>>());
        let mut shown: BTreeMap<String, usize> = BTreeMap::new();
        for (id, ..) in &files.sessions {
            if tree.all.get(id).is_some() {
                for prompt in prompts(&tree, id) {
                    *shown.entry(prompt).or_default() += 1;
                }
            }
        }
        let want: BTreeMap<String, usize> = (0..files.count).map(|n| (format!("question {n}"), 1)).collect();
        prop_assert_eq!(shown, want, "{:#?}", names);
        let calls: usize = tree.sessions.iter().map(|session| session.session.calls).sum();
        let replies = files.sessions.iter().flat_map(|(_, turns, _)| turns.iter().flatten());
        let ids: std::collections::BTreeSet<_> = replies.filter_map(|line| line["message"]["id"].as_str()).collect();
        prop_assert_eq!(calls, ids.len());
        let counted: usize = tree.sessions.iter().map(|session| session.session.prompts).sum();
        prop_assert_eq!(counted, files.count as usize);
    }
}
