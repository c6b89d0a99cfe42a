//! Tests how the project of a session is determined from the files of a home.

use std::fs;
use std::path::Path;

use backstory_core::agent::gemini::Shape;
use backstory_core::archive::{Archive, Exclude, SyncOptions};
use backstory_core::facts::Contents;
use backstory_core::model::Session;
use backstory_core::project::{Project, Proof};
use backstory_core::projects::{ProjectHints, hash_of};
use backstory_core::query::commands::commands;
use backstory_core::time::Period;
use serde_json::json;

use crate::archive::sync;
use crate::support::Home;
use crate::support::discover_at;

const PATH: &str = "/home/me/old/thing";

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Returns a session of a project with one prompt.
fn session(n: usize, hash: &str, prompt: &str) -> String {
    let header = json!({ "sessionId": format!("0000000{n}-0000-4000-8000-000000000000"), "projectHash": hash,
        "startTime": "2026-03-01T10:00:00Z" });
    let prompt = json!({ "id": format!("0000000{n}-0000-4000-8000-000000000001"), "type": "user",
        "timestamp": "2026-03-01T10:00:01Z", "content": prompt });
    format!("{header}\n{prompt}\n")
}

fn project(archive: &Archive, n: usize) -> Project {
    let sessions = archive.sessions().unwrap();
    let is_it = |session: &&Session| session.id.starts_with(&format!("0000000{n}"));
    (*sessions.iter().find(is_it).unwrap().project).clone()
}

#[test]
fn a_path_in_any_text_proves_the_project_of_its_hash() {
    let hash = hash_of(PATH);
    let logs = json!([{ "sessionId": "x", "messageId": 0, "type": "user",
        "message": "cd /home/me/old/thing/src", "timestamp": "2026-03-01T10:00:00Z" }]);
    let saved = json!({ "history": [{ "role": "user", "parts": [{ "functionResponse": { "name": "glob",
        "response": { "output": "Found:\n/home/me/old/thing/a.c" } } }] }] });
    for (file, text) in [
        (
            format!("{hash}/chats/session-2.jsonl"),
            session(2, &hash, "why does /home/me/old/thing/src/main.c not build?"),
        ),
        ("other/logs.json".to_owned(), logs.to_string()),
        ("other/checkpoint-x.json".to_owned(), saved.to_string()),
        ("other/shell_history".to_owned(), "make -C /home/me/old/thing\n".to_owned()),
    ] {
        let root = tempfile::tempdir().unwrap();
        let tmp = root.path().join("tmp");
        write(&tmp.join(&hash).join("chats/session-1.jsonl"), &session(1, &hash, "hello"));
        let mut archive = Archive::in_memory().unwrap();
        sync(&mut archive, &discover_at(root.path()), "here");
        assert_eq!(project(&archive, 1).proof, Proof::None);
        // Text that is written later proves the project of sessions read before.
        write(&tmp.join(&file), &text);
        sync(&mut archive, &discover_at(root.path()), "here");
        let project = project(&archive, 1);
        assert_eq!((project.path.as_deref(), project.proof), (Some(PATH), Proof::Hash), "{file}");
        assert_eq!(project.name, "thing");
        // Reading everything at once gives the same result.
        let at_once = Home::at(root.path());
        assert_eq!(at_once.sessions.len(), archive.sessions().unwrap().len());
        assert!(
            at_once
                .sessions
                .iter()
                .filter(|s| s.session.project.hash.as_ref() == Some(&hash))
                .all(|s| s.session.project.path.as_deref() == Some(PATH))
        );
    }
}

#[test]
fn a_new_hash_is_looked_for_in_old_text_and_an_old_one_in_what_grew() {
    let (first, second) = (hash_of("/srv/first"), hash_of("/srv/second app"));
    let root = tempfile::tempdir().unwrap();
    let log = root.path().join("tmp").join(&first).join("chats/session-1.jsonl");
    write(&log, &session(1, &first, "compare with /srv/second app/x.c"));
    let mut archive = Archive::in_memory().unwrap();
    sync(&mut archive, &discover_at(root.path()), "here");
    let other = root.path().join("tmp").join(&second).join("chats/session-2.jsonl");
    write(&other, &session(2, &second, "hello"));
    sync(&mut archive, &discover_at(root.path()), "here");
    assert_eq!(project(&archive, 2).path.as_deref(), Some("/srv/second app"));
    assert_eq!(project(&archive, 1).path, None);
    let more = json!({ "id": "00000001-0000-4000-8000-000000000002", "type": "user",
        "timestamp": "2026-03-01T10:00:02Z", "content": "and /srv/first/y.c" });
    fs::write(&log, format!("{}{more}\n", fs::read_to_string(&log).unwrap())).unwrap();
    sync(&mut archive, &discover_at(root.path()), "here");
    assert_eq!(project(&archive, 1).path.as_deref(), Some("/srv/first"));
}

