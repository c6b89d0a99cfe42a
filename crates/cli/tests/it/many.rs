//! Tests `export` of many sessions.

use std::fs;

use crate::support::{SHOP, TestEnv, small_home, testdata};

fn listing(env: &TestEnv, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(env.home().join(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    // The record for the next export is there too.
    names.retain(|name| name != ".backstory-export");
    names.sort();
    names
}

#[test]
fn a_file_each_and_an_index() {
    let env = small_home();
    let run = env.run(&["export", "--all", "--format", "markdown", "-o", "out/all"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 0
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    wrote 3 sessions to `out/all`
    2 faults while reading; see `backstory doctor`.
    ");
    insta::assert_snapshot!(listing(&env, "out/all").join("\n"), @"
    2026-07-20_shop_add-a-cart_11111111.md
    2026-08-10_shop_sort-the-list_22222222.md
    2026-08-13_tools_why_44444444.md
    index.md
    ");
    let index = fs::read_to_string(env.home().join("out/all/index.md")).unwrap();
    insta::assert_snapshot!(index, @"
    # Sessions

    3 sessions · 0 tokens

    | started | project | session | prompts | tokens | cost at list price |
    | --- | --- | --- | ---: | ---: | ---: |
    | 2026-08-13 08:00 | tools | [why](<2026-08-13_tools_why_44444444.md>) | 1 | 0 |  |
    | 2026-08-10 09:00 | shop | [sort the list](<2026-08-10_shop_sort-the-list_22222222.md>) | 1 | 0 |  |
    | 2026-07-20 10:00 | shop | [add a cart](<2026-07-20_shop_add-a-cart_11111111.md>) | 2 | 0 |  |
    ");
}

#[test]
fn filters_instead_of_a_session() {
    let env = small_home();
    let run =
        env.run(&["export", "-p", "shop", "--since", "2026-08-01", "--format", "html", "-o", "x"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(listing(&env, "x"), ["2026-08-10_shop_sort-the-list_22222222.html", "index.html"]);
    let none =
        env.run(&["export", "-p", "shop", "--since", "2026-08-13", "--format", "html", "-o", "y"]);
    insta::assert_snapshot!(none.show(), @"
    exit code 1
    --- stderr
    error: no sessions match
      hint: `backstory sessions` lists them
    ");
    assert!(!env.home().join("y").exists());
}

#[test]
fn every_form_of_many() {
    let env = small_home();
    for (format, ending) in [("json", "json"), ("jsonl", "jsonl"), ("gemini", "json")] {
        let run = env.run(&["export", "--all", "--format", format, "-o", format]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let names = listing(&env, format);
        assert_eq!(names.len(), 3, "{names:?}");
        assert!(names.iter().all(|name| name.ends_with(&format!(".{ending}"))), "{names:?}");
    }
}

/// Exports are read back as the sessions that they were written from.
#[test]
fn many_are_read_back() {
    let env = TestEnv::new();
    let usage = |from: &[&str]| {
        let mut usage = env.json(&[from, &["usage", "session", "--json"]].concat());
        usage["faults"].take();
        usage
    };
    let want = usage(&["--demo"]);
    assert!(want["rows"].as_array().unwrap().len() > 10);
    for format in ["json", "jsonl"] {
        let run = env.run(&["--demo", "export", "--all", "--format", format, "-o", format]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(usage(&["--from", format]), want);
    }
}

#[test]
fn nothing_is_replaced_unasked() {
    let env = small_home();
    let to = ["export", "--all", "--format", "json", "-o", "out"];
    assert_eq!(env.run(&to).code, Some(0));
    let before = listing(&env, "out");
    let mine = env.home().join("out").join(&before[0]);
    fs::write(&mine, "mine").unwrap();
    insta::assert_snapshot!(env.run(&to).show(), @"
    exit code 2
    --- stderr
    error: `out/2026-07-20_shop_add-a-cart_11111111.json` already exists
      hint: it is not as an export left it; `--force` replaces it and all others
    ");
    assert_eq!(fs::read(&mine).unwrap(), b"mine");
    let mut forced = to.to_vec();
    forced.push("--force");
    assert_eq!(env.run(&forced).code, Some(0));
    assert_ne!(fs::read(&mine).unwrap(), b"mine");
    assert_eq!(listing(&env, "out"), before);
    fs::write(env.home().join("file"), "").unwrap();
    let run = env.run(&["export", "--all", "--format", "json", "-o", "file"]);
    assert!(run.stderr.contains("`file` is not a folder"), "{}", run.stderr);
    let run = env.run(&["export", "--all", "--format", "json", "-o", ".gemini/tmp/x"]);
    assert!(run.stderr.contains("inside an agent's own folder"), "{}", run.stderr);
}

#[test]
fn what_is_missing_is_told() {
    let env = small_home();
    insta::assert_snapshot!(env.run(&["export", "--format", "html"]).show(), @"
    exit code 2
    --- stderr
    error: no session was named
      hint: name one: its id, `latest`, `@N`, or a file
      hint: or many: `--all`, `--project NAME`, `--since 7d`
    ");
    insta::assert_snapshot!(env.run(&["export", "--all", "--format", "html"]).show(), @"
    exit code 2
    --- stderr
    error: many sessions are written to a folder, one file each
      hint: name the folder with `-o FOLDER`
    ");
    insta::assert_snapshot!(env.run(&["export", SHOP, "--format", "html", "--rows", "tools"]).show(), @"
    exit code 2
    --- stderr
    error: `--rows` works only with `--format csv`
    ");
}

/// An export of one session contains its agents; in an export of many, each has a separate file with a link to it.
#[test]
fn agents_inline_and_linked() {
    let env = TestEnv::new();
    let tree = testdata("gemini/0.61.0/subagent");
    let tree = tree.to_str().unwrap();
    for (format, link) in [("markdown", "](<2026-"), ("html", "<a href=\"2026-")] {
        let one = env.run(&["--from", tree, "export", "latest", "--format", format]).stdout;
        assert!(one.contains("What the agent did") && !one.contains(link), "{one}");
        let run = env.run(&["--from", tree, "export", "--all", "--format", format, "-o", format]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let files = listing(&env, format);
        let read = |name: &String| fs::read_to_string(env.home().join(format).join(name)).unwrap();
        let parent = files.iter().map(read).find(|text| text.contains("What the agent did"));
        let parent = parent.unwrap();
        let (_, after) = parent.split_once(link).unwrap();
        let name = format!("2026-{}", after.split(['>', '"']).next().unwrap());
        assert!(files.contains(&name), "{name} in {files:?}");
    }
}

/// Our own documents are distinguished from the agent's, and cannot be converted back to those.
#[test]
fn an_export_is_read_back() {
    let env = small_home();
    env.run(&["export", SHOP, "--format", "jsonl", "-o", "shop.jsonl"]);
    let shown = env.run(&["show", "shop.jsonl"]).stdout;
    assert!(shown.contains("add a cart") && shown.contains("project    /code/shop"), "{shown}");
    insta::assert_snapshot!(env.run(&["export", "shop.jsonl", "--format", "gemini"]).show(), @"
    exit code 2
    --- stderr
    error: `shop.jsonl` is in backstory's own format
      hint: only an agent's own files can be exported in its format
    ");
}

/// The state of a file, which a rewrite changes even if its content stays.
fn stamp(env: &TestEnv, path: &str) -> (std::time::SystemTime, Vec<u8>) {
    let path = env.home().join(path);
    (path.metadata().unwrap().modified().unwrap(), fs::read(path).unwrap())
}

const CART: &str = "out/2026-07-20_shop_add-a-cart_11111111.md";
const SORT: &str = "out/2026-08-10_shop_sort-the-list_22222222.md";
const TO: [&str; 6] = ["export", "--all", "--format", "markdown", "-o", "out"];

#[test]
fn a_second_export_writes_only_what_changed() {
    let env = small_home();
    assert_eq!(env.run(&TO).code, Some(0));
    let before = [stamp(&env, CART), stamp(&env, SORT), stamp(&env, "out/index.md")];
    let again = env.run(&TO);
    assert!(
        again.stderr.starts_with("wrote 0 sessions to `out`; 3 unchanged\n"),
        "{}",
        again.stderr
    );
    assert!(before == [stamp(&env, CART), stamp(&env, SORT), stamp(&env, "out/index.md")]);

    let log = ".gemini/tmp/shop/chats/session-2026-07-20T10-00-11111111.jsonl";
    let mut grown = fs::read_to_string(env.home().join(log)).unwrap();
    grown.push_str("{\"id\":\"u9\",\"timestamp\":\"2026-07-20T10:30:00.000Z\",\"type\":\"user\",\"content\":[{\"text\":\"and a shelf\"}]}\n");
    env.write(log, grown);
    let third = env.run(&TO);
    assert!(
        third.stderr.starts_with("wrote 1 session to `out`; 2 unchanged\n"),
        "{}",
        third.stderr
    );
    assert!(String::from_utf8(stamp(&env, CART).1).unwrap().contains("and a shelf"));
    assert!(before[1] == stamp(&env, SORT));
}

#[test]
fn a_renamed_session_has_one_file() {
    let env = small_home();
    assert_eq!(env.run(&TO).code, Some(0));
    assert_eq!(env.run(&["name", "11111111", "the till"]).code, Some(0));
    assert_eq!(env.run(&TO).code, Some(0));
    let named = "2026-07-20_shop_the-till_11111111.md";
    assert_eq!(listing(&env, "out")[0], named);
    assert_eq!(listing(&env, "out").len(), 4);
    // A file that was changed by hand stays.
    fs::write(env.home().join("out").join(named), "mine").unwrap();
    assert_eq!(env.run(&["name", "11111111", "--clear"]).code, Some(0));
    let run = env.run(&TO);
    assert!(run.stderr.contains("left 1 file there"), "{}", run.stderr);
    assert_eq!(listing(&env, "out").len(), 5);
}

#[test]
fn files_of_other_sessions_stay_and_are_counted() {
    let env = small_home();
    assert_eq!(env.run(&TO).code, Some(0));
    let run = env.run(&["export", "-p", "tools", "--format", "markdown", "-o", "out"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 0
    --- stderr
    wrote 0 sessions to `out`; 1 unchanged
    left 2 files there, of sessions that are not part of this export, or changed by hand
    2 faults while reading; see `backstory doctor`.
    ");
    assert_eq!(listing(&env, "out").len(), 4);
    // They are still known as written by an export.
    let all = env.run(&TO);
    assert!(all.stderr.starts_with("wrote 0 sessions to `out`; 3 unchanged\n"), "{}", all.stderr);
    assert!(!all.stderr.contains("left"), "{}", all.stderr);
}

#[test]
fn an_export_that_was_cut_off_is_continued_but_foreign_files_are_kept() {
    let env = small_home();
    let words = ["export", "--all", "--format", "markdown", "-o", "out"];
    assert_eq!(env.run(&words).code, Some(0));
    // The state before the last file got its name: the list has the old and the new content.
    let manifest = env.home().join("out/.backstory-export");
    let name = "2026-07-20_shop_add-a-cart_11111111.md";
    let path = env.home().join("out").join(name);
    let mut list: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    let old = list["files"][name]["sha256"].take();
    list["files"][name]["sha256"] = "0".repeat(64).into();
    list["files"][name]["before"] = old;
    fs::write(&manifest, list.to_string()).unwrap();
    let run = env.run(&words);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    // A finished export has nothing to continue.
    assert!(!fs::read_to_string(&manifest).unwrap().contains("before"));
    fs::write(&path, "my own notes").unwrap();
    assert_eq!(env.run(&words).code, Some(2));
    assert_eq!(fs::read_to_string(&path).unwrap(), "my own notes");
}
