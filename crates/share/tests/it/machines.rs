//! One history on several machines.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Lab, Machine};

const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
const B: &str = "bbbbbbbb-0000-4000-8000-000000000002";
const C: &str = "cccccccc-0000-4000-8000-000000000003";

/// Returns two machines with a session each, which have shared.
fn pair(lab: &Lab) -> (Machine<'_>, Machine<'_>) {
    let (laptop, desktop) = (lab.machine("laptop"), lab.machine("desktop"));
    laptop.session(A, &["mend the lantern"]);
    desktop.session(B, &["paint the fence"]);
    laptop.share();
    desktop.share();
    laptop.share();
    (laptop, desktop)
}

#[test]
fn both_machines_have_one_history() {
    let lab = Lab::new();
    let (laptop, desktop) = pair(&lab);
    for machine in [&laptop, &desktop] {
        assert_eq!(machine.ids(), [A, B]);
        let usage = machine.json(&["usage"]);
        assert_eq!(usage["total"]["total"], json!(220), "{usage}");
        let machines = machine.run(&["usage", "machine"]).stdout;
        assert!(machines.contains("laptop") && machines.contains("desktop"), "{machines}");
    }
    // Found, read, brought back and continued on the other machine.
    let found = desktop.json(&["search", "lantern"]);
    assert_eq!(found["hits"][0]["session"], json!(A), "{found}");
    assert!(desktop.run(&["show", A]).stdout.contains("mend the lantern"));
    let project = desktop.home().join("app");
    fs::create_dir(&project).unwrap();
    let project = project.to_str().unwrap();
    let resume = desktop.run(&["resume", A, "--print", "--project", project]);
    assert_eq!(resume.code, Some(0), "{}", resume.stderr);
    assert!(resume.stdout.contains(&format!("gemini --resume {A}")), "{}", resume.stdout);
    let restored = desktop.run(&["restore", A, "--project", project]);
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    let log = format!("chats/session-2026-08-10T09-00-{}.jsonl", &A[..8]);
    let original = fs::read(laptop.home().join(".gemini/tmp/app").join(&log)).unwrap();
    let folders = fs::read_dir(desktop.home().join(".gemini/tmp")).unwrap();
    let written = folders.flatten().find_map(|folder| fs::read(folder.path().join(&log)).ok());
    assert_eq!(written, Some(original));
    // It is still one session, and counted once.
    desktop.share();
    assert_eq!(desktop.ids(), [A, B]);
    assert_eq!(desktop.json(&["usage"])["total"]["total"], json!(220));
}

#[test]
fn a_machine_writes_only_what_is_new_and_only_its_own() {
    let lab = Lab::new();
    let (laptop, _) = pair(&lab);
    let before = lab.files();
    let nothing = laptop.share();
    assert_eq!((&nothing["sent"], &nothing["bytes"]), (&json!(0), &json!(0)));
    assert_eq!(lab.files(), before);
    // A long history, and then a short new session.
    let noise: Vec<String> = (0..40_u64)
        .map(|n| {
            let number = |k: u64| (n * 4001 + k).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (0..4000).map(|k| number(k).to_string()).collect()
        })
        .collect();
    let prompts: Vec<&str> = noise.iter().map(String::as_str).collect();
    laptop.session(C, &prompts);
    laptop.share();
    let large = lab.size();
    assert!(large > 1_000_000, "{large}");
    laptop.session("dddddddd-0000-4000-8000-000000000004", &["one more thing"]);
    let sent = laptop.share();
    assert_eq!(sent["sent"], json!(1));
    assert!(sent["bytes"].as_u64().unwrap() < 200_000, "{sent}");
    // No machine has written files of the other.
    let machines: std::collections::BTreeSet<String> =
        lab.files().keys().map(|name| name[..32].to_owned()).collect();
    assert_eq!(machines.len(), 2);
    assert!(before.keys().any(|name| lab.files().contains_key(name)));
}

