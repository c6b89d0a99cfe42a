//! Compares every format of some sessions with files that were reviewed. `BLESS=1 cargo test golden` rewrites the
//! files; then review the changes.

use std::fs;

use crate::support::{SHOP, TestEnv, session, testdata};

/// Name of the golden files, where to read, what to export.
const SESSIONS: [(&str, &str, &str); 4] = [
    ("interactive", "gemini/0.61.0/interactive", "latest"),
    ("subagent", "gemini/0.61.0/subagent", "latest"),
    ("attachments", "gemini/shapes/attachments", "latest"),
    ("hostile", "export/hostile.jsonl", "latest"),
];

/// Format, ending, options.
const FORMATS: [(&str, &str, &[&str]); 9] = [
    ("markdown", "md", &[]),
    ("markdown", "full.md", &["--thoughts", "--tool-output", "--info", "--tokens"]),
    ("html", "html", &["--info", "--tokens"]),
    ("json", "json", &[]),
    ("jsonl", "jsonl", &[]),
    ("calls", "calls.jsonl", &[]),
    ("csv", "calls.csv", &[]),
    ("csv", "tools.csv", &["--rows", "tools"]),
    ("csv", "sessions.csv", &["--rows", "sessions"]),
];

#[test]
#[expect(clippy::disallowed_methods, reason = "whoever runs the test asks for it")]
fn golden_files() {
    let env = TestEnv::new();
    let bless = std::env::var_os("BLESS").is_some();
    let folder = testdata("export/golden");
    let root = testdata("").to_str().unwrap().to_owned();
    let mut wrong = Vec::new();
    for (name, from, session) in SESSIONS {
        let from = testdata(from).to_str().unwrap().to_owned();
        for (format, ending, options) in FORMATS {
            let mut args = vec!["-q", "--from", &from, "export", session, "--no-redact"];
            args.extend(["--format", format]);
            args.extend(options);
            let run = env.run(&args);
            assert_eq!(run.code, Some(0), "{name} {format}: {}", run.stderr);
            assert_eq!(env.run(&args).stdout, run.stdout, "{name} {format} is never the same");
            let text = stable(&run.stdout).replace(&root, "[TESTDATA]/");
            let file = folder.join(format!("{name}.{ending}"));
            if bless {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&file, text).unwrap();
            } else if fs::read_to_string(&file).unwrap_or_default() != text {
                wrong.push(file.display().to_string());
            }
        }
    }
    assert!(wrong.is_empty(), "not as they were (BLESS=1 renews them): {wrong:#?}");
}

/// Returns a page without its style and script, which are separate files, and without their hashes.
fn stable(text: &str) -> String {
    let mut out = text.to_owned();
    for (from, to) in [("<style>", "</style>"), ("<script>\n'use", "</script>"), ("sha256-", "'")] {
        let mut at = 0;
        while let Some(start) = out[at..].find(from).map(|found| at + found + from.len()) {
            let end = out[start..].find(to).map_or(out.len(), |found| start + found);
            out.replace_range(start..end, "");
            at = start;
        }
    }
    out
}

/// Whatever a session contains, the page has one script, and no text escapes its element.
#[test]
fn hostile_content_is_text() {
    let env = TestEnv::new();
    let file = testdata("export/hostile.jsonl");
    let file = file.to_str().unwrap();
    let every = ["--thoughts", "--tool-output", "--info", "--tokens"];
    let mut args = vec!["export", file, "--no-redact", "--format", "html"];
    args.extend(every);
    let page = env.run(&args).stdout;
    assert_eq!(page.matches("<script").count(), 1);
    let head = page.find("</head>").unwrap();
    let body = &page[head..];
    for never in [
        "<iframe",
        "<style",
        "<svg onload",
        "<b onmouseover",
        "<img src=x",
        "href=\"javascript",
        "href=\"data",
        "image/svg+xml;base64",
        "\u{1b}",
        "\u{202e}",
    ] {
        assert!(!body.contains(never), "{never}");
    }
    assert_eq!(body.matches("<details").count(), body.matches("</details>").count());
    assert_eq!(body.matches("<article").count(), body.matches("</article>").count());
    assert_eq!(body.matches("<img").count(), 1);
    assert!(body.contains("src=\"data:image/png;base64,iVBOR"));
    args[4] = "markdown";
    let page = env.run(&args).stdout;
    let fences: Vec<&str> = page.lines().filter(|line| line.starts_with("```")).collect();
    assert!(fences.iter().any(|fence| fence.starts_with("``````")), "{fences:?}");
    for never in ["\n<script", "\n<style", "\n<iframe", " [click](javascript", "\u{1b}", "\u{202e}"]
    {
        assert!(!page.contains(never), "{never:?}");
    }
}

/// A long page is laid out a part at a time.
#[test]
fn long_pages_have_leaves() {
    let env = TestEnv::new();
    let at = "2026-08-14T10:00:00.000Z";
    let log = env.write("log.jsonl", session(SHOP, at, at, &["again"; 40]));
    let page = env.run(&["export", log.to_str().unwrap(), "--format", "html"]).stdout;
    let (_, story) = page.split_once("<section id=\"story\"").unwrap();
    let leaves: Vec<usize> = story
        .split("<div class=\"leaf\">")
        .skip(1)
        .map(|leaf| leaf.matches("<article").count())
        .collect();
    assert_eq!(leaves, [25, 25, 25, 5]);
    assert_eq!(page.matches("<div").count(), page.matches("</div>").count());
}
