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
    The story behind your code: every session Gemini CLI left on your disk

    backstory reads the sessions that Gemini CLI keeps below `~/.gemini` and never changes them; only
    `restore` and `resume` write there, to bring back what was lost. Without a command it prints an
    overview.

    Usage: backstory [OPTIONS] [COMMAND]

    Commands:
      sessions     List sessions: what was asked, when, in which project
      show         Read a session: what was said, which tools ran, what went wrong
      search       Search all that was ever said: prompts, replies, thoughts, tools and their output
      prompts      List everything you typed, across projects: one per line, newest last
      usage        Count tokens and cost by day, session, project, model and more
      tools        Count tool calls: how often, how they ended, lines changed
      commands     Count the programs that the shell tool ran
      projects     List projects: names, paths, and how each path is known
      events       Print what happened as a stream of events, one JSON object per line
      export       Write sessions in another form: to read, to send, to count
      redact       Take secrets out of any text: a filter for standard input
      verify       Check the numbers against the files' own figures, and list every doubt
      pricing      Show the price table: models, prices, dates, and what has no price
      restore      Write a session's files back, so that the agent lists and resumes it
      resume       Continue a session in Gemini CLI
      sync         Bring the archive up to date, and keep the agent's own files in it
      watch        Keep the archive up to date as the agent writes, and tell what changed
      name         Give a session a name of your own
      tag          Put tags on a session
      untag        Take tags off a session
      forget       Remove sessions from the archive for good
      unforget     Allow forgotten sessions to come back
      archive      Look after the archive: its size, its health, copies, other machines
      doctor       Say where it looked, what it found, what is damaged, and what will be deleted
      completions  Print a completion script for a shell
      man          Print the manual page
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help
              Print help (see a summary with '-h')

      -V, --version
              Print version

    Global options:
          --from <PATH>
              Read this file or folder instead of the usual places (repeatable)

              A session file, a `chats` folder, a project's folder below `tmp`, a `.gemini` folder, or a
              home that holds one. Without it: what `GEMINI_SESSIONS_DIR`, `GEMINI_DIR` or
              `GEMINI_CLI_HOME` names, else `~/.gemini` and `~/.cache/.gemini`, and the `roots` of the
              config file.

          --archive <FILE>
              Use this archive instead of `backstory/archive.db` in the data folder

          --no-sync
              Answer from the archive as it is, without looking at the agent's files

          --config <FILE>
              Read this config file instead of `backstory/config.toml` in the config folder

          --json
              Print one JSON document with a `schema` field, for programs

          --pricing <FILE>
              Use the prices in this file, in our form or LiteLLM's JSON, over the built-in ones

          --tz <ZONE>
              Show times in this zone: `Europe/Berlin`, `UTC`, `local`, `+02:00`

          --color <WHEN>
              Use colours; `auto` obeys `NO_COLOR` and uses none in a pipe [default: auto]

              [possible values: auto, always, never]

      -q, --quiet
              Print the answer and errors only, no warnings

      -v, --verbose
              List what is otherwise only counted

          --strict
              Exit with 1 when anything could not be read

          --demo
              Use the made-up sessions that come with the program, at a fixed time

    Examples:
      backstory                        an overview: projects, sessions, what is about to be lost
      backstory --demo                 the same on made-up sessions that come with the program
      backstory search 'login bug'     where that was said, even in deleted sessions
      backstory usage --since this-month
                                       tokens and cost, day by day
      backstory resume 3f2a            continue a session, bringing it back first if it was deleted
      backstory --from ~/backup/.gemini doctor
                                       where it looked, what is damaged, in a copy of Gemini CLI's
                                       folder
      backstory export 3f2a --format gemini -o session.json
                                       one session, as `gemini --session-file` reads it

    Exit codes: 0 fine; 1 nothing matched, a budget is spent, or faults with --strict;
    2 wrong usage or failure; 130 interrupted.
    ");
}

