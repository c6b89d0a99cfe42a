//! Tests files that are written outside the archive: they are complete or absent, private, and replace only regular
//! files.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Run, SHOP, TestEnv, session, small_home};

/// Returns every file below a folder, with its content.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let content = fs::read(&path).unwrap();
                out.insert(path.strip_prefix(folder).unwrap().to_owned(), content);
            }
        }
    }
    out
}

/// Returns a home with sessions that take a while to write, all of them captured.
fn large_home() -> TestEnv {
    let env = TestEnv::new();
    let text = "many words ".repeat(4_000);
    for n in 0..100 {
        let id = format!("{n:08x}-0000-4000-8000-000000000001");
        let log = session(&id, "2026-07-20T10:00:00.000Z", "2026-08-13T10:00:00.000Z", &[&text]);
        env.write(&format!(".gemini/tmp/shop/chats/session-2026-07-20T10-00-{n:08x}.jsonl"), log);
    }
    env.write(".gemini/tmp/shop/.project_root", "/code/shop");
    assert_eq!(env.run(&["sync"]).code, Some(0));
    env
}

/// Kills the program at 30 random moments of its run. `folder` is emptied and prepared before each, and its content
/// is checked after it.
fn kill_often(
    env: &TestEnv,
    args: &[&str],
    folder: &Path,
    prepare: impl Fn(),
    check: impl Fn(&BTreeMap<PathBuf, Vec<u8>>),
) {
    let start = || {
        let _ = fs::remove_dir_all(folder);
        prepare();
        env.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let begun = Instant::now();
    assert!(start().wait().unwrap().success());
    let mut whole_run = u64::try_from(begun.elapsed().as_micros()).unwrap();
    let mut moment: u64 = 88_172_645_463_325_252;
    let mut killed = 0;
    while killed < 30 {
        let mut child = start();
        moment ^= moment << 13;
        moment ^= moment >> 7;
        moment ^= moment << 17;
        sleep(Duration::from_micros(moment % whole_run.max(1)));
        if child.try_wait().unwrap().is_none() {
            killed += 1;
        } else {
            // The machine has become faster.
            whole_run -= whole_run / 10;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        check(&tree(folder));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_export_leaves_only_whole_files_and_goes_on() {
    let env = large_home();
    let to = |folder: &'static str| {
        ["--no-sync", "export", "--all", "--no-redact", "--format", "json", "-o", folder]
    };
    assert_eq!(env.run(&to("clean")).code, Some(0));
    let clean = tree(&env.home().join("clean"));
    // 100 sessions, and the record for the next export.
    assert_eq!(clean.len(), 101);
    let out = env.home().join("out");
    let count = std::cell::Cell::new(0);
    let check = |after: &BTreeMap<PathBuf, Vec<u8>>| {
        for (file, content) in after {
            // The list of files is written before them.
            let is_list = file.ends_with(".backstory-export");
            assert!(is_list || clean.get(file) == Some(content), "{}", file.display());
        }
        // The next export continues without being forced; trying it each time would take long.
        count.set(count.get() + 1);
        if count.get() % 3 > 0 {
            return;
        }
        let run = env.run(&to("out"));
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(tree(&out) == clean);
    };
    kill_often(&env, &to("out"), &out, || {}, check);
}

#[test]
fn a_killed_replacement_leaves_the_old_file_or_the_new_one() {
    let env = large_home();
    let export = ["--no-sync", "export", "--all", "--no-redact", "--format", "json", "--force"];
    let to = |folder: &'static str| [&export[..], &["-o", folder]].concat();
    assert_eq!(env.run(&to("clean")).code, Some(0));
    let (clean, out) = (tree(&env.home().join("clean")), env.home().join("out"));
    let prepare = || {
        fs::create_dir(&out).unwrap();
        for file in clean.keys() {
            fs::write(out.join(file), "old").unwrap();
        }
    };
    let is_draft = |file: &Path| file.to_str().unwrap().starts_with(".backstory-");
    let check = |after: &BTreeMap<PathBuf, Vec<u8>>| {
        for (file, content) in after.iter().filter(|(file, _)| !is_draft(file)) {
            assert!(content == b"old" || clean[file] == *content, "{}", file.display());
        }
        assert!(clean.keys().all(|file| after.contains_key(file)));
    };
    kill_often(&env, &to("out"), &out, prepare, check);
    // A kill between the two steps of a replacement leaves a second name, until the next run.
    fs::write(out.join(".backstory-Abc123.tmp"), "left").unwrap();
    fs::write(out.join(".backstory-notes"), "mine").unwrap();
    assert_eq!(env.run(&to("out")).code, Some(0));
    assert!(!out.join(".backstory-Abc123.tmp").exists());
    fs::remove_file(out.join(".backstory-notes")).unwrap();
    assert!(tree(&out) == clean);
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_restore_leaves_only_whole_files() {
    let env = large_home();
    let kept = tree(&env.home().join(".gemini/tmp/shop/chats"));
    let check = |after: &BTreeMap<PathBuf, Vec<u8>>| {
        for (file, content) in after {
            let name = file.file_name().unwrap();
            let is_whole = match name.to_str().unwrap() {
                ".project_root" => content == b"/code/shop",
                "projects.json" => serde_json::from_slice::<Value>(content).is_ok(),
                _ => kept.get(Path::new(name)) == Some(content),
            };
            assert!(is_whole, "{}", file.display());
        }
    };
    let args = ["--no-sync", "restore", "--all-files", "--to", "out"];
    kill_often(&env, &args, &env.home().join("out"), || {}, check);
    let args = ["restore", "00000003"];
    kill_often(&env, &args, &env.home().join(".gemini"), || {}, check);
}

/// Runs the program with a umask.
fn with_umask(env: &TestEnv, umask: &str, args: &[&str]) -> Run {
    let program = env.command(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]).arg(program.get_program());
    shell.args(program.get_args()).current_dir(env.home()).env_clear();
    shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let run = env.finish(&mut shell);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

#[test]
fn what_is_written_is_private_whatever_the_umask() {
    for umask in ["000", "022"] {
        let env = small_home();
        let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode() & 0o777;
        let private = |folder: &str| {
            let mut open = vec![env.home().join(folder)];
            let mut seen = 0;
            while let Some(path) = open.pop() {
                let wanted = if path.is_dir() { 0o700 } else { 0o600 };
                assert_eq!(mode(&path), wanted, "{} with umask {umask}", path.display());
                seen += u32::from(path.is_file());
                let entries = fs::read_dir(&path).into_iter().flatten();
                open.extend(entries.map(|entry| entry.unwrap().path()));
            }
            assert!(seen > 0);
        };
        let run = |args: &[&str]| with_umask(&env, umask, args);
        run(&["export", SHOP, "--format", "json", "-o", "one.json"]);
        private("one.json");
        run(&["export", SHOP, "--format", "json", "-o", "one.json", "--force"]);
        private("one.json");
        run(&["export", "--all", "--format", "markdown", "-o", "a/b"]);
        private("a");
        run(&["export", "--all", "--format", "csv", "-o", "rows.csv"]);
        private("rows.csv");
        run(&["restore", "--to", "c/d", "--all-files"]);
        private("c");
        assert_eq!(env.run(&["sync"]).code, Some(0));
        fs::remove_dir_all(env.home().join(".gemini")).unwrap();
        run(&["restore", "2222"]);
        private(".gemini");
    }
}

#[test]
fn only_a_regular_file_is_replaced() {
    let env = small_home();
    let home = env.home();
    assert!(Command::new("mkfifo").arg(home.join("pipe")).status().unwrap().success());
    let _socket = UnixListener::bind(home.join("socket")).unwrap();
    fs::create_dir(home.join("folder")).unwrap();
    symlink("nowhere", home.join("dangling")).unwrap();
    symlink("/dev/null", home.join("null")).unwrap();
    symlink("pipe", home.join("to-pipe")).unwrap();
    let mut special = vec![
        ("pipe", "a pipe"),
        ("to-pipe", "a pipe"),
        ("socket", "a socket"),
        ("folder", "a folder"),
        ("dangling", "a link that leads nowhere"),
        ("null", "a device"),
    ];
    let device = Command::new("mknod").args(["device", "c", "1", "3"]).current_dir(&home).output();
    if device.is_ok_and(|made| made.status.success()) {
        special.push(("device", "a device"));
    }
    for (name, what) in special {
        let before = home.join(name).symlink_metadata().unwrap().file_type();
        for more in [&[][..], &["--force"]] {
            let run = env.run(&[&["export", SHOP, "--format", "json", "-o", name], more].concat());
            assert_eq!(run.code, Some(2), "{name}");
            assert!(
                run.stderr.starts_with(&format!("error: `{name}` is {what}\n")),
                "{}",
                run.stderr
            );
            assert!(!run.stderr.contains("--force"), "{}", run.stderr);
        }
        assert_eq!(home.join(name).symlink_metadata().unwrap().file_type(), before, "{name}");
    }
    assert!(!home.join("nowhere").exists());
    assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
}

#[test]
fn a_link_to_a_file_leads_to_what_is_replaced() {
    let env = small_home();
    let home = env.home();
    fs::create_dir(home.join("far")).unwrap();
    fs::write(home.join("far/file.json"), "mine").unwrap();
    symlink("far/file.json", home.join("link.json")).unwrap();
    let to = ["export", SHOP, "--format", "json", "-o", "link.json"];
    let run = env.run(&to);
    assert!(run.stderr.contains("`link.json` already exists"), "{}", run.stderr);
    assert_eq!(fs::read(home.join("far/file.json")).unwrap(), b"mine");
    assert_eq!(env.run(&[&to[..], &["--force"]].concat()).code, Some(0));
    assert!(home.join("link.json").symlink_metadata().unwrap().is_symlink());
    assert_ne!(fs::read(home.join("far/file.json")).unwrap(), b"mine");
    assert_eq!(fs::read_dir(home.join("far")).unwrap().count(), 1);
}

#[test]
fn many_files_refuse_a_special_one_too() {
    let env = small_home();
    let to = ["export", "--all", "--format", "markdown", "-o", "out", "--force"];
    assert_eq!(env.run(&to).code, Some(0));
    let index = env.home().join("out/index.md");
    fs::remove_file(&index).unwrap();
    symlink("nowhere", &index).unwrap();
    let run = env.run(&to);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(run.stderr.contains("`out/index.md` is a link that leads nowhere"), "{}", run.stderr);
    symlink("nowhere", env.home().join("lost")).unwrap();
    let run = env.run(&["export", "--all", "--format", "json", "-o", "lost"]);
    assert!(run.stderr.contains("`lost` is not a folder"), "{}", run.stderr);
}

#[test]
fn no_detour_leads_into_the_agents_folder() {
    let env = small_home();
    let home = env.home();
    symlink(".gemini", home.join("link")).unwrap();
    symlink(".gemini/settings.json", home.join("settings")).unwrap();
    env.write(".gemini/settings.json", "{}");
    let own = |run: &Run| {
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert!(run.stderr.contains("inside an agent's own folder"), "{}", run.stderr);
    };
    let before = tree(&home.join(".gemini"));
    for place in ["a/../../home/.gemini/x", "a/b/../../.gemini/x", "link/x", "link/tmp/../x/y"] {
        own(&env.run(&["restore", "--all-files", "--to", place]));
        own(&env.run(&["export", "--all", "--format", "json", "-o", place]));
        own(&env.run(&["export", SHOP, "--format", "json", "-o", place]));
    }
    own(&env.run(&["export", SHOP, "--format", "json", "-o", "settings", "--force"]));
    assert!(tree(&home.join(".gemini")) == before);
    assert!(!home.join("a").exists());
    // A missing folder is not created either.
    assert_eq!(env.run(&["sync"]).code, Some(0));
    fs::remove_dir_all(home.join(".gemini")).unwrap();
    own(&env.run(&["restore", "--all-files", "--to", ".gemini/x"]));
    let env = small_home();
    let mut command = env.command(&["restore", "--all-files", "--to", ".gemini/tmp/x"]);
    own(&env.finish(command.env("GEMINI_SESSIONS_DIR", env.home().join(".gemini/tmp"))));
    // A folder whose name only resembles it is fine.
    assert_eq!(
        env.run(&["restore", "--all-files", "--to", ".gemini/../.gemini-old"]).code,
        Some(0)
    );
}

#[test]
fn a_missing_folder_is_told_by_the_name_that_was_asked_for() {
    let env = small_home();
    let run = env.run(&["export", SHOP, "--format", "json", "-o", "nowhere/out.json"]);
    insta::assert_snapshot!(run.show(), @"
    exit code 2
    --- stderr
    Created `~/.local/share/backstory/archive.db`, which keeps a private copy of every session, so that it can be read and restored after the agent deletes it.
    error: cannot write `nowhere/out.json`
      caused by: the folder `nowhere` does not exist
    ");
}
