//! Tests the commands that messages suggest.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::support::{Run, TestEnv, small_home};

/// Runs that suggest other commands, because nothing is found, something is wrong, or there is more to see.
const RUNS: [&[&str]; 16] = [
    &[],
    &["sessions"],
    &["sessions", "-p", "nosuch"],
    &["sessions", "--since", "2020-01", "--until", "2020-02"],
    &["show", "nosuch"],
    &["search", "nosuch"],
    &["search", "(cart"],
    &["usage"],
    &["usage", "--since", "2020-01", "--until", "2020-02"],
    &["usage", "--history"],
    &["log", "-p", "nosuch"],
    &["files", "nosuch"],
    &["forget", "nosuch"],
    &["unforget", "nosuch"],
    &["doctor"],
    &["pricing", "nosuch"],
];

/// Commands that need more arguments than a message names, or that do not end.
const INCOMPLETE: [&str; 6] =
    ["search", "restore", "sync", "watch", "browse", "doctor --from FILE"];

/// Returns the commands of this program that a run quotes in backticks or lists below "Next".
fn suggested(run: &Run) -> Vec<String> {
    let text = format!("{}\n{}", run.stdout, run.stderr);
    let quoted = text.split('`').skip(1).step_by(2);
    let listed = text.lines().filter_map(|line| line.strip_prefix("  ")?.split("  ").next());
    let is_ours = |text: &&str| *text == "backstory" || text.starts_with("backstory ");
    quoted.chain(listed).filter(is_ours).map(str::to_owned).collect()
}

/// Checks that the commands suggested by runs with these flags have them too, and work.
fn check(env: &TestEnv, flags: &[&str], printed: &str) {
    let bin = env.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let program = bin.join("backstory");
    if !program.exists() {
        symlink(env!("CARGO_BIN_EXE_backstory"), program).unwrap();
    }
    let mut commands = BTreeSet::new();
    for arguments in RUNS {
        let run = env.run(&[arguments, flags].concat());
        commands.extend(suggested(&run));
    }
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        if ["--help", "--from", "--demo"].iter().any(|own| command.contains(own))
            && !command.contains(printed)
        {
            continue;
        }
        let rest = command.strip_prefix(&format!("backstory {printed}"));
        let rest = rest.unwrap_or_else(|| panic!("`{command}` lacks `{printed}`")).trim();
        let is_incomplete = rest.contains("SESSION") || INCOMPLETE.contains(&rest);
        if is_incomplete {
            continue;
        }
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &command]).current_dir(env.home()).env_clear().stdin(Stdio::null());
        let usual = env.command(&[]);
        shell.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let run = env.finish(shell.env("PATH", &bin));
        assert_ne!(run.code, Some(2), "`{command}`: {}", run.stderr);
        assert!(!run.stderr.contains("no sessions were found"), "`{command}`");
    }
}

#[test]
fn suggestions_of_the_demo_are_about_the_demo() {
    check(&TestEnv::new(), &["--demo"], "--demo");
}

#[test]
fn suggestions_about_other_places_name_them() {
    let env = small_home();
    std::fs::rename(env.home().join(".gemini"), env.home().join("a backup")).unwrap();
    check(&env, &["--from", "a backup"], "--from 'a backup'");
}

#[test]
fn suggestions_about_another_archive_name_it() {
    let env = small_home();
    check(&env, &["--archive", "its own.db"], "--archive 'its own.db'");
}
