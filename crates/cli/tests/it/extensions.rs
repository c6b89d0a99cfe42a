//! Tests extensions: programs named `backstory-NAME` are commands of this one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Run, TestEnv};

/// Writes an executable script into a folder below the home, and returns the folder.
fn script(env: &TestEnv, path: &str, body: &str) -> PathBuf {
    let file = env.write(path, format!("#!/bin/sh\n{body}\n"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).unwrap();
    file.parent().unwrap().to_owned()
}

/// Runs the program with an extension `greet` that prints what it was given.
fn greet(args: &[&str]) -> Run {
    let env = TestEnv::new();
    let body = r#"echo "$# $*"; echo "$BACKSTORY_ARCHIVE"; test -x "$BACKSTORY_PROGRAM"; exit $(($? + 7))"#;
    let folder = script(&env, "bin/backstory-greet", body);
    env.finish(env.command(args).env("PATH", folder))
}

#[test]
fn an_unknown_command_is_a_program_on_the_path() {
    insta::assert_snapshot!(greet(&["greet", "--all", "a b", "--", "-x"]).show(), @r"
    exit code 7
    --- stdout
    4 --all a b -- -x
    [TEMP]/home/.local/share/backstory/archive.db
    ");
}

#[test]
fn an_extension_gets_the_archive_of_the_command_line() {
    let run = greet(&["--archive", "other.db", "greet"]);
    assert_eq!((run.code, run.stdout.as_str()), (Some(7), "0 \n[TEMP]/home/other.db\n"));
}

#[test]
fn help_of_an_extension_comes_from_it() {
    assert!(greet(&["help", "greet"]).stdout.starts_with("1 --help\n"));
}

#[test]
fn options_of_an_extension_follow_its_name() {
    let run = greet(&["--json", "greet"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("error: `--json` must follow `greet`\n"), "{}", run.stderr);
}

#[test]
fn a_signal_that_ends_an_extension_ends_the_program() {
    use std::os::unix::process::ExitStatusExt as _;

    let env = TestEnv::new();
    let folder = script(&env, "bin/backstory-greet", "kill -TERM $$");
    let status = env.command(&["greet"]).env("PATH", folder).status().unwrap();
    assert_eq!(status.signal(), Some(15));
}

#[test]
fn a_command_that_nobody_has_is_an_error_with_a_suggestion() {
    let run = greet(&["sesions"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("unrecognized subcommand 'sesions'"), "{}", run.stderr);
    assert!(run.stderr.contains("'sessions'"), "{}", run.stderr);
    let run = greet(&["../bin/greet"]);
    assert!(run.stderr.contains("unrecognized subcommand"), "{}", run.stderr);
}

/// Returns a copy of the program in a folder of its own, which has no extensions beside it.
fn alone(env: &TestEnv, args: &[&str]) -> Command {
    let folder = env.home().join("alone");
    let program = folder.join("backstory");
    if !program.exists() {
        fs::create_dir_all(&folder).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_backstory"), &program).unwrap();
    }
    let mut command = Command::new(program);
    command.args(args).env_clear().env("HOME", env.home());
    command
}

#[test]
fn an_extension_beside_the_program_comes_before_the_path() {
    let env = TestEnv::new();
    script(&env, "alone/backstory-greet", "echo beside");
    let path = script(&env, "bin/backstory-greet", "echo path");
    let run = env.finish(alone(&env, &["greet"]).env("PATH", path));
    assert_eq!(run.stdout, "beside\n");
}

#[test]
fn known_extensions_say_how_to_install_them() {
    let env = TestEnv::new();
    insta::assert_snapshot!(env.finish(&mut alone(&env, &["share", "folder"])).show(), @r"
    exit code 2
    --- stderr
    error: the extension `backstory-share` is not installed
      hint: install it: `cargo install --git https://github.com/backstory-rs/backstory backstory-share`
    ");
    assert_eq!(env.finish(&mut alone(&env, &["lake"])).code, Some(2));
}
