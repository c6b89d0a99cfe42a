//! Counts the calls of session files of Codex CLI that real versions rarely write.

use std::fs;

use backstory_core::archive::Archive;
use backstory_core::model::Usage;
use serde_json::{Value, json};

use crate::codex::totals;
use crate::codex_files::sync;
use crate::codex_log::{FORK, Log, OTHER, THREAD, tokens, turn};
use crate::support::{Home, discover_at};

/// Returns the number of calls and the sum of their tokens.
fn counted(home: &Home) -> (u64, u64) {
    let sum = |(calls, usage): (u64, Usage), more: &(u64, Usage)| (calls + more.0, usage + more.1);
    let (calls, usage) = totals(home).values().fold((0, Usage::default()), sum);
    (calls, usage.total())
}

#[test]
fn calls_before_the_first_turn_and_record_of_a_file_count() {
    let folder = tempfile::tempdir().unwrap();
    let old = Log::new("2026-03-01T10:00:00Z")
        .header(THREAD, &json!({}))
        .typed("one")
        .answer("first")
        .counted(tokens(100, 10), tokens(100, 10))
        .typed("two")
        .answer("second")
        .counted(tokens(300, 30), tokens(200, 20));
    let resumed = old
        .started(&turn(1))
        .typed("three")
        .answer("third")
        .recorded(&turn(1), "resp_1", tokens(50, 5))
        .counted(tokens(350, 35), tokens(50, 5));
    resumed.write(folder.path(), THREAD);
    assert_eq!(counted(&Home::at(folder.path())), (3, 385));
    // A count outside of all turns repeats a record if it follows one.
    let later = resumed.event(json!({ "type": "task_started" }));
    later.counted(tokens(400, 40), tokens(50, 5)).write(folder.path(), THREAD);
    assert_eq!(counted(&Home::at(folder.path())), (3, 385));
}

/// Returns a thread with one call, and a fork of it by reference whose first turn was interrupted: it repeats the
/// thread's last count after the output of the model.
fn interrupted_fork() -> [Log; 2] {
    let parent = Log::paginated("2026-03-01T10:00:00Z", 0)
        .header(THREAD, &json!({}))
        .started(&turn(1))
        .typed("one")
        .answer("first")
        .counted(tokens(100, 10), tokens(100, 10));
    let end = parent.position();
    let base = json!({ "thread_id": THREAD, "end_ordinal_exclusive": end });
    let fork = Log::paginated("2026-03-01T11:00:00Z", end)
        .header(FORK, &json!({ "forked_from_id": THREAD, "history_base": base }))
        .started(&turn(2))
        .typed("two")
        .line("response_item", json!({ "type": "reasoning", "summary": [] }))
        .counted(tokens(100, 10), tokens(100, 10))
        .event(json!({ "type": "turn_aborted", "turn_id": turn(2), "reason": "interrupted" }));
    [parent, fork]
}

#[test]
fn a_fork_that_repeats_the_total_of_its_history_has_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let [parent, fork] = interrupted_fork();
    parent.write(folder.path(), THREAD);
    fork.write(folder.path(), FORK);
    assert_eq!(counted(&Home::at(folder.path())), (1, 110));
    // A fork of the fork continues the same total.
    let end = fork.position();
    let base = json!({ "thread_id": FORK, "end_ordinal_exclusive": end - 3 });
    let again = Log::paginated("2026-03-01T12:00:00Z", end)
        .header(OTHER, &json!({ "forked_from_id": FORK, "history_base": base }));
    let again = again.answer("").counted(tokens(100, 10), tokens(100, 10)).answer("third");
    again.counted(tokens(400, 40), tokens(300, 30)).write(folder.path(), OTHER);
    assert_eq!(counted(&Home::at(folder.path())), (2, 440));
}

#[test]
fn the_first_count_of_a_fork_is_a_call_if_its_history_has_another_total() {
    let folder = tempfile::tempdir().unwrap();
    let [parent, fork] = interrupted_fork();
    parent.write(folder.path(), THREAD);
    let mut fork = fork.counted(tokens(300, 30), tokens(200, 20));
    fork.lines.drain(4..fork.lines.len() - 1);
    fork.write(folder.path(), FORK);
    assert_eq!(counted(&Home::at(folder.path())), (2, 330));
    // Without its history, a total before any output counts as a repeat.
    fs::remove_file(parent.write(folder.path(), THREAD)).unwrap();
    assert!(totals(&Home::at(folder.path())).is_empty());
}