#[test]
fn a_project_that_must_stay_out_is_taken_out_when_it_is_recognized() {
    struct Secret;
    impl Exclude for Secret {
        fn takes(&self, project: &Project) -> bool {
            project.path.as_deref() == Some(PATH)
        }
    }
    let hash = hash_of(PATH);
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("tmp").join(&hash);
    write(&folder.join("chats/session-1.jsonl"), &session(1, &hash, "in /home/me/old/thing/a.c"));
    let logs = json!([{ "sessionId": "00000003-0000-4000-8000-000000000000", "messageId": 0,
        "type": "user", "message": "typed", "timestamp": "2026-03-01T10:00:00Z" }]);
    write(&folder.join("logs.json"), &logs.to_string());
    let candidates = ProjectHints::default();
    let setup = SyncOptions { exclude: &Secret, ..SyncOptions::plain(&candidates) };
    let mut archive = Archive::in_memory().unwrap();
    for _ in 0..2 {
        archive.sync(&discover_at(root.path()), &setup, &|_| {}).unwrap();
        assert_eq!(archive.sessions().unwrap().len(), 0);
    }
}

#[test]
fn a_folder_on_windows_is_one_project_however_it_is_spelled() {
    let root = tempfile::tempdir().unwrap();
    let tmp = root.path().join("tmp");
    let spelled = r"C:\Users\Me\dev\app";
    let hash = hash_of(spelled);
    write(&tmp.join("app/.project_root"), r"c:\users\me\dev\app");
    write(
        &tmp.join("app/chats/session-1.jsonl"),
        &session(1, &hash_of(r"c:\users\me\dev\app"), "hi"),
    );
    let prompt = r"look at c:\Users\Me\dev\app\a.c";
    write(&tmp.join(&hash).join("chats/session-2.jsonl"), &session(2, &hash, prompt));
    let home = Home::at(root.path());
    let keys: Vec<&str> = home.sessions.iter().map(|s| s.session.project.key()).collect();
    assert_eq!(keys, [spelled, spelled]);
}

#[test]
fn commands_are_those_of_powershell_where_the_project_has_a_drive() {
    for (path, want) in [
        (r"C:\dev\app", &["Get-Content", "Set-Content"][..]),
        ("/dev/app", &["-replace", "Get-Content", "Set-Content"]),
    ] {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("tmp/app");
        write(&folder.join(".project_root"), path);
        let reply = json!({ "id": "00000001-0000-4000-8000-000000000002", "type": "gemini", "content": "",
            "timestamp": "2026-03-01T10:00:02Z", "toolCalls": [{ "id": "c", "name": "run_shell_command",
                "status": "success", "args": { "command": "(Get-Content a) -replace 'x','y' | Set-Content a" } }] });
        write(
            &folder.join("chats/session-1.jsonl"),
            &format!("{}{reply}\n", session(1, "h", "go")),
        );
        let home = Home::at(root.path());
        let ids = [home.sessions[0].session.id.clone()];
        let rows = commands(&home.archive, &ids, &Period::default(), false, usize::MAX).unwrap();
        let names: Vec<String> = rows.into_iter().map(|row| row.program).collect();
        assert_eq!(names, want, "{path}");
    }
}

#[test]
fn projects_may_be_called_like_folders_of_gemini_cli() {
    for name in ["bin", "background-processes"] {
        for (file, text) in [(".project_root", "/home/me/bin"), ("logs.json", "[]"), ("x", "")] {
            let root = tempfile::tempdir().unwrap();
            let folder = root.path().join("tmp").join(name);
            write(&folder.join(file), text);
            write(&folder.join("rg"), "a program");
            let found = discover_at(root.path());
            let is_skipped = found.skipped.iter().any(|skipped| skipped.path == folder);
            assert_eq!(is_skipped, file == "x", "{name} {file}");
        }
        let root = tempfile::tempdir().unwrap();
        let chats = root.path().join("tmp").join(name).join("chats");
        write(&chats.join("session-1.jsonl"), &session(1, "h", "hi"));
        assert_eq!(Home::at(root.path()).sessions.len(), 1);
    }
}

#[test]
fn files_at_any_depth_are_found_and_what_is_not_here_is_skipped() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("tmp/app");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n";
    write(&folder.join("logs.json"), pointer);
    write(&folder.join("plans/a/b/c/d/e/f/g/plan.md"), "# Plan");
    let deep = folder.join(["deep"; 40].join("/"));
    write(&deep.join("x"), "x");
    let found = discover_at(root.path());
    assert!(found.sources.iter().any(|source| source.path.ends_with("g/plan.md")));
    assert!(found.skipped.iter().any(|skipped| deep.starts_with(&skipped.path)));
    let archive = Archive::of(&found).unwrap();
    let log =
        archive.files().unwrap().into_iter().find(|file| file.source.path.ends_with("logs.json"));
    let pointer = Contents::Nothing(Shape::LfsPointer.name().into());
    assert_eq!(log.unwrap().about.contents, pointer);
}