#[test]
fn program_in_short() {
    insta::assert_snapshot!(help(&["-h"]), @"
    The story behind your code: every session Gemini CLI left on your disk

    Usage: backstory [OPTIONS] [COMMAND]

    Commands:
      sessions     List sessions: what was asked, when, in which project
      show         Read a session: what was said, which tools ran, what went wrong
      search       Search all that was ever said: prompts, replies, thoughts, tools and their output
      prompts      List everything you typed, across projects: one per line, newest last
      usage        Count tokens and cost by day, session, project, model and more
      tools        Count tool calls: how often, how they ended, lines changed
      commands     Count the programs that the shell tool ran
      projects     List projects: names, paths, and how each path is known
      events       Print what happened as a stream of events, one JSON object per line
      export       Write sessions in another form: to read, to send, to count
      redact       Take secrets out of any text: a filter for standard input
      verify       Check the numbers against the files' own figures, and list every doubt
      pricing      Show the price table: models, prices, dates, and what has no price
      restore      Write a session's files back, so that the agent lists and resumes it
      resume       Continue a session in Gemini CLI
      sync         Bring the archive up to date, and keep the agent's own files in it
      watch        Keep the archive up to date as the agent writes, and tell what changed
      name         Give a session a name of your own
      tag          Put tags on a session
      untag        Take tags off a session
      forget       Remove sessions from the archive for good
      unforget     Allow forgotten sessions to come back
      archive      Look after the archive: its size, its health, copies, other machines
      doctor       Say where it looked, what it found, what is damaged, and what will be deleted
      completions  Print a completion script for a shell
      man          Print the manual page
      help         Print this message or the help of the given subcommand(s)

    Options:
      -h, --help     Print help (see more with '--help')
      -V, --version  Print version

    Global options:
          --from <PATH>     Read this file or folder instead of the usual places (repeatable)
          --archive <FILE>  Use this archive instead of `backstory/archive.db` in the data folder
          --no-sync         Answer from the archive as it is, without looking at the agent's files
          --config <FILE>   Read this config file instead of `backstory/config.toml` in the config
                            folder
          --json            Print one JSON document with a `schema` field, for programs
          --pricing <FILE>  Use the prices in this file, in our form or LiteLLM's JSON, over the
                            built-in ones
          --tz <ZONE>       Show times in this zone: `Europe/Berlin`, `UTC`, `local`, `+02:00`
          --color <WHEN>    Use colours; `auto` obeys `NO_COLOR` and uses none in a pipe [default: auto]
                            [possible values: auto, always, never]
      -q, --quiet           Print the answer and errors only, no warnings
      -v, --verbose         List what is otherwise only counted
          --strict          Exit with 1 when anything could not be read
          --demo            Use the made-up sessions that come with the program, at a fixed time

    Examples:
      backstory                        an overview: projects, sessions, what is about to be lost
      backstory --demo                 the same on made-up sessions that come with the program
      backstory search 'login bug'     where that was said, even in deleted sessions
      backstory usage --since this-month
                                       tokens and cost, day by day
      backstory resume 3f2a            continue a session, bringing it back first if it was deleted
      backstory --from ~/backup/.gemini doctor
                                       where it looked, what is damaged, in a copy of Gemini CLI's
                                       folder
      backstory export 3f2a --format gemini -o session.json
                                       one session, as `gemini --session-file` reads it

    Exit codes: 0 fine; 1 nothing matched, a budget is spent, or faults with --strict;
    2 wrong usage or failure; 130 interrupted.
    ");
}

/// The global flags are the same everywhere; what comes before them is the command's own.
fn own_help(command: &str) -> String {
    let text = help(&[command, "--help"]);
    let (before, after) = text.split_once("Global options:").unwrap();
    assert!(after.contains("--from <PATH>") && after.contains("--strict"), "{after}");
    let examples = after.find("Examples:").map_or("", |at| &after[at..]);
    format!("{before}{examples}")
}

#[test]
fn doctor() {
    insta::assert_snapshot!(own_help("doctor"), @"
    Say where it looked, what it found, what is damaged, and what will be deleted

    Lists every place that was looked at and why, the files by kind, what was passed over on purpose,
    every record that could not be used, the disk space of each project, how long Gemini CLI keeps
    sessions by its settings files, which sessions it will delete next, and whether the archive keeps
    them.

    Usage: backstory doctor [OPTIONS]

    Options:
      -h, --help
              Print help (see a summary with '-h')

    Examples:
      backstory doctor                          everything, the long lists cut
      backstory doctor -v                       everything, nothing cut
      backstory doctor --from session.jsonl     one file: is it whole?
      backstory doctor --strict -q > /dev/null  exit code 1 if anything could not be read
      backstory doctor --json | jq '.at_risk'   the sessions that the resume bug will delete
    ");
}

#[test]
fn export() {
    insta::assert_snapshot!(own_help("export"), @"
    Write sessions in another form: to read, to send, to count

    A session is named by its id, by the beginning of it that is not shared with another, by `latest` or
    `@N`, or by the name of one of its files. A path is read alone, whatever state the file is in.
    `--all`, or filters instead of a session, write many: a file each into the folder that `-o` names,
    called by day, project, title and id. For `gemini` the file that Gemini CLI would load is taken.

    Usage: backstory export [OPTIONS] --format <FORMAT> [FILE|SESSION]

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
              Only this project: its name, a part of its path, or the beginning of its hash (repeatable)

          --model <NAME>
              Only sessions that used this model; a part of its name is enough (repeatable)

          --agent <AGENT>
              Only this agent

              [possible values: gemini]

          --tag <TAG>
              Only sessions with this tag of yours (repeatable)

          --machine <NAME>
              Only what was read on this machine (repeatable)

          --since <WHEN>
              Only what happened from this time on: 2026-08-01, 7d, 2w, yesterday, this-month, 2026-08

          --until <WHEN>
              Only what happened before the end of this

          --format <FORMAT>
              The form to write

              Possible values:
              - markdown: To read on any forge: prompts, replies, tool calls folded
              - html:     One page that holds everything and needs no network
              - json:     Our own document, complete: the session and every message
                (`backstory.session/1`)
              - jsonl:    The same as JSON lines: the session, then its messages
              - calls:    One line per model call: tokens, tools, commands, prompt, cost
              - csv:      A table for spreadsheets
              - events:   What happened, one line per event: prompts, tools and their results
                (`backstory events`)
              - gemini:   Gemini CLI's own document, as `/export-session` writes it and `--session-file`
                reads it

          --view <VIEW>
              Which messages; `gemini` is always the current ones

              Possible values:
              - full:    All that happened
              - current: What the agent itself would load

              [default: full]

          --thoughts
              Include the model's thoughts (`html` has them anyway, folded)

          --tool-output
              Include all that tools were given and gave back, where `markdown` and `html` cut it

          --info
              Include notices, injected context and summaries

          --tokens
              Include tokens and cost of each reply

          --rows <ROWS>
              What a row of `csv` is

              Possible values:
              - calls:    Model calls
              - tools:    Tool calls
              - sessions: Sessions

              [default: calls]

      -o, --output <FILE>
              Write to this file instead of standard output; for many sessions, the folder

          --force
              Replace what is there

          --no-redact
              Keep secrets; by default they are taken out and counted (docs/redaction.md)

    Examples:
      backstory export latest --format html -o session.html
                            one page to send to somebody: no network, light and dark, foldable
      backstory export 3f2a --format markdown > session.md
      backstory export --all --format markdown -o sessions/
                            every session, a file each, and an index
      backstory export -p shop --since 7d --format html -o shop/
      backstory export ~/old/session-2026-08-01T10-00-3f2a91c7.jsonl --format gemini -o session.json
                            one file, wherever it is; `gemini --session-file session.json` reads it
      backstory export --all --format csv --rows tools -o tools.csv
      backstory export 3f2a --format gemini | jq '.messages | length'
    ");
}

#[test]
fn completions() {
    insta::assert_snapshot!(own_help("completions"), @"
    Print a completion script for a shell

    bash:  backstory completions bash > ~/.local/share/bash-completion/completions/backstory
    zsh:   backstory completions zsh > ~/.zfunc/_backstory   (a folder in $fpath)
    fish:  backstory completions fish > ~/.config/fish/completions/backstory.fish

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
    Print the manual page

    For the program, or for one of its commands. Try `backstory man | man -l -`, or keep it: `backstory
    man > ~/.local/share/man/man1/backstory.1`.

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
        assert!(run.stdout.contains("doctor") && run.stdout.contains("strict"), "{shell}");
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
      hint: commands: `sessions`, `show`, `search`, `prompts`, `usage`, `tools`, `commands`, `projects`, `events`, `export`, `redact`, `verify`, `pricing`, `restore`, `resume`, `sync`, `watch`, `name`, `tag`, `untag`, `forget`, `unforget`, `archive`, `doctor`, `completions`, `man`, `help`
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
    Keep the archive up to date as the agent writes, and tell what changed

    Does what `sync` does, then again within a second of every change. Prints a line for each session
    that started, grew, or whose files are gone; it keeps what it has seen of those.

    Usage: backstory watch [OPTIONS]

    Options:
          --poll <SECONDS>
              Poll every N seconds instead of using the system's notifications

      -h, --help
              Print help (see a summary with '-h')

    Examples:
      backstory watch                 keep the archive fresh, and tell what happens
      backstory watch --quiet > /dev/null &
                                      the same in the background
      backstory watch --json | jq -r 'select(.what == "grew").session'
      backstory watch --poll 30       look every half minute instead, for a network file system

    It ends on Ctrl-C or SIGTERM, after what it is doing, with exit code 0.
    "#);
}