#[test]
fn a_fork_that_is_served_elsewhere_leaves_the_calls_of_its_origin_alone() {
    let folder = tempfile::tempdir().unwrap();
    let parent = Log::new("2026-03-01T10:00:00Z")
        .header(THREAD, &json!({ "model_provider": "openai" }))
        .started(&turn(1))
        .model("gpt-5-codex")
        .typed("one")
        .answer("first")
        .counted(tokens(100, 10), tokens(100, 10));
    parent.write(folder.path(), THREAD);
    let fork = Log::new("2026-11-01T10:00:00Z")
        .header(FORK, &json!({ "forked_from_id": THREAD, "model_provider": "ollama" }))
        .copied(&parent.lines)
        .started("01a196c8-bb60-7000-8000-000000000009")
        .answer("second")
        .counted(tokens(300, 30), tokens(200, 20));
    fork.write(folder.path(), FORK);
    let home = Home::at(folder.path());
    let calls = home.sessions.iter().flat_map(|session| &session.messages);
    let calls = calls.filter(|entry| entry.owned).filter_map(|entry| entry.facts.call.as_ref());
    let calls: Vec<_> = calls.map(|call| (call.usage.total(), call.service.is_elsewhere)).collect();
    assert_eq!(calls, [(110, false), (220, true)]);
}

/// Returns a thread whose second turn was rolled back, and what a migration leaves of it. `estimate` is whether a
/// rollback writes a count.
fn rolled_back(estimate: bool) -> [Log; 2] {
    let one = Log::new("2026-03-01T10:00:00Z")
        .header(THREAD, &json!({}))
        .started(&turn(1))
        .typed("one")
        .answer("first")
        .counted(tokens(100, 10), tokens(100, 10));
    let kept = one.lines.len();
    let two = one
        .started(&turn(2))
        .typed("two")
        .answer("call")
        .counted(tokens(300, 30), tokens(200, 20))
        .answer("another call")
        .counted(tokens(600, 60), tokens(300, 30))
        .event(json!({ "type": "thread_rolled_back", "num_turns": 1 }));
    let dropped = two.lines.len();
    let nothing = json!({ "input_tokens": 0, "output_tokens": 0, "total_tokens": 110 });
    let three = if estimate { two.counted(tokens(600, 60), nothing) } else { two };
    let three = three
        .started(&turn(3))
        .typed("three")
        .answer("third")
        .counted(tokens(1000, 100), tokens(400, 40));
    let mut migrated = three.clone();
    migrated.lines.drain(kept..dropped);
    [three, migrated]
}

#[test]
fn calls_that_a_migration_dropped_count_once() {
    for (estimate, is_capturing, cut) in
        [(false, false, 0), (true, false, 0), (false, true, 0), (true, true, 0), (false, false, 7)]
    {
        let case = format!("{estimate} {is_capturing} {cut}");
        let folder = tempfile::tempdir().unwrap();
        let [mut before, after] = rolled_back(estimate);
        // The archive may have seen the file before the turn was over.
        before.lines.truncate(before.lines.len() - cut);
        before.write(folder.path(), THREAD);
        let mut archive = Archive::in_memory().unwrap();
        sync(&mut archive, folder.path(), is_capturing);
        after.write(folder.path(), THREAD);
        // What a count reveals counts as one call.
        let calls = if estimate { 3 } else { 2 };
        assert_eq!(counted(&Home::at(folder.path())), (calls, 1100), "{case}");
        sync(&mut archive, folder.path(), is_capturing);
        let home = Home::new(archive, discover_at(folder.path()));
        assert_eq!(counted(&home).1, 1100, "{case}");
    }
}

#[test]
fn lost_calls_are_not_those_of_another_file_of_the_thread() {
    let folder = tempfile::tempdir().unwrap();
    let first = Log::paginated("2026-03-01T10:00:00Z", 0).header(THREAD, &json!({}));
    let first = first.answer("a").counted(tokens(100, 10), tokens(100, 10));
    let end = first.position();
    first.answer("b").counted(tokens(150, 15), tokens(50, 5)).write(folder.path(), THREAD);
    let base = json!({ "thread_id": THREAD, "end_ordinal_exclusive": end });
    let second = Log::paginated("2026-03-01T11:00:00Z", end);
    let second = second.header(THREAD, &json!({ "history_base": base })).answer("c");
    let second = second.counted(tokens(120, 12), tokens(20, 2)).answer("d");
    let second = second.counted(tokens(200, 20), tokens(20, 2));
    second.write(folder.path(), &format!("{THREAD}_{OTHER}"));
    assert_eq!(counted(&Home::at(folder.path())), (4, 110 + 55 + 22 + 66 + 22));
}