#[test]
fn a_session_that_grows_does_not_fill_the_folder() {
    let lab = Lab::new();
    let laptop = lab.machine("laptop");
    let mut prompts = vec!["mend the lantern"];
    for _ in 0..8 {
        laptop.session(A, &prompts);
        laptop.share();
        prompts.push("again");
    }
    assert_eq!(lab.files().len(), 1);
    let desktop = lab.machine("desktop");
    desktop.share();
    let shown = desktop.json(&["sessions", "--all"]);
    assert_eq!(shown["sessions"][0]["prompts"], json!(8), "{shown}");
}

#[test]
fn names_and_tags_travel() {
    let lab = Lab::new();
    let (laptop, desktop) = pair(&lab);
    assert_eq!(desktop.run(&["name", A, "the lantern fix"]).code, Some(0));
    assert_eq!(desktop.run(&["tag", B, "garden"]).code, Some(0));
    desktop.share();
    laptop.share();
    let sessions = laptop.json(&["sessions", "--all"]);
    let of = |id: &str| -> Value {
        let sessions = sessions["sessions"].as_array().unwrap();
        sessions.iter().find(|session| session["id"] == id).unwrap().clone()
    };
    assert_eq!(of(A)["name"], json!("the lantern fix"));
    assert_eq!(of(B)["tags"], json!(["garden"]));
    // It ends: nobody has news for the other any more.
    desktop.share();
    laptop.share();
    let files = lab.files();
    desktop.share();
    laptop.share();
    assert_eq!(lab.files(), files);
}

#[test]
fn a_forgotten_session_disappears_everywhere() {
    let lab = Lab::new();
    let (laptop, desktop) = pair(&lab);
    let old = lab.files();
    assert_eq!(laptop.run(&["forget", A, "--yes"]).code, Some(0));
    laptop.share();
    desktop.share();
    assert_eq!((laptop.ids(), desktop.ids()), (vec![B.to_owned()], vec![B.to_owned()]));
    // No file is left from the time when it was there.
    laptop.share();
    assert!(lab.files().keys().all(|name| !old.contains_key(name)));
}

#[test]
fn a_machine_that_joins_late_gets_everything() {
    let lab = Lab::new();
    let (laptop, _) = pair(&lab);
    laptop.session(C, &["third"]);
    laptop.share();
    let third = lab.machine("third");
    third.share();
    assert_eq!(third.ids(), [A, B, C]);
}

#[test]
fn an_older_copy_of_the_archive_gets_back_what_it_shared() {
    let lab = Lab::new();
    let laptop = lab.machine("laptop");
    laptop.session(A, &["mend the lantern"]);
    laptop.run(&["sync"]);
    let backup = lab.key("backup.db");
    assert_eq!(laptop.run(&["archive", "backup", &backup]).code, Some(0));
    let log = laptop.session(B, &["paint the fence"]);
    laptop.share();
    // The disk breaks: the newer session is only in the shared folder.
    fs::remove_file(log).unwrap();
    let store = laptop.home().join(".local/share/backstory");
    for name in ["archive.db-wal", "archive.db-shm"] {
        let _ = fs::remove_file(store.join(name));
    }
    fs::copy(&backup, store.join("archive.db")).unwrap();
    assert_eq!(laptop.ids(), [A]);
    laptop.share();
    assert_eq!(laptop.ids(), [A, B]);
    let desktop = lab.machine("desktop");
    desktop.share();
    assert_eq!(desktop.ids(), [A, B]);
}

#[test]
fn the_summary_says_what_happened() {
    let lab = Lab::new();
    let (laptop, desktop) = pair(&lab);
    laptop.session(C, &["third"]);
    let folder = lab.folder();
    let key = lab.key("key");
    let words = ["share", folder.to_str().unwrap(), "--key", &key];
    let run = laptop.run(&words);
    assert!(run.stderr.contains("Sent 1 file ("), "{}", run.stderr);
    let run = desktop.run(&words);
    assert!(
        run.stderr.contains(" from laptop.\nNothing new to send; this machine has"),
        "{}",
        run.stderr
    );
    assert_eq!(run.stdout, "");
    let quiet = desktop.run(&[&words[..], &["-q"]].concat());
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(0), "", ""));
}
