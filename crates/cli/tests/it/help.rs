//! Snapshots of every help text.

use crate::support::TestEnv;

fn help(args: &[&str]) -> String {
    let run = TestEnv::new().run(args);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    // clap leaves spaces at the ends of lines.
    run.stdout.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn program() {
    insta::assert_snapshot!(help(&["--help"]), @"
    The story behind your code: every session your coding agent left on your disk

    backstory reads the sessions that Claude Code, Codex CLI and Gemini CLI keep on your disk and never
    changes them; only `restore` and `resume` write there, to bring back deleted sessions. Without a
    command, it prints an overview.

    Usage: backstory [OPTIONS] [COMMAND]

    Examples:
      backstory                           an overview: recent sessions, projects, upcoming deletions
      backstory --demo                    the same for the bundled sample sessions
      backstory search 'login bug'        find a conversation, even in deleted sessions
      backstory usage --since this-month  tokens and cost, day by day
      backstory resume latest             continue the latest session of this folder
      backstory digest --on yesterday     what you asked, what was changed and what it cost
      backstory export 3f2a --format html -o session.html

    Read:
      browse       Browse sessions, search and usage in the terminal
      pick         Choose a session in the terminal, and print its id
      serve        Open the web app: sessions, search, usage and health in a browser
      sessions     List sessions: titles, times, projects, tokens and cost
      show         Read a session: prompts, replies, tool calls and errors
      search       Search all sessions: prompts, replies, thoughts, tools and their output
      prompts      List everything you typed, across projects: one per line, newest last
      files        List the files that agents read and changed, and the sessions that did
      log          List what ran in the shell, in order, with exit codes
      digest       Summarize what you asked, what was changed and what it cost, by project
      projects     List projects: names, paths, and the source of each path

    Count:
      usage        Count tokens and cost by day, session, project, model and more
      tools        Count tool calls, their results and the lines they changed
      commands     Count the programs that the shell tool ran
      pricing      Show the price table, and the models without a price
      verify       Check the numbers against the totals in the files, and list every doubt

    Continue:
      resume       Continue a session in its agent
      restore      Restore a session's files, so that the agent can list and resume it

    Share:
      export       Export sessions as Markdown, HTML, JSON, CSV and more
      events       Print sessions as a stream of events, one JSON object per line
      redact       Remove secrets from any text: a filter for standard input
      secrets      List the sessions that contain secrets, by kind
      share        Keep one history on several machines, through a shared folder (extension)
      lake         Send usage to a team's database or warehouse, and report on it (extension)

    Keep:
      sync         Bring the archive up to date, and copy the agent's files into it
      watch        Keep the archive up to date as agents write, and print what they do
      name         Give a session a name of your own
      tag          Add tags to a session
      untag        Remove tags from a session
      forget       Remove sessions from the archive for good
      unforget     Allow forgotten sessions to come back
      archive      Manage the archive: size, integrity, backups, other machines

    Set up:
      doctor       Report searched places, files found, damage, and upcoming deletions
      completions  Print a completion script for a shell
      man          Open the manual page
      help         Print this message, or the help of a command

    Options:
          --from <PATH>
              Read this file or folder instead of the usual places (repeatable)

              A session file, a home, or a folder of an agent: `.claude`, `.codex`, `.gemini`, or one
              below it. The default is the folder that the agent itself uses (its variables are obeyed),
              plus the `roots` in the config file; `backstory doctor` lists the places.

          --archive <FILE>
              Use this archive instead of `backstory/archive.db` in the data folder

          --no-sync
              Answer from the archive as it is, without looking at the agent's files

          --config <FILE>
              Read this config file instead of `backstory/config.toml` in the config folder

          --json
              Print one JSON document with a `schema` field, for programs

          --pricing <FILE>
              Override built-in prices with those in this file, in backstory's format or LiteLLM's JSON

          --tz <ZONE>
              Show times in this zone: `Europe/Berlin`, `UTC`, `local`, `+02:00`

          --color <WHEN>
              Use colours; `auto` obeys `NO_COLOR` and uses none in a pipe [default: auto]

              [possible values: auto, always, never]

      -q, --quiet
              Print the answer and errors only, no warnings

      -v, --verbose
              List items that are otherwise only counted

          --strict
              Exit with 1 if anything could not be read

          --demo
              Use the bundled sample sessions, at a fixed time

      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Exit codes: 0 success; 1 nothing matched, a budget is exceeded, or faults with --strict;
    2 usage error or failure; 130 interrupted.
    ");
}

#[test]
fn program_in_short() {
    insta::assert_snapshot!(help(&["-h"]), @"
    The story behind your code: every session your coding agent left on your disk

    Usage: backstory [OPTIONS] [COMMAND]

    Examples:
      backstory                           an overview: recent sessions, projects, upcoming deletions
      backstory --demo                    the same for the bundled sample sessions
      backstory search 'login bug'        find a conversation, even in deleted sessions
      backstory usage --since this-month  tokens and cost, day by day
      backstory resume latest             continue the latest session of this folder
      backstory digest --on yesterday     what you asked, what was changed and what it cost
      backstory export 3f2a --format html -o session.html

    Read:
      browse       Browse sessions, search and usage in the terminal
      pick         Choose a session in the terminal, and print its id
      serve        Open the web app: sessions, search, usage and health in a browser
      sessions     List sessions: titles, times, projects, tokens and cost
      show         Read a session: prompts, replies, tool calls and errors
      search       Search all sessions: prompts, replies, thoughts, tools and their output
      prompts      List everything you typed, across projects: one per line, newest last
      files        List the files that agents read and changed, and the sessions that did
      log          List what ran in the shell, in order, with exit codes
      digest       Summarize what you asked, what was changed and what it cost, by project
      projects     List projects: names, paths, and the source of each path

    Count:
      usage        Count tokens and cost by day, session, project, model and more
      tools        Count tool calls, their results and the lines they changed
      commands     Count the programs that the shell tool ran
      pricing      Show the price table, and the models without a price
      verify       Check the numbers against the totals in the files, and list every doubt

    Continue:
      resume       Continue a session in its agent
      restore      Restore a session's files, so that the agent can list and resume it

    Share:
      export       Export sessions as Markdown, HTML, JSON, CSV and more
      events       Print sessions as a stream of events, one JSON object per line
      redact       Remove secrets from any text: a filter for standard input
      secrets      List the sessions that contain secrets, by kind
      share        Keep one history on several machines, through a shared folder (extension)
      lake         Send usage to a team's database or warehouse, and report on it (extension)

    Keep:
      sync         Bring the archive up to date, and copy the agent's files into it
      watch        Keep the archive up to date as agents write, and print what they do
      name         Give a session a name of your own
      tag          Add tags to a session
      untag        Remove tags from a session
      forget       Remove sessions from the archive for good
      unforget     Allow forgotten sessions to come back
      archive      Manage the archive: size, integrity, backups, other machines

    Set up:
      doctor       Report searched places, files found, damage, and upcoming deletions
      completions  Print a completion script for a shell
      man          Open the manual page
      help         Print this message, or the help of a command

    Options:
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Exit codes: 0 success; 1 nothing matched, a budget is exceeded, or faults with --strict;
    2 usage error or failure; 130 interrupted.

    Global options: --from, --archive, --no-sync, --config, --json, --pricing, --tz, --color, -q, -v,
    --strict, --demo (described by `--help`)
    ");
}

/// The global flags are the same everywhere; the rest is the command's own.
fn own_help(command: &str) -> String {
    let text = help(&[command, "--help"]);
    let (before, after) = text.split_once("Global options:").unwrap();
    assert!(after.contains("--from <PATH>") && after.contains("--strict"), "{after}");
    // Notes come after the last of them, which is `--demo`.
    let notes = after.split_once("at a fixed time").unwrap().1;
    format!("{before}{}", notes.trim_start())
}

#[test]
fn doctor() {
    insta::assert_snapshot!(own_help("doctor"), @"
    Report searched places, files found, damage, and upcoming deletions

    Says first what there is to do. Lists every place that was searched and why, the number of files,
    every record that could not be used, how long each agent keeps sessions according to its settings,
    which sessions it will delete in the next days, and whether the archive has them. `-v` adds the
    files by kind, files that were skipped on purpose, the disk space of each project, and every file
    that will be deleted. On a terminal, it is shown page by page.

    Usage: backstory doctor [OPTIONS]

    Examples:
      backstory doctor                          what there is to do, and why
      backstory doctor -v                       everything: kinds of files, projects, every deletion
      backstory doctor --from session.jsonl     check a single file
      backstory doctor --strict -q > /dev/null  exit code 1 if anything could not be read
      backstory doctor --json | jq '.at_risk'   the sessions that the resume bug will delete

    Options:
      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn export() {
    insta::assert_snapshot!(own_help("export"), @"
    Export sessions as Markdown, HTML, JSON, CSV and more

    A session is named by its id or a unique prefix of it, by `latest` or `@N`, or by the name of one of
    its files. A path is read by itself, whatever state the file is in. `--all`, or filters instead of a
    session, export many sessions: one file per session in the folder given with `-o`, named by day,
    project, title and id. `gemini` exports the file that Gemini CLI would load.

    Usage: backstory export [OPTIONS] [FILE|SESSION]

    Examples:
      backstory export latest -o session.html
                            a self-contained page to send to somebody
      backstory export 3f2a --format markdown > session.md
      backstory export --all --format markdown -o sessions/
                            every session in its own file, and an index
      backstory export -p shop --since 7d --format html -o shop/
      backstory export ~/old/session-2026-08-01T10-00-3f2a91c7.jsonl --format gemini -o session.json
                            a single file, wherever it is; `gemini --session-file session.json` reads it
      backstory export --all --format csv --rows tools -o tools.csv
      backstory export 3f2a --format gemini | jq '.messages | length'

    Arguments:
      [FILE|SESSION]
              A session, or a file

    Options:
          --all
              Export every session that matches the filters

      -h, --help
              Print help (see a summary with '-h')

    Filters:
      -p, --project <NAME>
              Only this project: its name, part of its path, a prefix of its hash, or `.` for this
              folder's (repeatable)

          --model <NAME>
              Only sessions that used this model; part of its name is enough (repeatable)

          --agent <AGENT>
              Only this agent (repeatable)

              [possible values: claude, codex, gemini]

          --tag <TAG>
              Only sessions with this tag (repeatable)

          --machine <NAME>
              Only sessions from this machine (repeatable)

          --branch <NAME>
              Only sessions that worked on this git branch last (repeatable)

          --since <WHEN>
              Only activity since this time: 2026-08-01, 30m, 7d, yesterday, monday, 'last week',
              2026-08

          --until <WHEN>
              Only activity up to the end of this time

          --on <WHEN>
              Only activity in this day, week, month or year: yesterday, monday, 2026-08

          --format <FORMAT>
              The format to write [default: that of the file's name]

              Possible values:
              - markdown: For any forge: prompts, replies, and tool calls folded
              - html:     A self-contained page that needs no network
              - json:     A complete document: the session and every message (`backstory.session/1`)
              - jsonl:    The same as JSON lines: the session, then its messages
              - calls:    One line per model call: tokens, tools, commands, prompt, cost
              - csv:      A table for spreadsheets
              - events:   One line per event: prompts, tools and their results (`backstory events`)
              - gemini:   Gemini CLI's own document, as `/export-session` writes it and `--session-file`
                          reads it

          --view <VIEW>
              The messages to include; `gemini` always exports the current ones

              Possible values:
              - full:    Everything that happened
              - current: The messages that the agent would load

              [default: full]

          --thoughts
              Include the model's thoughts (`html` has them anyway, folded)

          --tool-output
              Include the whole input and output of tools, which `markdown` and `html` cut

          --info
              Include notices, injected context and summaries

          --tokens
              Include tokens and cost of each reply

          --rows <ROWS>
              The rows of `csv`

              Possible values:
              - calls:    Model calls
              - tools:    Tool calls
              - sessions: Sessions

              [default: calls]

      -o, --output <FILE>
              Write to this file instead of standard output; for many sessions, a folder

          --force
              Replace existing files

          --no-redact
              Keep secrets; by default they are removed and counted (docs/redaction.md)
    ");
}

#[test]
fn completions() {
    insta::assert_snapshot!(own_help("completions"), @"
    Print a completion script for a shell

    It completes commands and flags, and from the archive sessions, projects, models, tags and machines:

    bash:        backstory completions bash > ~/.local/share/bash-completion/completions/backstory
    zsh:         backstory completions zsh > ~/.zfunc/_backstory   (a folder in $fpath)
    fish:        backstory completions fish > ~/.config/fish/completions/backstory.fish
    PowerShell:  backstory completions powershell >> $PROFILE
    elvish:      backstory completions elvish >> ~/.config/elvish/rc.elv

    Usage: backstory completions [OPTIONS] <SHELL>

    Arguments:
      <SHELL>
              The shell

              [possible values: bash, elvish, fish, powershell, zsh]

    Options:
      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn man() {
    insta::assert_snapshot!(own_help("man"), @"
    Open the manual page

    Describes the program, or one of its commands. On a terminal it is shown by `man`; otherwise its
    source is printed: `backstory man > ~/.local/share/man/man1/backstory.1` installs it.

    Usage: backstory man [OPTIONS] [COMMAND]

    Arguments:
      [COMMAND]
              The command to describe

    Options:
      -h, --help
              Print help (see a summary with '-h')
    ");
}

#[test]
fn scripts_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = TestEnv::new().run(&["completions", shell]);
        assert_eq!(run.code, Some(0));
        assert!(run.stdout.contains("BACKSTORY_COMPLETE"), "{shell}");
    }
}

#[test]
fn manual_pages() {
    let page = TestEnv::new().run(&["man"]).stdout;
    assert!(page.contains(".TH backstory 1") && page.contains("doctor"), "{page}");
    let page = TestEnv::new().run(&["man", "export"]).stdout;
    assert!(page.contains("no\\-redact"), "{page}");
    insta::assert_snapshot!(TestEnv::new().run(&["man", "nope"]).show(), @"
    exit code 2
    --- stderr
    error: there is no command `nope`
      hint: commands: `browse`, `pick`, `serve`, `sessions`, `show`, `search`, `prompts`, `usage`, `tools`, `commands`, `log`, `files`, `digest`, `projects`, `events`, `export`, `redact`, `secrets`, `verify`, `pricing`, `restore`, `resume`, `sync`, `watch`, `name`, `tag`, `untag`, `forget`, `unforget`, `archive`, `doctor`, `completions`, `man`, `help`
    ");
}

#[test]
fn wrong_usage() {
    insta::assert_snapshot!(TestEnv::new().run(&["--nope"]).show(), @"
    exit code 2
    --- stderr
    error: unexpected argument '--nope' found

    Usage: backstory [OPTIONS] [COMMAND]

    For more information, try '--help'.
    ");
    for args in [
        &["doctor", "extra"][..],
        &["export"],
        &["export", "x"],
        &["--color", "blue"],
        &["-q", "-v"],
        &["--demo", "--from", "x"],
    ] {
        assert_eq!(TestEnv::new().run(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn version() {
    let run = TestEnv::new().run(&["--version"]);
    assert_eq!(run.stdout, format!("backstory {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn watch() {
    insta::assert_snapshot!(own_help("watch"), @r#"
    Keep the archive up to date as agents write, and print what they do

    Runs a sync, and another one within a second of every change. Prints a line for each session that
    started, grew, or whose files are gone, and below it the new prompts, replies, tool calls and
    errors; everything seen of sessions that are gone is kept.

    Usage: backstory watch [OPTIONS]

    Examples:
      backstory watch                 keep the archive up to date, and print what happens
      backstory watch --quiet > /dev/null &
                                      the same in the background
      backstory watch --json | jq -r 'select(.what == "grew").session'
      backstory watch --poll 30       poll every 30 seconds, for a network file system

    Options:
          --poll <SECONDS>
              Poll every N seconds instead of using the system's notifications

      -h, --help
              Print help (see a summary with '-h')

    It stops on Ctrl-C or SIGTERM, after finishing the current sync, with exit code 0.
    "#);
}