#[test]
fn several_lost_calls_are_not_one_long_prompt() {
    let prompts = |total: u64, last: u64| {
        let folder = tempfile::tempdir().unwrap();
        let log = Log::new("2026-03-01T10:00:00Z").header(THREAD, &json!({})).answer("a");
        let log = log.counted(tokens(100, 10), tokens(100, 10)).answer("b");
        log.counted(tokens(total, 50), tokens(last, 20)).write(folder.path(), THREAD);
        let home = Home::at(folder.path());
        let calls = home.sessions[0].listed().filter_map(|entry| entry.facts.call.as_ref());
        let mut prompts: Vec<u64> = calls
            .flat_map(|call| {
                let lines = call.lines().iter().map(|line| line.usage.prompt());
                lines.chain([call.usage.prompt()]).collect::<Vec<_>>()
            })
            .collect();
        prompts.sort_unstable();
        assert_eq!(prompts.iter().sum::<u64>(), total);
        prompts
    };
    assert_eq!(prompts(400_100, 200_000), [100, 200_000, 200_000]);
    assert_eq!(prompts(600_100, 100_000), [100, 100_000, 166_666, 166_667, 166_667]);
    assert_eq!(prompts(600_100, 300_000), [100, 300_000, 300_000]);
}

#[test]
fn a_copy_whose_header_is_damaged_is_still_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let parent = Log::new("2026-03-01T10:00:00Z")
        .header(THREAD, &json!({}))
        .typed("one")
        .answer("first")
        .counted(tokens(100, 10), tokens(100, 10));
    parent.write(folder.path(), THREAD);
    let fork = Log::new("2026-03-01T11:00:00Z")
        .header(FORK, &json!({ "forked_from_id": THREAD }))
        .copied(&parent.lines)
        .typed("two")
        .answer("second")
        .counted(tokens(300, 30), tokens(200, 20));
    let path = fork.write(folder.path(), FORK);
    let text = fs::read_to_string(&path).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    fs::write(path, format!("{}\n{rest}", &first[..60])).unwrap();
    let home = Home::at(folder.path());
    assert_eq!(counted(&home), (2, 330));
    let fork = home.sessions.iter().find(|one| one.session.id == FORK).unwrap();
    assert_eq!((fork.session.prompts, fork.session.usage.total()), (1, 220));
    assert_eq!(fork.session.project.path.as_deref(), Some("/work/app"));
}

#[test]
fn siblings_with_equal_totals_have_calls_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let first = Log::new("2026-03-01T10:00:00Z")
        .header(THREAD, &json!({}))
        .typed("one")
        .answer("first")
        .counted(tokens(100, 10), tokens(100, 10));
    let sibling = |id: &str, hour: u32, answer: &str| {
        let log = Log::new(&format!("2026-03-01T{hour}:00:00Z")).header(id, &json!({}));
        let log = log.copied(&first.lines).typed("two").answer(answer);
        log.counted(tokens(90, 3), tokens(90, 3))
    };
    first.write(folder.path(), THREAD);
    sibling(FORK, 11, "a").write(folder.path(), FORK);
    sibling(OTHER, 12, "b").write(folder.path(), OTHER);
    assert_eq!(counted(&Home::at(folder.path())), (3, 296));
    // A copy of a copy has the calls of both.
    let last = "01a00000-0003-7000-8000-00000000000d";
    let log = Log::new("2026-03-01T13:00:00Z").header(last, &json!({}));
    let log = log.copied(&sibling(FORK, 11, "a").lines).answer("c");
    log.counted(tokens(290, 23), tokens(200, 20)).write(folder.path(), last);
    assert_eq!(counted(&Home::at(folder.path())), (4, 516));
}

