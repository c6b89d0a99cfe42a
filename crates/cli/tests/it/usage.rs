//! Tests `usage`, `verify` and `pricing` on the sample sessions and on bad numbers.

use serde_json::{Value, json};

use crate::support::{TestEnv, session, testdata};

fn usage(args: &[&str]) -> Value {
    let args: Vec<&str> = [&["--demo", "usage", "--json"], args].concat();
    TestEnv::new().json(&args)
}

#[test]
fn for_people() {
    insta::assert_snapshot!(TestEnv::new().run(&["--demo", "usage", "model"]).show(), @"
    exit code 0
    --- stdout
      MODEL                      CALLS    INPUT     CACHED  WRITTEN  OUTPUT  THOUGHTS      TOTAL     COST  PER CALL
      gemini-2.5-pro                15  243,037    903,205        0   2,156     8,860  1,157,258   ≥$0.56     $0.04
      gemini-3.1-pro-preview        17   65,751    173,220        0   2,422     6,388    247,781    $0.27     $0.02
      gemini-3-flash-preview        11   55,055    183,296        0   1,149     1,593    241,093    $0.04   $0.0041
      claude-opus-5                  7       41    153,842   27,557   3,422         0    184,862    $0.72     $0.10
      claude-sonnet-5                8    1,486    117,505   41,106   3,018         0    163,115    $0.21     $0.03
      gpt-5.5                        8   24,593     61,952        0   1,824     1,220     89,589    $0.25     $0.03
      gemini-2.5-flash               9   30,812     55,260        0   1,177     1,627     88,876    $0.02   $0.0020
      gemini-3-pro-preview           6   25,267     42,600        0     715     2,822     71,404    $0.10     $0.02
      gpt-5.6-sol                    2    6,998     14,848      512     252        96     22,706    $0.11     $0.06
      claude-haiku-4-5-20251001      2       10      4,120    4,731     229         0      9,090  $0.0075   $0.0037
      total                         85  453,050  1,709,848   73,906  16,364    22,606  2,275,774   ≥$2.29     $0.03
    --- stderr
    This month: $2.18; at this pace, $4.93 by its end.
    76 % of input came from the cache; 58 % of output was thoughts.
    Cost is an estimate: list prices of 2026-11-15, days in UTC.
    Not in the files, and not counted: titles, compactions, web searches and suggestions (Claude Code); titles, compactions and ephemeral threads (Codex CLI); compression, summaries, routing and search (Gemini CLI).
    Note: ≥ marks a lower bound; some files lack calls or final token counts. `backstory --demo verify` lists each.
    ");
}

/// The figures are those of the generator (`make.py --truth`).
#[test]
fn by_model() {
    let got = usage(&["model"]);
    assert_eq!(got["total"]["calls"], 85);
    assert_eq!(got["total"]["total"], 2_275_774);
    assert_eq!(got["total"]["cached"], 1_709_848);
    assert_eq!(got["total"]["cost_usd"], "2.288173075");
    let calls = |model: &str| {
        let rows = got["rows"].as_array().unwrap();
        rows.iter().find(|row| row["key"] == model).map(|row| row["calls"].clone()).unwrap()
    };
    assert_eq!(calls("gemini-2.5-pro"), 15);
    assert_eq!(calls("gemini-3.1-pro-preview"), 17);
    assert_eq!(calls("claude-sonnet-5"), 8);
    assert_eq!(calls("gpt-5.5"), 8);
}

#[test]
fn every_group_adds_up() {
    let total = usage(&[])["total"].clone();
    for group in [
        "daily", "weekly", "monthly", "hourly", "session", "prompt", "project", "model", "kind",
        "agent", "machine",
    ] {
        for zone in ["UTC", "Asia/Tokyo", "America/St_Johns"] {
            let got = usage(&[group, "--tz", zone]);
            for field in
                ["calls", "input", "cached", "output", "thoughts", "tool", "other", "total"]
            {
                let sum: u64 = got["rows"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|r| r[field].as_u64().unwrap())
                    .sum();
                assert_eq!(sum, total[field].as_u64().unwrap(), "{group} {zone} {field}");
            }
        }
    }
}

#[test]
fn narrowed() {
    assert_eq!(usage(&["--project", "dotfiles"])["total"]["total"], 70_188);
    assert_eq!(usage(&["--model", "2.5-FLASH"])["total"]["calls"], 9);
    assert_eq!(usage(&["--kind", "subagent"])["total"]["total"], 20_807 + 9_090);
    assert_eq!(usage(&["--since", "2026-08-14"])["total"]["calls"], 19);
    assert_eq!(usage(&["--view", "current"])["total"]["total"], 918_589);
    let parent = "b2c9cd3c-c425-4fb0-bb61-c7bffd2b9c6a";
    let rolled = usage(&["session", "--rollup"]);
    let rows = rolled["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["key"] == parent).unwrap();
    assert_eq!(row["total"], 35_705 + 20_807);
    let parts = usage(&["project", "--breakdown"]);
    assert!(parts["rows"][0]["models"].as_array().unwrap().len() > 1);
    assert_eq!(TestEnv::new().run(&["--demo", "usage", "--since", "2030-01-01"]).code, Some(1));
}

#[test]
fn the_newest_rows() {
    let all = usage(&["daily"]);
    let days = all["rows"].as_array().unwrap();
    let newest = usage(&["daily", "-n", "2"]);
    assert_eq!(newest["rows"].as_array().unwrap(), &days[days.len() - 2..]);
    assert_eq!(newest["total"], all["total"]);
    let run = TestEnv::new().run(&["--demo", "usage", "-n", "1"]);
    let more = format!("{} more rows; the total includes them.", days.len() - 1);
    assert!(run.stderr.contains(&more) && run.stdout.contains("total"), "{}", run.show());
}

#[test]
fn a_budget() {
    let env = TestEnv::new();
    assert_eq!(env.run(&["--demo", "usage", "--budget", "200/month"]).code, Some(0));
    let over = env.run(&["--demo", "usage", "--budget", "0.5/month"]);
    assert_eq!(over.code, Some(1));
    assert!(over.stdout.contains("Budget: $2.18 of $0.50 this month"), "{}", over.stdout);
    let spent = env.run(&["--demo", "usage", "--budget", "0.5/month", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&spent.stdout).unwrap();
    let budget = &document["budget"];
    assert_eq!((spent.code, &budget["limit_usd"]), (Some(1), &"0.500000".into()), "{budget}");
    assert_eq!((&budget["each"], &budget["is_over"]), (&"month".into(), &true.into()));
    // A month without a call is not over budget.
    let quiet = ["--demo", "usage", "--since", "2030-01-01", "--budget", "200/month"];
    assert_eq!(env.run(&quiet).code, Some(0));
    assert_eq!(env.run(&["--demo", "usage", "--budget", "much"]).code, Some(2));
}

#[test]
fn own_prices() {
    let env = TestEnv::new();
    let file = env.write(
        "mine.json",
        r#"{"rows": [{"model": "gemini-2.5-flash", "input": "1", "output": 2, "cache_read": "0.5"}]}"#,
    );
    let file = file.to_str().unwrap();
    let got =
        env.json(&["--demo", "--pricing", file, "usage", "--model", "gemini-2.5-flash", "--json"]);
    // 30,812 fresh and 55,260 cached tokens, 1,177 + 1,627 out.
    assert_eq!(got["total"]["cost_usd"], "0.064050");
    env.write("bad.json", r#"{"rows": [{"model": "x", "input": "-1", "output": 2}]}"#);
    let bad = env.run(&["--demo", "--pricing", "bad.json", "usage"]);
    assert_eq!(bad.code, Some(2));
    assert!(bad.stderr.contains("bad.json") && bad.stderr.contains("input"), "{}", bad.stderr);
}

/// Each bad number is reported; none is fatal, and none silently counts as zero.
#[test]
fn one_absurd_number_does_not_spoil_the_rest() {
    let env = TestEnv::new();
    let call = |id: &str, input: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-08-01T10:00:00.000Z","type":"gemini","content":"x","tokens":{{"input":{input}}}}}"#
        )
    };
    let header = r#"{"sessionId":"66666666-0000-4000-8000-000000000006","projectHash":"h"}"#;
    let log = [header, &call("a", "1e19"), &call("b", "1e300"), &call("c", "7"), ""].join("\n");
    env.write(".gemini/tmp/p/chats/session-2026-08-01T00-00-66666666.jsonl", log);
    for more in [&["--from", "."][..], &[]] {
        for group in ["daily", "model", "session"] {
            let got = env.json(&[more, &["usage", group, "--json"]].concat());
            assert_eq!(got["total"]["total"], 2_000_000_000_007_u64, "{group}");
        }
    }
}

/// A document on one line is the same as one on many.
#[test]
fn messages_without_an_id_count_however_they_are_written() {
    let document = serde_json::json!({
        "sessionId": "66666666-0000-4000-8000-000000000006", "projectHash": "h",
        "messages": [{ "type": "gemini", "content": "x", "tokens": { "input": 7 } }],
    });
    let pretty = serde_json::to_string_pretty(&document).unwrap();
    for text in [document.to_string(), pretty] {
        let env = TestEnv::new();
        env.write(".gemini/tmp/p/chats/session-2026-08-01T00-00-66666666.json", text);
        assert_eq!(env.json(&["usage", "--json"])["total"]["total"], 7);
        assert_eq!(env.json(&["usage", "--json", "--from", "."])["total"]["total"], 7);
    }
}

#[test]
fn bad_numbers() {
    let env = TestEnv::new();
    let record = |id: &str, rest: &str| {
        format!("{{\"id\":\"{id}\",\"type\":\"gemini\",\"content\":\"x\",{rest}}}\n")
    };
    let mut log = String::from(
        "{\"sessionId\":\"66666666-0000-4000-8000-000000000006\",\"projectHash\":\"h\",\"startTime\":\"2026-08-01T00:00:00.000Z\"}\n",
    );
    let at = "\"timestamp\":\"2026-08-01T10:00:00.000Z\"";
    log += &record(
        "a",
        &format!(
            "{at},\"model\":\"made-up\",\"tokens\":{{\"input\":10,\"output\":1,\"total\":11}}"
        ),
    );
    log += &record(
        "b",
        &format!("{at},\"model\":\"gemini-2.5-pro\",\"tokens\":{{\"input\":-5,\"output\":2}}"),
    );
    log +=
        &record("c", &format!("{at},\"tokens\":{{\"input\":100,\"cached\":500,\"output\":\"3\"}}"));
    log += &record(
        "d",
        "\"timestamp\":\"soon\",\"model\":\"gemini-2.5-pro\",\"tokens\":{\"input\":7,\"output\":0,\"total\":20}",
    );
    log += &record(
        "e",
        "\"timestamp\":\"2099-01-01T00:00:00.000Z\",\"model\":\"auto\",\"tokens\":{\"input\":1e12}",
    );
    env.write(".gemini/tmp/p/chats/session-2026-08-01T00-00-66666666.jsonl", log);
    let got = env.json(&["usage", "model", "--json"]);
    let total = &got["total"];
    assert_eq!(total["calls"], 5);
    assert_eq!(total["unpriced_calls"], 3);
    assert_eq!(total["undated_calls"], 1);
    assert_eq!(total["other"], 13, "the recorded total has more than its parts");
    assert_eq!(total["cached"], 100, "never more than the input");
    assert_eq!(
        got["pricing"]["unpriced_models"],
        serde_json::json!(["auto", "made-up", "unknown"])
    );
    assert_eq!(got["faults"]["records"], 3);
    assert_eq!(env.run(&["usage", "--strict"]).code, Some(1));
    let verify = env.run(&["verify", "-v"]);
    for words in ["`input` is -5", "`cached` is 500", "more than any model takes", "13 tokens more"]
    {
        assert!(verify.stdout.contains(words), "{words}: {}", verify.stdout);
    }
    assert_eq!(env.run(&["verify", "--strict"]).code, Some(1));
}

#[test]
fn recorded_trees_are_billed_as_served() {
    let expected = std::fs::read_to_string(testdata("gemini/expected-usage.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let env = TestEnv::new();
    for (tree, want) in expected.as_object().unwrap() {
        let home = testdata("gemini").join(tree).join("gemini");
        let got = env.json(&["--from", home.to_str().unwrap(), "usage", "agent", "--json"]);
        for field in ["input", "cached", "output", "thoughts", "tool", "total", "calls"] {
            assert_eq!(got["total"][field], want[field], "{tree}: {field}");
        }
    }
}

#[test]
fn calls_one_by_one() {
    let env = TestEnv::new();
    let all = env.run(&["--demo", "export", "--all", "--format", "calls"]).stdout;
    let rows: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 85);
    let sum = |field: &str| rows.iter().map(|row| row[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("cached_input_tokens"), 1_709_848);
    let parts =
        ["input_tokens", "cached_input_tokens", "cache_creation_input_tokens", "output_tokens"];
    assert_eq!(parts.map(sum).iter().sum::<u64>(), 2_275_774);
    let is_keyed = |row: &Value| {
        let key = row["dedup_key"].as_str().unwrap();
        key.starts_with(&format!("{}:", row["agent"].as_str().unwrap()))
    };
    assert!(rows.iter().all(is_keyed));
    let csv = env.run(&["--demo", "export", "7c45", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().next().unwrap().split(',').count(), 14);
    assert!(csv.contains("cargo test --test booking"), "{csv}");
}

#[test]
fn prices_in_use() {
    let env = TestEnv::new();
    let got = env.json(&["--demo", "pricing", "--json"]);
    assert!(got["rows"].as_array().unwrap().len() > 100);
    assert_eq!(got["unpriced_models"], serde_json::json!([]));
    assert_eq!(env.run(&["--demo", "pricing", "no-such-model"]).code, Some(1));
    let notes = env.run(&["--demo", "pricing"]).stderr;
    assert!(notes.contains("list prices of 2026-11-15."), "{notes}");
    assert!(notes.contains("litellm-1.108.4: litellm (PyPI)"), "{notes}");
    assert!(notes.contains("To refresh: save https://"), "{notes}");
}

#[test]
fn the_demo_verifies() {
    insta::assert_snapshot!(TestEnv::new().run(&["--demo", "verify", "--strict"]).show(), @"
    exit code 0
    --- stdout
    ✓ totals      85 calls; each recorded total is the sum of its parts
    ✓ numbers     every token count is plausible
    ✓ views       2,275,774 tokens used, 918,589 of them in the current view
        019ff658-4467-77ad-9a91-fa18c798a02e: 13,595 of 82,623 tokens
        0bdfff62-97cf-42f9-af03-3d02c076086b: 7,237 of 153,711 tokens
        1074bde6-559a-4ce0-8304-199b77fdc13e: 131,950 of 199,653 tokens
        and 1 more (`-v`)
    ✓ copies      5 sessions with several files or repeated messages; each call counts once
        019ff6b6-ec4c-75cd-807f-67bbb4319d10: 0 repeated messages in 2 files
        1074bde6-559a-4ce0-8304-199b77fdc13e: 1 repeated message in 1 file
        42ccf7c5-4aae-426f-95c7-f8b9834d5333: 21 repeated messages in 1 file
        and 2 more (`-v`)
    ✓ imports     1 session with imported calls, which count in the session that made them
        019ff6b6-ec4c-75cd-807f-67bbb4319d10: 5 calls of another session
    ✓ fates       every removed message has a known reason
    ✓ missing     no session continues a file that is missing
    ✓ at_least    1 session with files that lack calls or final token counts; the sums are lower bounds
        56ba4522-7693-4aba-aba2-9c1df48bdf20: session-2026-03-18T20-07-56ba4522.json
    ✓ undated     every call has a time
    ✓ unpriced    every call has a price
    ✓ estimated   no call is priced as a similar model or service
    ✓ upper_bound every cached token has a price of its own
    ✓ records     0 faults in what was read
    ");
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let env = TestEnv::new();
    for args in [
        &["--demo", "usage", "daily", "--rollup"][..],
        &["--demo", "usage", "-n", "0"],
        &["--demo", "sessions", "-n", "0"],
        &["--demo", "prompts", "-n", "0"],
        &["--demo", "search", "tide", "-n", "0"],
    ] {
        assert_eq!(env.run(args).code, Some(2), "{args:?}");
    }
}

/// The last prompt comes last; prompts without a time come first.
#[test]
fn the_last_prompts_are_the_newest() {
    let env = TestEnv::new();
    let rows = env.json(&["--demo", "prompts", "--json", "-n", "3"])["prompts"].clone();
    let times: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["at"].as_str().unwrap()).collect();
    assert!(times.is_sorted() && times.len() == 3, "{times:?}");
    let all = env.run(&["--demo", "prompts", "--long"]).stdout;
    assert!(!all.contains("checkpoi "), "{all}");
    // Prompts of other projects are not among them.
    let of_harbor = |more: &[&str]| {
        let args = [&["--demo", "prompts", "--json", "-p", "harbor"], more].concat();
        env.json(&args)["prompts"].as_array().unwrap().clone()
    };
    let (every, last) = (of_harbor(&[]), of_harbor(&["-n", "2"]));
    assert!(every.len() > 2 && last == every[every.len() - 2..], "{last:?}");
}

/// Writes a session of one prompt that is only an image, and damage.
fn image() -> TestEnv {
    let env = TestEnv::new();
    let at = "2026-08-13T08:00:00.000Z";
    let header = session("11111111-0000-4000-8000-000000000001", at, at, &[]);
    let image = json!([{ "inlineData": { "mimeType": "image/png", "data": "aaaa" } }]);
    let prompt = json!({ "id": "u", "timestamp": at, "type": "user", "content": image });
    let tokens =
        json!({ "input": 10, "output": 1, "cached": 0, "thoughts": 0, "tool": 0, "total": 11 });
    let reply = json!({ "id": "g", "timestamp": at, "type": "gemini", "content": "a cat",
        "model": "gemini-2.5-pro", "tokens": tokens });
    let log = format!("{header}{prompt}\n{reply}\n{{\"colour\": \"red\"}}\n");
    env.write(".gemini/tmp/shop/chats/session-2026-08-13T08-00-11111111.jsonl", log);
    env
}

#[test]
fn a_prompt_without_text_has_a_row_with_a_name() {
    let said = image().run(&["usage", "prompt"]).stdout;
    assert!(said.contains("(no text)"), "{said}");
}

#[test]
fn verify_writes_paths_like_every_other_command() {
    let said = image().run(&["verify"]).stdout;
    assert!(
        said.contains("~/.gemini/tmp/shop/chats/session-2026-08-13T08-00-11111111.jsonl:4: "),
        "{said}"
    );
    assert!(!said.contains("[TEMP]"), "{said}");
}

#[test]
fn three_agents_side_by_side() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["--demo", "usage", "agent"]).stdout, @"
    AGENT   CALLS    INPUT     CACHED  WRITTEN  OUTPUT  THOUGHTS      TOTAL    COST
    gemini     58  419,922  1,357,581        0   7,619    21,290  1,806,412  ≥$1.00
    claude     17    1,537    275,467   73,394   6,669         0    357,067   $0.94
    codex      10   31,591     76,800      512   2,076     1,316    112,295   $0.36
    total      85  453,050  1,709,848   73,906  16,364    22,606  2,275,774  ≥$2.29
    ");
    let all = usage(&["agent"])["total"].clone();
    let one = |agent: &str| usage(&["agent", "--agent", agent])["total"].clone();
    let each = ["claude", "codex", "gemini"].map(one);
    for field in ["calls", "total", "cached", "cache_write_1h"] {
        let sum: u64 = each.iter().map(|total| total[field].as_u64().unwrap()).sum();
        assert_eq!(all[field], sum, "{field}");
    }
    // One project, three agents.
    let project = usage(&["agent", "-p", "harbor-api"]);
    let agents: Vec<_> =
        project["rows"].as_array().unwrap().iter().map(|row| &row["key"]).collect();
    assert_eq!(agents, ["gemini", "claude", "codex"]);
}

/// Blocks are those of Claude Code, unless another agent is requested; the last one is in progress.
#[test]
fn blocks_with_their_pace() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.run(&["--demo", "usage", "blocks"]).show(), @"
    exit code 0
    --- stdout
      BLOCK                   CALLS  INPUT   CACHED  WRITTEN  OUTPUT  THOUGHTS    TOTAL   COST
      2026-08-13 10:00–15:00      9    856  121,625   37,482   2,838         0  162,801  $0.18
      2026-08-13 15:00–20:00      1    640        0    8,355     409         0    9,404  $0.04
        18 h without calls
      2026-08-14 14:00–19:00      7     41  153,842   27,557   3,422         0  184,862  $0.72
      total                      17  1,537  275,467   73,394   6,669         0  357,067  $0.94
    --- stderr
    In progress, 2 h 30 min left: 1,540 tokens per minute, $0.36 per hour. At this pace, 415,939 tokens, $1.62 at its end.
    79 % of input came from the cache; 0 % of output was thoughts.
    Cost is an estimate: list prices of 2026-11-15, days in UTC.
    Not in the files, and not counted: titles, compactions, web searches and suggestions (Claude Code).
    ");
    let sorted = env.run(&["--demo", "usage", "blocks", "--sort", "cost"]).stdout;
    assert!(!sorted.contains("without calls"), "{sorted}");
    for agent in ["claude", "codex", "gemini"] {
        for filter in [&[][..], &["--since", "2026-08-13"], &["-p", "harbor-api"]] {
            let with = |group| usage(&[&[group, "--agent", agent], filter].concat());
            let (blocks, agents) = (with("blocks"), with("agent"));
            assert_eq!(blocks["total"], agents["total"], "{agent} {filter:?}");
        }
    }
    let got = usage(&["blocks"]);
    let last = &got["rows"].as_array().unwrap().last().unwrap()["block"];
    assert_eq!(
        (&last["start"], &last["end"]),
        (&"2026-08-14T14:00:00Z".into(), &"2026-08-14T19:00:00Z".into())
    );
    assert_eq!(last["idle_minutes_before"], 18 * 60);
    assert_eq!(last["running"]["minutes_left"], 150);
}
