//! Without the key, the folder is useless.

use std::fs;

use crate::support::Lab;

const A: &str = "aaaaaaaa-0000-4000-8000-000000000001";

#[test]
fn nothing_in_the_folder_is_readable() {
    let lab = Lab::new();
    let laptop = lab.machine("laptop");
    laptop.session(A, &["mend the lantern"]);
    laptop.share();
    let files = lab.files();
    assert_eq!(files.len(), 1);
    for (name, bytes) in &files {
        let has = |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(bytes.starts_with(b"age-encryption.org/v1\n"));
        for text in ["SQLite", "lantern", "gemini", "laptop", "code/app", A, "CREATE TABLE"] {
            assert!(!has(text) && !name.contains(text), "`{text}` in `{name}`");
        }
    }
    let key = fs::read_to_string(lab.key("key")).unwrap();
    for line in key.lines().filter(|line| !line.is_empty()) {
        for bytes in files.values() {
            assert!(!bytes.windows(line.len()).any(|window| window == line.as_bytes()));
        }
    }
}

#[test]
fn another_key_is_an_error_and_changes_nothing() {
    let lab = Lab::new();
    let (laptop, desktop) = (lab.machine("laptop"), lab.machine("desktop"));
    laptop.session(A, &["mend the lantern"]);
    laptop.share();
    let before = lab.files();
    let (folder, other) = (lab.folder(), lab.key("other"));
    assert_eq!(desktop.run(&["share", "--new-key", &other]).code, Some(0));
    for machine in [&desktop, &laptop] {
        let run = machine.run(&["share", folder.to_str().unwrap(), "--key", &other, "--quiet"]);
        assert_eq!(run.code, Some(2));
        let name = before.keys().next().unwrap();
        let expected = format!(
            "error: the key does not open `{name}`\n  \
             caused by: it was encrypted with another one\n  \
             hint: use the same key or passphrase on all machines\n  \
             hint: to change it, delete the files in `[TEMP]/shared`; each machine writes its own again\n"
        );
        assert_eq!(run.stderr, expected);
        assert_eq!(lab.files(), before);
    }
    // As the hint says.
    for name in before.keys() {
        fs::remove_file(folder.join(name)).unwrap();
    }
    for machine in [&laptop, &desktop] {
        let run = machine.run(&["share", folder.to_str().unwrap(), "--key", &other, "--quiet"]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    }
    assert_eq!(desktop.ids(), [A]);
}

#[test]
fn a_file_with_another_key_does_not_stop_those_with_the_right_one() {
    let lab = Lab::new();
    let (laptop, desktop, thief) =
        (lab.machine("laptop"), lab.machine("desktop"), lab.machine("thief"));
    laptop.session(A, &["mend the lantern"]);
    laptop.share();
    desktop.share();
    // It wrote when the files of the others had not arrived yet.
    let (folder, away) = (lab.folder(), lab.folder().with_file_name("away"));
    fs::create_dir(&away).unwrap();
    let other = lab.key("other");
    thief.session("cccccccc-0000-4000-8000-000000000003", &["hello"]);
    assert_eq!(thief.run(&["share", "--new-key", &other]).code, Some(0));
    assert_eq!(thief.run(&["share", away.to_str().unwrap(), "--key", &other, "-q"]).code, Some(0));
    let file = fs::read_dir(&away).unwrap().next().unwrap().unwrap();
    fs::copy(file.path(), folder.join(file.file_name())).unwrap();
    laptop.session("aaaaaaaa-0000-4000-8000-000000000002", &["light it"]);
    let name = file.file_name().into_string().unwrap();
    for machine in [&laptop, &desktop] {
        let run = machine.run(&["share", folder.to_str().unwrap(), "--key", &lab.key("key"), "-q"]);
        let expected = format!("warning: `{name}` was encrypted with another key\n");
        assert_eq!((run.code, run.stderr), (Some(0), expected));
    }
    assert_eq!(desktop.ids().len(), 2);
}

#[test]
fn a_passphrase_works_too() {
    let lab = Lab::new();
    let (laptop, desktop) = (lab.machine("laptop"), lab.machine("desktop"));
    laptop.session(A, &["mend the lantern"]);
    let folder = lab.folder();
    let right = laptop.write("phrase", "correct horse battery staple\n");
    let wrong = desktop.write("phrase", "correct horse\n");
    let share = |machine: &crate::support::Machine<'_>, phrase: &std::path::Path| {
        let phrase = phrase.to_str().unwrap();
        machine.run(&["share", folder.to_str().unwrap(), "--passphrase-file", phrase, "-q"])
    };
    assert_eq!(share(&laptop, &right).code, Some(0));
    let run = share(&desktop, &wrong);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("error: the passphrase does not open `"), "{}", run.stderr);
    let run = share(&desktop, &right);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(desktop.ids(), [A]);
}

#[test]
fn secrets_are_not_taken_from_the_folder() {
    let lab = Lab::new();
    let laptop = lab.machine("laptop");
    let folder = lab.folder();
    let inside = folder.join("sub/key");
    fs::create_dir(folder.join("sub")).unwrap();
    fs::copy(lab.key("key"), &inside).unwrap();
    let inside = inside.to_str().unwrap();
    for flag in ["--key", "--passphrase-file"] {
        let run = laptop.run(&["share", folder.to_str().unwrap(), flag, inside]);
        assert_eq!(run.code, Some(2));
        let expected = "error: `[TEMP]/shared/sub/key` is inside the shared folder\n";
        assert!(run.stderr.starts_with(expected), "{}", run.stderr);
    }
    let archive = folder.join("archive.db");
    let words = ["--archive", archive.to_str().unwrap(), "share", folder.to_str().unwrap()];
    let run = laptop.run(&[&words[..], &["--key", &lab.key("key")]].concat());
    assert!(run.stderr.contains("`[TEMP]/shared/archive.db` is inside"), "{}", run.stderr);
}

#[test]
fn mistakes_have_hints() {
    let lab = Lab::new();
    let laptop = lab.machine("laptop");
    let folder = lab.folder();
    let folder = folder.to_str().unwrap();
    for (words, hint) in [
        (&["share", folder][..], "`--key FILE` or `--passphrase-file FILE` names one"),
        (&["share", "/nowhere/at/all", "--key", "x"], "create it, or mount the drive"),
        (&["share", folder, "--key", "missing"], "`backstory share --new-key FILE` creates one"),
        (
            &["share", "--new-key", &lab.key("key")],
            "whatever was encrypted with a lost key is lost",
        ),
    ] {
        let run = laptop.run(words);
        assert_eq!(run.code, Some(2), "{words:?}");
        assert!(run.stderr.contains(&format!("  hint: {hint}")), "{words:?}: {}", run.stderr);
    }
    assert!(lab.files().is_empty());
}

#[test]
fn help_names_the_command_as_it_is_typed() {
    let lab = Lab::new();
    let laptop = lab.machine("laptop");
    let help = laptop.run(&["help", "share"]).stdout;
    assert!(help.contains("Usage: backstory share [OPTIONS] [FOLDER]"), "{help}");
    assert!(help.lines().all(|line| line.len() <= 100), "{help}");
}
