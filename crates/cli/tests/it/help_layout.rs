//! Tests that help fits the terminal.

use crate::support::TestEnv;

fn commands() -> Vec<String> {
    let said = TestEnv::new().run(&["man", "nope"]).stderr;
    let listed = said.split_once("commands: ").unwrap().1;
    listed.trim().split(", ").map(|name| name.trim_matches('`').to_owned()).collect()
}

#[test]
fn no_line_of_any_help_is_wider_than_the_terminal() {
    let env = TestEnv::new();
    for name in commands() {
        for (width, flag) in [40, 60, 80].iter().flat_map(|w| [(*w, "-h"), (*w, "--help")]) {
            let args: Vec<&str> = match name.as_str() {
                "help" => vec![flag],
                name => vec![name, flag],
            };
            let run = env.finish(env.command(&args).env("COLUMNS", width.to_string()));
            for line in run.stdout.lines() {
                // A path or an address cannot be broken.
                let is_word = !line.trim().contains(' ');
                assert!(line.chars().count() <= width || is_word, "{args:?} at {width}: {line}");
            }
        }
    }
}

#[test]
fn help_in_a_narrow_terminal() {
    let env = TestEnv::new();
    let run = env.finish(env.command(&["man", "-h"]).env("COLUMNS", "40"));
    insta::assert_snapshot!(run.stdout, @"
    Open the manual page

    Usage: backstory man [OPTIONS] [COMMAND]

    Arguments:
      [COMMAND]  The command to describe

    Options:
      -h, --help
              Print help (see more with
              '--help')

    Global options: --from, --archive,
    --no-sync, --config, --json, --pricing,
    --tz, --color, -q, -v, --strict, --demo
    (described by `--help`)
    ");
    let run = env.finish(env.command(&["files", "-h"]).env("COLUMNS", "60"));
    insta::assert_snapshot!(run.stdout, @"
    List the files that agents read and changed, and the
    sessions that did

    Usage: backstory files [OPTIONS] [PATH]

    Examples:
      backstory files
          the files that agents used last
      backstory files --changed --since 7d
          only those that they changed in the last 7 days
      backstory files src/booking.rs
          the sessions that read or changed this file
      backstory files booking.rs --diff
          what they changed in it
      backstory files .                     files in this folder

    Arguments:
      [PATH]  A file or folder: its path or a part of it

    Options:
          --changed  Only changes, no reads
      -d, --diff     Show what was changed
      -h, --help     Print help (see more with '--help')

    Filters:
      -p, --project <NAME>   Only this project: its name, part
                             of its path, a prefix of its hash,
                             or `.` for this folder's
                             (repeatable)
          --model <NAME>     Only sessions that used this model;
                             part of its name is enough
                             (repeatable)
          --agent <AGENT>    Only this agent (repeatable)
                             [possible values: claude, codex,
                             gemini]
          --tag <TAG>        Only sessions with this tag
                             (repeatable)
          --machine <NAME>   Only sessions from this machine
                             (repeatable)
          --branch <NAME>    Only sessions that worked on this
                             git branch last (repeatable)
          --since <WHEN>     Only activity since this time:
                             2026-08-01, 30m, 7d, yesterday,
                             monday, 'last week', 2026-08
          --until <WHEN>     Only activity up to the end of this
                             time
          --on <WHEN>        Only activity in this day, week,
                             month or year: yesterday, monday,
                             2026-08
          --kind <KIND>      Only sessions of these kinds
                             [possible values: main, subagent,
                             background, checkpoint]
      -n, --limit <N>        Show at most N rows, of a log the
                             last [default: a screenful; no
                             limit with --json and other
                             formats]
          --format <FORMAT>  The output format [default: table]
                             [possible values: table, json,
                             jsonl, csv, md]

    Global options: --from, --archive, --no-sync, --config,
    --json, --pricing, --tz, --color, -q, -v, --strict, --demo
    (described by `--help`)
    ");
}

#[test]
fn a_command_without_its_subcommand_prints_its_help() {
    let run = TestEnv::new().run(&["archive"]);
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.starts_with("Manage the archive: size"), "{}", run.stderr);
    assert!(run.stderr.contains("  backup  Copy it to a new file"), "{}", run.stderr);
}
