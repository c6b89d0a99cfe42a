//! Tests that a cost that is only a lower bound is marked wherever it is printed or exported.

use std::fs;

use crate::support::TestEnv;

const MIXED: &str = "77777777-0000-4000-8000-000000000007";

/// Writes a session with a call that has a price (0.0125 USD), and one of an unknown model.
fn mixed() -> TestEnv {
    let env = TestEnv::new();
    let at = "2026-08-14T10:00:00.000Z";
    let call = |id: &str, model: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"{at}","type":"gemini","content":"done","model":"{model}","tokens":{{"input":10000,"output":0,"cached":0,"thoughts":0,"tool":0,"total":10000}}}}"#
        )
    };
    let log = [
        format!(
            r#"{{"sessionId":"{MIXED}","projectHash":"7777","startTime":"{at}","lastUpdated":"{at}","kind":"main"}}"#
        ),
        format!(r#"{{"id":"u","timestamp":"{at}","type":"user","content":[{{"text":"go"}}]}}"#),
        call("a", "gemini-2.5-pro"),
        call("b", "made-up-9"),
        String::new(),
    ];
    env.write(".gemini/tmp/p/.project_root", "/code/p");
    env.write(".gemini/tmp/p/chats/session-2026-08-14T10-00-77777777.jsonl", log.join("\n"));
    env
}

#[test]
fn people_see_that_a_price_is_missing() {
    let env = mixed();
    let commands: [&[&str]; 8] = [
        &[],
        &["sessions"],
        &["projects"],
        &["show", "latest"],
        &["usage"],
        &["usage", "session"],
        &["usage", "project"],
        &["usage", "--budget", "5/month"],
    ];
    for args in commands {
        let run = env.run(args);
        assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
        let shown: Vec<&str> =
            run.stdout.split_whitespace().filter(|word| word.contains("$0.01")).collect();
        assert!(!shown.is_empty(), "{args:?}: {}", run.stdout);
        assert!(shown.iter().all(|cost| cost.starts_with('≥')), "{args:?}: {}", run.stdout);
    }
    let models = env.run(&["usage", "model"]).stdout;
    assert!(models.lines().any(|line| line.contains("made-up-9") && line.contains("no price")));
    assert!(models.lines().any(|line| line.contains("gemini-2.5-pro") && line.contains(" $0.01")));
}

#[test]
fn exports_say_that_a_price_is_missing() {
    let env = mixed();
    let export = |args: &[&str]| {
        let run = env.run(&[&["export", "latest", "--no-redact"], args].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout
    };
    let markdown = export(&["--format", "markdown", "--tokens"]);
    assert!(markdown.contains("\nunpriced_calls: 1\n"), "{markdown}");
    assert!(markdown.contains("20,000 tokens · ≥$0.01"), "{markdown}");
    assert!(markdown.contains("10,000 fresh input · no price"), "{markdown}");
    let html = export(&["--format", "html", "--tokens"]);
    assert!(html.contains("1 call without a price\"><dd>≥$0.01</dd>"), "{html}");
    assert!(html.contains("10,000 fresh input, no price</p>"), "{html}");
    let csv = export(&["--format", "csv", "--rows", "sessions"]);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].ends_with(",cost_usd,at_least,unpriced_calls"), "{csv}");
    assert!(lines[1].ends_with(",0.012500,false,1"), "{csv}");
    for folder in ["html", "markdown"] {
        let out = env.home().join(folder);
        let run = env.run(&["export", "--all", "--format", folder, "-o", out.to_str().unwrap()]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let index = if folder == "html" { "index.html" } else { "index.md" };
        let index = fs::read_to_string(out.join(index)).unwrap();
        assert_eq!(index.matches("≥$0.01").count(), 2, "{index}");
    }
}

#[test]
fn documents_count_the_calls_without_a_price() {
    let env = mixed();
    let documents: [(&[&str], &str); 8] = [
        (&["sessions", "--json"], "/sessions/0"),
        (&["projects", "--json"], "/rows/0"),
        (&["show", "latest", "--json"], ""),
        (&["export", "latest", "--format", "json"], ""),
        (&["usage", "--json"], "/total"),
        (&["usage", "--json"], "/rows/0"),
        (&["--json"], "/totals"),
        (&["--json"], "/recent/0"),
    ];
    for (args, place) in documents {
        let document = env.json(args);
        let row = document.pointer(place).unwrap();
        assert_eq!(row["cost_usd"], "0.012500", "{args:?} {place}");
        assert_eq!(row["unpriced_calls"], 1, "{args:?} {place}");
        assert_eq!(row["at_least"], false, "{args:?} {place}");
    }
    let budget = &env.json(&["usage", "--budget", "5/month", "--json"])["budget"];
    assert_eq!(budget["unpriced_calls"], 1);
}

#[test]
fn verify_lists_each_call_without_a_price() {
    let env = mixed();
    let run = env.run(&["verify", "--strict"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains(&format!("    {MIXED} b: made-up-9\n")), "{}", run.stdout);
    let checks = env.json(&["verify", "--json"])["checks"].clone();
    let unpriced = checks.as_array().unwrap().iter().find(|check| check["name"] == "unpriced");
    assert_eq!(unpriced.unwrap()["items"].as_array().unwrap().len(), 1);
}

/// The demo has a session of an old version, whose files may have lost calls.
#[test]
fn a_bounded_session_is_marked_everywhere() {
    let env = TestEnv::new();
    let bounded = |args: &[&str], with: &str| {
        let run = env.run(&[&["--demo"], args].concat());
        let line = run.stdout.lines().find(|line| line.contains(with) && line.contains('$'));
        assert!(line.is_some_and(|line| line.contains('≥')), "{args:?}: {}", run.stdout);
    };
    bounded(&["sessions"], "56ba4522");
    bounded(&["usage", "session"], "56ba4522");
    bounded(&["projects"], "tern-notes");
    bounded(&["show", "56ba4522"], "cost");
    let rows = env.json(&["--demo", "sessions", "--json"])["sessions"].clone();
    for row in rows.as_array().unwrap() {
        let is_bounded = row["id"].as_str().unwrap().starts_with("56ba4522");
        assert_eq!(row["at_least"], is_bounded, "{}", row["id"]);
    }
}
