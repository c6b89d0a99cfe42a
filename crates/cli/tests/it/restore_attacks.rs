//! Tests archives and folders that would make a restored session land elsewhere.

use std::fs;
use std::path::Path;

use crate::restore::{CHATS, FILE, files, lost};
use crate::support::{SHOP, TestEnv, small_home};

/// Changes the archive as somebody could who hands it on.
pub(crate) fn tamper(env: &TestEnv, statement: &str) {
    let path = env.home().join(".local/share/backstory/archive.db");
    let archive = backstory_pages::open(&path, rusqlite::OpenFlags::default()).unwrap();
    assert!(archive.execute(statement, []).unwrap() > 0, "{statement}");
}

#[test]
fn a_path_that_climbs_out_of_the_agents_folder_is_refused() {
    let output = format!("tool-outputs/session-{SHOP}/out.txt");
    let below = [
        format!("tool-outputs/session-{SHOP}/../../../../../.bash_login"),
        format!("tool-outputs/session-{SHOP}/.."),
    ];
    for below in below {
        let env = small_home();
        env.write(&format!(".gemini/tmp/shop/{output}"), "echo pwned");
        let env = lost(env);
        tamper(
            &env,
            &format!("UPDATE sources SET path = folder || '/{below}' WHERE path LIKE '%out.txt'"),
        );
        for more in [&[][..], &["--dry-run"]] {
            let run = env.run(&[&["--no-sync", "restore", SHOP], more].concat());
            assert_eq!(run.code, Some(2), "{}", run.stderr);
            let named = format!("`~/.gemini/tmp/shop/{below}` is not a path below");
            assert!(run.stderr.contains(&named), "{}", run.stderr);
        }
        assert!(!env.home().join(".gemini").exists() && !env.home().join(".bash_login").exists());
    }
}

#[test]
fn a_machines_name_that_climbs_is_refused() {
    let env = lost(small_home());
    tamper(&env, "UPDATE sources SET machine = '..' WHERE path LIKE '%22222222.jsonl'");
    let run = env.run(&["--no-sync", "restore", "--all-files", "--to", "a/out"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("leads out of"), "{}", run.stderr);
    assert!(files(&env.home().join("a")).iter().all(|file| file.starts_with("out")));
}

/// A session goes back to where it was only if that is a place of the agent's.
#[test]
fn a_folder_that_is_not_the_agents_is_not_written_to() {
    for folder in [".config/tmp/shop", ".gemini", ".gemini/commands", "."] {
        let env = lost(small_home());
        let home = env.home();
        let place = home.join(folder);
        tamper(
            &env,
            &format!(
                "UPDATE sources SET path = '{0}' || substr(path, length(folder) + 1), folder = '{0}' \
                 WHERE folder LIKE '%shop'",
                place.display()
            ),
        );
        let before = files(&home);
        let run = env.run(&["--no-sync", "restore", "2222"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let new: Vec<_> = files(&home).into_iter().filter(|file| !before.contains(file)).collect();
        assert!(!new.is_empty());
        for file in new {
            let is_list = file == Path::new(".gemini/projects.json");
            let is_note = file.starts_with(".gemini/history") && file.ends_with(".project_root");
            let is_chat = file.starts_with(".gemini/tmp");
            assert!(is_list || is_note || is_chat, "{folder}: {}", file.display());
        }
    }
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link_that_leads_away() {
    use std::os::unix::fs::symlink;

    for link in ["tmp", "tmp/shop", "tmp/shop/chats", "history"] {
        let env = lost(small_home());
        let away = env.home().join("away");
        fs::create_dir(&away).unwrap();
        let link = env.home().join(".gemini").join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&away, &link).unwrap();
        for more in [&[][..], &["--dry-run"]] {
            let run = env.run(&[&["restore", "2222"], more].concat());
            assert_eq!(run.code, Some(2), "{}", run.stderr);
            assert!(run.stderr.contains("it leads out of"), "{}", run.stderr);
        }
        assert!(files(&away).is_empty() && fs::read_dir(&away).unwrap().count() == 0);
    }
    // Nor is a line added behind one.
    let env = small_home();
    let file = env.home().join(CHATS).join(FILE);
    let away = env.home().join("away.jsonl");
    assert_eq!(env.run(&["sync"]).code, Some(0));
    fs::rename(&file, &away).unwrap();
    symlink(&away, &file).unwrap();
    let before = fs::read(&away).unwrap();
    assert_eq!(env.run(&["--no-sync", "restore", "2222", "--fresh"]).code, Some(2));
    assert_eq!(fs::read(&away).unwrap(), before);
    // The agent's own folder may be a link.
    let env = lost(small_home());
    fs::create_dir(env.home().join("real")).unwrap();
    symlink("real", env.home().join(".gemini")).unwrap();
    assert_eq!(env.run(&["restore", "2222"]).code, Some(0));
    assert_eq!(files(&env.home().join("real")).len(), 4);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_stays() {
    let env = lost(small_home());
    let pipe = env.home().join(CHATS).join(FILE);
    fs::create_dir_all(pipe.parent().unwrap()).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let run = env.run(&["--no-sync", "restore", "2222"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("already exists and differs"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn a_printed_command_leads_to_the_very_folder() {
    use std::os::unix::ffi::OsStrExt;

    let env = lost(small_home());
    for name in ["line\nfeed", "over\u{202E}ride", "it's\t\u{9b}$HOME `x` !y", " é "] {
        let folder = env.home().join(name);
        fs::create_dir(&folder).unwrap();
        let shown =
            env.command(&["resume", "2222", "--print", "--project", name]).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        let steps: Vec<&str> = shown.trim_end_matches('\n').split(" && ").collect();
        let script = format!("{} && printf %s \"$PWD\"", steps[1]);
        let bash = std::process::Command::new("bash").args(["-c", &script]).output().unwrap();
        let folder = folder.canonicalize().unwrap();
        assert_eq!(bash.stdout, folder.as_os_str().as_bytes(), "{shown}");
    }
}

/// Gemini CLI reads such a name as another one.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_name_is_not_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;

    let env = lost(small_home());
    let odd = env.home().join(std::ffi::OsStr::from_bytes(b"not \xff text"));
    fs::create_dir(&odd).unwrap();
    let mut command = env.command(&["resume", "2222", "--print", "--project"]);
    let run = env.finish(command.arg(&odd));
    assert!(run.code == Some(2) && run.stderr.contains("is not UTF-8"), "{}", run.stderr);
}
