//! `show` and the exports in our own form, on the demo's tree and on files by themselves.

use crate::support::{TestEnv, testdata};

fn show(args: &[&str]) -> String {
    let args: Vec<&str> = [&["--demo", "show"], args].concat();
    let run = TestEnv::new().run(&args);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

#[test]
fn a_session_with_a_rewind() {
    insta::assert_snapshot!(show(&["1074bde6"]), @r#"
    Split TideChart.tsx into smaller components
    id         1074bde6-559a-4ce0-8304-199b77fdc13e
    project    /home/sam/code/tidepool
    time       2026-08-12 13:05 to 13:09 (3 min)
    size       3 prompts, 6 model calls, 3 tool calls, 199,653 tokens
    cost       $0.03
    models     gemini-3-flash-preview

    you  2026-08-12 13:06  $0.02 · 12 s
      src/chart/TideChart.tsx has 600 lines. Split it into parts that make sense, no change in behaviour.

    gemini-3-flash-preview  13:06
      Three parts share only the scale: axis, line and cursor. The axis first.

      ✓ Write  src/chart/TideAxis.tsx  +5 −0
        @@ -0,0 +1,5 @@
        +export const TideAxis = ({ scale, ticks }: AxisProps) => (
        +  <g className="axis">
        +    {ticks.map((t) => <text key={+t} x={scale(t)}>{t.getHours()}:00</text>)}
        +  </g>
        +);

      The axis has its own file now (5 lines). Shall I go on with the line?

    you  2026-08-12 13:07  $0.0063 · 18 s  [rewound]
    ┊ yes, and use d3-scale for the scales while you are there

    gemini-3-flash-preview  13:07  [rewound]
    ┊ Adding `d3-scale` first.

    ┊ ✓ Bash  npm install d3-scale @types/d3-scale

    ┊ Installed: nine packages, about 60 kB in the bundle. Note that `d3-scale` wants numbers where our scale takes dates, so every caller changes as well.

    you  2026-08-12 13:08  $0.0054 · 18 s
      yes, go on with the line, but without a new dependency

    gemini-3-flash-preview  13:08
      ✓ Bash  npm uninstall d3-scale @types/d3-scale && npx vitest run src/chart

      The stray package is gone again and all 21 tests pass. The line moves next, with the scale we have.
    "#);
}

#[test]
fn what_is_shown_on_request() {
    let plain = show(&["e319"]);
    let all = show(&["e319", "--thoughts", "--tool-output", "--info", "--tokens"]);
    assert!(!plain.contains("<state_snapshot>") && all.contains("<state_snapshot>"));
    assert!(!plain.contains("fresh") && all.contains("203,587") | all.contains("fresh"));
    assert!(plain.contains("the conversation was compressed here"), "{plain}");
    assert!(plain.contains("[compressed]"), "{plain}");
    let current = show(&["e319", "--view", "current"]);
    assert!(!current.contains("[compressed]"));
    let prompts = show(&["e319", "--only", "prompt"]);
    assert!(!prompts.contains("gemini-2.5-pro  2026"));
    let errors = show(&["7c45", "--only", "error"]);
    assert!(errors.contains("File not found") && !errors.contains("Edit"), "{errors}");
}

#[test]
fn names_of_a_session() {
    for name in ["latest", "@1", "614ed381", "session-2026-08-14T16-21-614ed381"] {
        assert!(show(&[name]).contains("614ed381-a826-48cc-b423-1a4d77a44b6f"), "{name}");
    }
    assert!(show(&["checkpoint/45421377/one-pool"]).contains("Where do we open database"));
    let env = TestEnv::new();
    assert_eq!(env.run(&["--demo", "show", "@99"]).code, Some(1));
    assert_eq!(env.run(&["--demo", "show", "7"]).code, Some(2), "ambiguous");
}

#[test]
fn a_subagent_is_linked() {
    let parent = show(&["b2c9"]);
    assert!(
        parent.contains("subagent, 3 model calls, $0.0064: backstory show 1010660a"),
        "{parent}"
    );
    assert!(show(&["1010"]).contains("started by"));
}

#[test]
fn only_what_was_typed_is_left() {
    let log_only = show(&["0a71429b"]);
    assert!(log_only.contains("berth_locks"), "{log_only}");
}

#[test]
fn as_json() {
    let env = TestEnv::new();
    let got = env.json(&["--demo", "show", "7c45", "--json"]);
    assert_eq!(got["schema"], "backstory.session/1");
    let kinds: Vec<&str> =
        got["messages"].as_array().unwrap().iter().map(|m| m["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"shell") && kinds.contains(&"injected"), "{kinds:?}");
    let calls: Vec<&serde_json::Value> = got["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|m| m["tool_calls"].as_array().unwrap())
        .collect();
    assert_eq!(calls.len(), 5);
    assert_eq!((&calls[0]["label"], &calls[0]["exit_code"]), (&"Bash".into(), &101.into()));
    assert_eq!((&calls[3]["lines_added"], &calls[3]["lines_removed"]), (&1.into(), &2.into()));
    let same = env.json(&["--demo", "export", "7c45", "--format", "json"]);
    assert_eq!(got["messages"], same["messages"]);
    let lines = env.run(&["--demo", "export", "7c45", "--format", "jsonl"]).stdout;
    assert_eq!(lines.lines().count(), 1 + kinds.len());
}

#[test]
fn files_by_themselves() {
    let env = TestEnv::new();
    for (file, words) in [
        ("edge/plain.jsonl", "hello"),
        ("edge/header-only.jsonl", "It has no messages."),
        ("edge/bom.jsonl", "hello"),
        ("edge/history-array.json", "yo"),
        ("0.20.2/interactive/project/share-out.json", "prompt one"),
    ] {
        let path = testdata("gemini").join(file);
        let run = env.run(&["show", path.to_str().unwrap()]);
        assert_eq!(run.code, Some(0), "{file}: {}", run.stderr);
        assert!(run.stdout.contains(words), "{file}: {}", run.stdout);
    }
}

#[test]
fn parts() {
    let env = TestEnv::new();
    let home = testdata("gemini/0.20.2/interactive/gemini");
    let home = home.to_str().unwrap();
    let whole = env.run(&["--from", home, "show", "b1da954d"]).stdout;
    assert!(whole.contains("part 2 of 2 (compress)"), "{whole}");
    let second = env.run(&["--from", home, "show", "b1da954d", "--part", "2"]).stdout;
    assert!(second.contains("prompt five") && !second.contains("Answer one"), "{second}");
    assert_eq!(env.run(&["--from", home, "show", "b1da954d", "--part", "3"]).code, Some(2));
}

#[test]
fn images_never_reach_a_terminal() {
    let env = TestEnv::new();
    let log = concat!(
        r#"{"sessionId":"77777777-0000-4000-8000-000000000007","projectHash":"h"}"#,
        "\n",
        r#"{"id":"u","type":"user","content":[{"text":"what is this?"},{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUg=="}}]}"#,
        "\n",
    );
    let path = env.write("image.jsonl", log);
    let run = env.run(&["show", path.to_str().unwrap()]);
    assert!(run.stdout.contains("image/png, 16 B"), "{}", run.stdout);
    assert!(!run.stdout.contains("iVBOR"));
    let json = env.run(&["show", path.to_str().unwrap(), "--json"]);
    assert!(!json.stdout.contains("iVBOR"));
}

/// A session file is somebody else's text: it must not choose which files are read.
#[test]
fn only_outputs_of_its_own_project_are_followed() {
    let env = TestEnv::new();
    let secret = env.write("secret.txt", "the secret");
    let chat = |path: &str| {
        format!(
            "{{\"sessionId\":\"99999999-0000-4000-8000-000000000009\",\"projectHash\":\"h\"}}\n\
             {{\"id\":\"g\",\"type\":\"gemini\",\"content\":\"\",\"toolCalls\":[{{\"id\":\"c\",\"name\":\"run_shell_command\",\"status\":\"success\",\"result\":[{{\"functionResponse\":{{\"id\":\"c\",\"response\":{{\"output\":\"cut. For full output see: {path}\\nstart\"}}}}}}]}}]}}\n"
        )
    };
    env.write(".gemini/tmp/p/tool-outputs/session-9/c.txt", "all of it");
    for (path, words) in [
        ("/elsewhere/.gemini/tmp/p/tool-outputs/session-9/c.txt", "all of it"),
        (secret.to_str().unwrap(), "start"),
        ("/x/tool-outputs/../../../../secret.txt", "start"),
        ("/x/tool-outputs//dev/zero", "start"),
    ] {
        env.write(".gemini/tmp/p/chats/session-2026-08-01T00-00-99999999.jsonl", chat(path));
        let run = env.run(&["show", "99999999", "--tool-output"]);
        assert!(run.stdout.contains(words), "{path}: {}", run.stdout);
        assert!(!run.stdout.contains("the secret"), "{path}");
    }
}

#[test]
fn a_cancelled_call_is_told_once() {
    let shown = show(&["43d4"]);
    assert_eq!(shown.matches("npm install").count(), 1, "{shown}");
}