/// Returns a thread with two calls in each of three turns, whose calls are recorded individually if that is wanted.
fn spawning(is_recorded: bool) -> Log {
    let log = Log::new("2026-03-01T10:00:00Z").header(THREAD, &json!({}));
    (1..=6_u32).fold(log, |log, n| {
        let log = if n % 2 == 1 { log.started(&turn(n)) } else { log };
        let log = log.answer(&format!("answer {n}"));
        let response = format!("resp_{n}");
        let used = tokens(100, 10);
        let turn = turn(n - (n + 1) % 2);
        let log = if is_recorded { log.recorded(&turn, &response, used.clone()) } else { log };
        log.counted(tokens(u64::from(n) * 100, u64::from(n) * 10), used)
    })
}

/// Returns the file of a subagent that names its parent only as such, and begins with some of its lines.
fn spawned(id: &str, copied: &[Value], is_new: bool) -> Log {
    let source = json!({ "subagent": { "thread_spawn": { "parent_thread_id": THREAD } } });
    let mut log = Log::new("2026-11-01T10:00:00Z").header(id, &json!({ "source": source }));
    let copied: Vec<Value> =
        copied.iter().filter(|line| line["type"] != "token_usage_record").cloned().collect();
    if is_new {
        log = log.copied(&copied);
    } else {
        log.lines.extend(copied);
    }
    log
}

/// The id of a turn that began a second after the subagent.
const OWN: &str = "01a1968d-3ce8-7000-8000-000000000001";

#[test]
fn a_subagent_that_repeats_its_parent_has_only_calls_of_its_own() {
    for is_recorded in [false, true] {
        for is_new in [false, true] {
            for from in [0, 1, 4] {
                let parent = spawning(is_recorded);
                let starts = parent
                    .lines
                    .iter()
                    .enumerate()
                    .filter(|(n, line)| *n == 0 || line["payload"]["type"] == "task_started");
                let (from, _) = starts.clone().nth(from.min(starts.count() - 1)).unwrap();
                let folder = tempfile::tempdir().unwrap();
                let path = parent.write(folder.path(), THREAD);
                let mut expected = 0;
                for (n, id) in [(1, FORK), (2, OTHER)] {
                    let log = spawned(id, &parent.lines[from..], is_new).started(OWN);
                    let own = tokens(700 + n, 70);
                    let log = log.answer("own").counted(own.clone(), own);
                    log.write(folder.path(), id);
                    expected += 770 + n;
                }
                let case = format!("recorded {is_recorded}, new {is_new}, from {from}");
                assert_eq!(counted(&Home::at(folder.path())), (8, 660 + expected), "{case}");
                // Without the parent, what it told the subagents counts once.
                fs::remove_file(path).unwrap();
                let shown = parent.lines[from..].iter();
                let shown = shown.filter(|line| line["payload"]["type"] == "token_count").count();
                let told = (shown as u64 + 2, shown as u64 * 110 + expected);
                assert_eq!(counted(&Home::at(folder.path())), told, "{case}");
            }
        }
    }
}

#[test]
fn a_subagent_that_continues_the_total_of_its_parent_has_only_calls_of_its_own() {
    let parent = spawning(false);
    let total = |calls: u64| tokens(600 + calls * 70, 60 + calls * 7);
    for shown in [Some(tokens(0, 0)), Some(tokens(100, 10)), None] {
        // It repeats nothing, or the first two turns, so that the counts of the third one are missing.
        for until in [1, parent.lines.len() - 5] {
            let folder = tempfile::tempdir().unwrap();
            parent.write(folder.path(), THREAD);
            let mut log = spawned(FORK, &parent.lines[1..until], true).started(OWN);
            if let Some(last) = &shown {
                log = log.counted(total(0), last.clone());
            }
            log = log.answer("a").counted(total(1), tokens(70, 7));
            log = log.answer("b").counted(total(2), tokens(70, 7));
            log.write(folder.path(), FORK);
            let case = format!("{shown:?}, until {until}");
            assert_eq!(counted(&Home::at(folder.path())), (8, 660 + 154), "{case}");
        }
    }
}

#[test]
fn a_line_that_is_older_than_a_subagent_is_not_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut parent = spawning(false);
    parent.lines.retain(|line| line["payload"]["type"] != "task_started");
    parent.write(folder.path(), THREAD);
    spawned(FORK, &parent.lines[1..], false).write(folder.path(), FORK);
    assert_eq!(counted(&Home::at(folder.path())), (6, 660));
}
