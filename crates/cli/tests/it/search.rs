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
    insta::assert_snapshot!(env.run(&["--demo", "search", "berth calendar"]).show(), @"
    exit code 0
    --- stdout
    0bdfff62 The berth calendar takes two seconds for large harbors. Find out why and fix it.  harbor-api · 1 day ago
      prompt    [compressed] The berth calendar takes two seconds for large harbors. Find out why and fix…
      reply     ```markdown ### Fixed - The berth calendar of large harbors loads in milliseconds again (one query instead of one per berth). ```
      reply     [compressed] Done. The calendar now makes one query instead of one per berth, and `stays_berth_arrival` serves it: 1,806 ms became 12 ms.
      5 more: add `session:0bdfff62`

    0bdfff62-97cf-42f9-af03-3d02c076086b/agent-860e120f6f894155e Explore: Find queries on stays  harbor-api · 1 day ago
      reply     - src/calendar.rs:31: one query per berth, in a loop - src/routes.rs:58: one query
      output    src/calendar.rs:31: for berth in app.berths(harbor).await? { src/routes.rs:58: …

    614ed381 Add GET /berths/{id}/calendar?month=2026-08 that lists the stays touching that month.  harbor-api · 6 minutes ago
      tool      …use crate::{AppState, Error}; /// `GET /berths/{id}/calendar?month=2026-08`: the stays that touch a month. pub async fn calendar( State(app): State<AppState>, Path(berth):…
    --- stderr
    11 hits; 6 shown.
    ");
    insta::assert_snapshot!(env.run(&["--demo", "search", "tokyo where:prompt", "-C", "1"]).show(), @"
    exit code 0
    --- stdout
    592bb649 Explain why the nightly close is a day late in Tokyo  ledger-etl · 1 day ago
    ▸ prompt    The nightly close on the Tokyo box is always a day late. The code is in…
      reply     I'll look at how it picks the day.
      tool      Read ledger/nightly.py
    ");
}

#[test]
fn a_search_by_conditions_shows_what_matched() {
    let env = TestEnv::new();
    let shown = env.run(&["--demo", "search", "tool:Bash session:7c45ebba"]).stdout;
    insta::assert_snapshot!(shown, @"
    7c45ebba Fix back-to-back bookings that were taken for a clash  harbor-api · 8 hours ago
      tool      Bash cargo test --test booking
      tool      Bash cargo test --test booking
    ");
    let shown = env.run(&["--demo", "search", "tool:apply_patch", "-n", "1"]).stdout;
    assert!(shown.contains("  tool      Edit "), "{shown}");
}

#[test]
fn context_is_what_was_said_and_done_once() {
    let env = TestEnv::new();
    let shown = env.run(&["--demo", "search", "calendar session:614ed381", "-C", "2"]).stdout;
    insta::assert_snapshot!(shown, @"
    614ed381 Add GET /berths/{id}/calendar?month=2026-08 that lists the stays touching that month.  harbor-api · 6 minutes ago
    ▸ prompt    Add GET /berths/{id}/calendar?month=2026-08 that lists the stays touching that month.
    ▸ tool      Writing to src/calendar.rs
      reply     The handler is there. `month.rs` is next.
    ▸ tool      Handler in src/calendar.rs
    ");
    // A message is a hit or context, and no more than once.
    let lines: Vec<&str> = shown.lines().collect();
    let mut once = lines.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), lines.len(), "{shown}");
    assert!(!shown.contains("session_context") && !shown.contains("()"), "{shown}");
}

#[test]
fn for_programs() {
    let mut got = demo(&["\"back-to-back\"", "--limit", "1"]);
    got["took_ms"] = 0.into();
    insta::assert_snapshot!(serde_json::to_string_pretty(&got).unwrap(), @r#"
    {
      "hits": [
        {
          "at": "2026-08-14T07:44:59.104Z",
          "fate": "kept",
          "kind": "session",
          "message": null,
          "project": "/home/sam/code/harbor-api",
          "role": "system",
          "score": 6.84,
          "session": "7c45ebba-d98a-4af1-8738-703cca36b2f4",
          "snippet": [
            [
              "Fix ",
              false
            ],
            [
              "back-to-back",
              true
            ],
            [
              " bookings that were taken for a clash",
              false
            ]
          ],
          "where": "summary"
        }
      ],
      "query": "\"back-to-back\"",
      "schema": "backstory.search/1",
      "took_ms": 0,
      "total": 4
    }
    "#);
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
    assert_eq!(total(&["tool:Bash", "--agent", "gemini"]), total(&["tool:run_shell_command"]));
    assert!(total(&["tool:Bash"]) > total(&["tool:Bash", "--agent", "gemini"]), "of all agents");
    assert!(total(&["tide kind:prompt"]) <= user);
}

#[test]
fn nothing_is_an_answer() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["search", "cart zyzzyva"]).show(), @"
    exit code 1
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    error: nothing found for `cart zyzzyva`
      hint: no session contains `zyzzyva`
      hint: `--exact` also searches the middle of long tool output
    ");
    insta::assert_snapshot!(env.run(&["search", "sort catr"]).show(), @"
    exit code 1
    --- stderr
    error: nothing found for `sort catr`
      hint: did you mean `sort cart`?
      hint: no session contains `catr`
      hint: `--exact` also searches the middle of long tool output
    ");
    insta::assert_snapshot!(env.run(&["search", "cart till"]).show(), @"
    exit code 1
    --- stderr
    error: nothing found for `cart till`
      hint: each word occurs, but no message contains all of them; `OR` finds any
      hint: `--exact` also searches the middle of long tool output
    ");
    insta::assert_snapshot!(env.run(&["search", "cart fate:rewound"]).show(), @"
    exit code 1
    --- stderr
    error: nothing found for `cart fate:rewound`
      hint: each word occurs, but not where the conditions allow it
      hint: `--exact` also searches the middle of long tool output
    ");
    let run = env.run(&["search", "zyzzyva", "--json"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("\"hits\": []"), "{}", run.stdout);
}

#[test]
fn a_bad_query_says_where() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["search", "add \"a cart"]).show(), @r#"
    exit code 2
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    error: the quote is never closed
        add "a cart
            ^^^^^^^
      hint: `backstory search --help` explains queries
    "#);
    insta::assert_snapshot!(env.run(&["search", "日本 role:chef"]).show(), @"
    exit code 2
    --- stderr
    error: `role:` is one of user, assistant, tool, system
        日本 role:chef
             ^^^^^^^^^
      hint: `backstory search --help` explains queries
    ");
    insta::assert_snapshot!(env.run(&["search", "???"]).show(), @"
    exit code 2
    --- stderr
    error: there is no word in `???`
      hint: `--exact` searches for any characters
    ");
    insta::assert_snapshot!(env.run(&["search", "--regex", "a("]).show(), @"
    exit code 2
    --- stderr
    error: `a(` is not a valid regular expression
      caused by: regex parse error:
            a(
             ^
        error: unclosed group
      hint: `--exact` takes every character literally
    ");
}

#[test]
fn characters_and_patterns() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["search", "--exact", "a ca"]).show(), @"
    exit code 0
    --- stdout
    11111111 add a cart  shop · 25 days ago
      @s1 prompt    add a cart
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    1 hit in all text, including the middle of long tool output, which is not indexed.
    ");
    assert_eq!(env.json(&["search", "--regex", "^(add|sort) ", "--json"])["total"], 2);
    assert_eq!(env.run(&["search", "--exact", "A CART"]).code, Some(1), "case counts");
    assert_eq!(env.json(&["search", "--regex", "(?i)A CART", "--json"])["total"], 1);
}

/// Deleted sessions are found like all others, because the archive has their text.
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
    insta::assert_snapshot!(env.run(&["show", "1111", "--grep", "till"]).show(), @"
    exit code 0
    --- stdout
    add a cart
    id         11111111-0000-4000-8000-000000000001
    project    /code/shop
    time       2026-07-20 10:00 to 11:00 (1 h)
    size       2 prompts, 0 model calls, 0 tool calls, 0 tokens

    you  2026-07-20 10:00  1 h
      add a cart

    gemini-2.5-pro  11:00
      done

    ▸ you  2026-07-20 10:00  1 h
      and a till

    gemini-2.5-pro  11:00
      done
    --- stderr
    2 faults while reading; see `backstory doctor`.
    ");
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
    insta::assert_snapshot!(env.run(&["--demo", "prompts", "--project", "harbor", "--long"]).show(), @r"
    exit code 0
    --- stdout
      TYPED             PROJECT     SESSION   FROM           TEXT
                        harbor-api            shell_history  git fetch --all --prune
                        harbor-api            shell_history  docker run --rm -p 5432:5432 \ postgres:16
                        harbor-api            shell_history  cargo tree -d
      2026-07-03 09:14  harbor-api  0a71429b  logs only      what does the berth_locks table do, and who still writes to it?
      2026-07-03 09:19  harbor-api  0a71429b  logs only      ok. draft a migration that drops it, but keep a copy of the rows
      2026-07-03 09:31  harbor-api  0a71429b  logs only      /quit
      2026-07-16 12:21  harbor-api  60613624  session        We need a rate limit on POST /bookings: 10 a minute per API key, 429 with Retry-After. What are the options with axum, and which one would you take?
      2026-07-16 12:22  harbor-api  60613624  session        We need a rate limit on POST /bookings: 10 a minute per API key, 429 with Retry-After. What are the options with axum, and which one would you take?
      2026-07-16 12:23  harbor-api  60613624  session        agreed, but not this week
      2026-07-16 12:24  harbor-api  60613624  logs           /quit
      2026-08-12 08:34  harbor-api  b2c9cd3c  session        Where do we open database connections? I have a feeling there is more than one pool.
      2026-08-12 08:35  harbor-api  b2c9cd3c  logs           /resume save one-pool
      2026-08-12 08:35  harbor-api  b2c9cd3c  session        good. I'll change the health check myself. anything else that could starve the pool?
      2026-08-12 08:36  harbor-api  b2c9cd3c  logs           /quit
      2026-08-12 14:20  harbor-api  019ff658  session        which cases do the booking tests miss? add them
      2026-08-12 14:31  harbor-api  019ff658  session        yes, fix it
      2026-08-12 16:03  harbor-api  019ff6b6  session        instead of a check, could a type rule it out?
      2026-08-13 10:02  harbor-api  0bdfff62  session        The berth calendar takes two seconds for large harbors. Find out why and fix it.
      2026-08-13 10:05  harbor-api  0bdfff62  session        /compact
      2026-08-13 10:06  harbor-api  0bdfff62  session        Write the entry for the changelog.
      2026-08-13 15:20  harbor-api  42ccf7c5  session        Would a materialized view be even better? Just compare, don't change anything.
      2026-08-14 07:42  harbor-api  7c45ebba  session        cargo test is red since yesterday's merge: `back_to_back_stays_do_not_clash`. Find out why. Don't touch the test, I'm sure it is right.
      2026-08-14 07:44  harbor-api  7c45ebba  session        git status
      2026-08-14 07:44  harbor-api  7c45ebba  session        write me a commit message, one line and a short body
      2026-08-14 07:45  harbor-api  7c45ebba  logs           /quit
      2026-08-14 16:22  harbor-api  614ed381  session        Add GET /berths/{id}/calendar?month=2026-08 that lists the stays touching that month.
      2026-08-14 16:23  harbor-api  614ed381  session        a wrong month must be a 400, not a 500
    --- stderr
    3 of them are all that is left of 1 session, in a prompt log: 0a71429b-5c59-4030-a9e1-148825e87289
    ");
    insta::assert_snapshot!(env.run(&["--demo", "prompts", "--grep", "tide -feed"]).show(), @"
    exit code 0
    --- stdout
    src/chart/TideChart.tsx has 600 lines. Split it into parts that make sense, no change in behaviour.
    ");
    let got = env.json(&["--demo", "prompts", "--json"]);
    let rows = got["prompts"].as_array().unwrap();
    for from in ["session", "logs", "shell_history"] {
        assert!(rows.iter().any(|row| row["from"] == from), "{from}");
    }
}

#[test]
fn hits_have_numbers_that_open_the_place() {
    let env = small_home();
    let run = env.run(&["search", "list"]);
    assert!(run.stdout.contains("\n  @s1 prompt    sort the list\n"), "{}", run.stdout);
    let shown = env.run(&["show", "@s1", "--no-pager"]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert_eq!(marked(&shown.stdout), ["  sort the list"]);
    // Other commands take the session of the hit.
    let printed = env.run(&["export", "@s1", "--format", "markdown"]);
    assert!(printed.stdout.contains("sort the list"), "{}", printed.stderr);
    // A document for a program changes nothing; a new search does.
    env.run(&["search", "till", "--json"]);
    assert!(env.run(&["show", "@s1", "--no-pager"]).stdout.contains("sort the list"));
    env.run(&["search", "--exact", "a till"]);
    let shown = env.run(&["show", "@s1", "--no-pager"]).stdout;
    assert_eq!(marked(&shown), ["  and a till"]);
}

/// Returns the first lines of the marked messages.
fn marked(shown: &str) -> Vec<&str> {
    let lines = shown.lines().zip(shown.lines().skip(1));
    lines.filter(|(head, _)| head.starts_with('▸')).map(|(_, text)| text).collect()
}

#[test]
fn one_command_opens_the_best_hit() {
    let env = TestEnv::new();
    let opened = env.run(&["--demo", "search", "tokyo where:prompt", "--open"]);
    assert_eq!((opened.code, marked(&opened.stdout).len()), (Some(0), 1), "{}", opened.stderr);
    assert!(opened.stdout.contains("The nightly close on the Tokyo box"), "{}", opened.stdout);
    let title = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let best = env.run(&["--demo", "show", "--grep", "tokyo where:prompt"]);
    assert_eq!((best.code, title(&best.stdout)), (Some(0), title(&opened.stdout)));
    let exact = env.run(&["--demo", "search", "--exact", "The nightly close on", "--open"]);
    assert_eq!(title(&exact.stdout), title(&opened.stdout));
    let second = env.run(&["--demo", "search", "berth calendar", "--offset", "5", "--open"]);
    assert!(second.stdout.contains("614ed381"), "{}", second.stdout);
    let document = env.json(&["--demo", "search", "tokyo where:prompt", "--open", "--json"]);
    assert_eq!(document["schema"], "backstory.session/1");
    for command in [&["search", "zyzzyva", "--open"][..], &["show", "--grep", "zyzzyva"]] {
        let none = env.run(&[&["--demo"], command].concat());
        assert_eq!(none.code, Some(1));
        assert!(none.stderr.starts_with("error: nothing found for `zyzzyva`"), "{}", none.stderr);
    }
}

#[test]
fn a_hit_that_is_not_there_is_an_error_with_a_hint() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["show", "@s1"]).show(), @r"
    exit code 1
    --- stderr
    error: no earlier search was found
      hint: `backstory search` numbers its hits
    ");
    env.run(&["search", "list"]);
    insta::assert_snapshot!(env.run(&["show", "@s7"]).show(), @r"
    exit code 1
    --- stderr
    error: the last search, for `list`, has no hit 7
      hint: its hits are `@s1` to `@s1`
    ");
    // Searches elsewhere are not remembered.
    assert!(!env.run(&["--demo", "search", "berth"]).stdout.contains("@s1"));
    let from = env.run(&["--from", ".gemini", "search", "till"]);
    assert!(!from.stdout.contains("@s1"), "{}", from.stdout);
}

#[cfg(unix)]
#[test]
fn the_last_search_is_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let env = small_home();
    env.run(&["search", "list"]);
    let file = env.home().join(".local/share/backstory/archive.search");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // Its words may be those of a session that must not be left anywhere.
    assert_eq!(env.run(&["forget", SHOP, "--yes"]).code, Some(0));
    assert!(!file.exists());
}
