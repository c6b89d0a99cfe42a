//! Tests the config file.

use crate::support::{TestEnv, session, small_home};

const USUAL: &str = ".config/backstory/config.toml";

#[test]
fn mistakes_have_a_place_and_a_hint() {
    let env = TestEnv::new();
    env.write(USUAL, "tz = \"UTC\"\ncolour = \"never\"\n");
    insta::assert_snapshot!(env.run(&[]).show(), @"
    exit code 2
    --- stderr
    error: cannot use the config file `~/.config/backstory/config.toml`
      caused by: line 2: unknown field `colour`
      hint: known keys: `tz`, `color`, `roots`, `pricing`, `prices`, `billing`, `machine`, `archive`, `auto_capture`, `exclude`, in `[projects]` `scan` and `links`, in `[redact]` `rules`, `allow`, `enable` and `disable`
    ");
    env.write(USUAL, "tz = \"Mars/Olympus\"\n");
    insta::assert_snapshot!(env.run(&[]).show(), @"
    exit code 2
    --- stderr
    error: `tz` in `~/.config/backstory/config.toml`: there is no time zone `Mars/Olympus`
      caused by: parsed apparent IANA time zone identifier, but the tzdb lookup failed: failed to find time zone `Mars/Olympus` in time zone database
      hint: use a name like `Europe/Berlin`, `UTC`, `local`, or an offset like `+02:00`
    ");
    env.write(USUAL, "roots = \"one\"\n");
    insta::assert_snapshot!(env.run(&[]).show(), @r#"
    exit code 2
    --- stderr
    error: cannot use the config file `~/.config/backstory/config.toml`
      caused by: line 1: invalid type: string "one", expected a sequence
      hint: known keys: `tz`, `color`, `roots`, `pricing`, `prices`, `billing`, `machine`, `archive`, `auto_capture`, `exclude`, in `[projects]` `scan` and `links`, in `[redact]` `rules`, `allow`, `enable` and `disable`
    "#);
    env.write(USUAL, "tz = [");
    assert_eq!(env.run(&[]).code, Some(2));
}

#[test]
fn a_named_file_must_be_there() {
    insta::assert_snapshot!(TestEnv::new().run(&["--config", "nope.toml"]).show(), @"
    exit code 2
    --- stderr
    error: cannot read the config file `nope.toml`
      caused by: No such file or directory (os error 2)
      hint: check the path given with `--config`
    ");
}

#[test]
fn a_named_file_takes_the_place_of_the_usual_one() {
    let env = TestEnv::new();
    env.write(USUAL, "nonsense = 1\n");
    env.write("mine.toml", "color = \"never\"\n");
    assert_eq!(env.run(&[]).code, Some(2));
    assert_eq!(env.run(&["--config", "mine.toml"]).code, Some(0));
}

#[test]
fn more_roots() {
    let env = small_home();
    let log = session("99999999-0000-4000-8000-000000000009", NOW, NOW, &["hi"]);
    env.write("old/.gemini/tmp/attic/chats/session-2026-08-14T10-00-99999999.jsonl", log);
    env.write(USUAL, "roots = [\"~/old/.gemini\", \"~/gone\"]\n");
    let got = env.json(&["doctor", "--json"]);
    assert_eq!(got["roots"].as_array().unwrap().len(), 2);
    assert_eq!(got["projects"].as_array().unwrap().len(), 3);
    let looked = got["looked"].as_array().unwrap();
    assert_eq!(looked.last().unwrap()["why"], "`roots` in the config file");
    assert_eq!(looked.last().unwrap()["exists"], false);
    let alone = env.json(&["doctor", "--json", "--from", ".gemini"]);
    assert_eq!(alone["projects"].as_array().unwrap().len(), 2, "`--from` is read alone");
}

const NOW: &str = "2026-08-14T10:00:00.000Z";

/// Flags override the environment, and the environment overrides the file.
#[test]
fn zones() {
    let env = small_home();
    let shows = |env: &TestEnv, args: &[&str], tz: Option<&str>| {
        let mut command = env.command(&["doctor"]);
        command.args(args).env_remove("TZ").envs(tz.map(|tz| ("TZ", tz)));
        let run = env.finish(&mut command);
        let date = run.stdout.lines().find(|line| line.contains("11111111")).unwrap();
        date.split_whitespace().nth(1).unwrap().to_owned()
    };
    env.write(USUAL, "tz = \"Asia/Tokyo\"\n");
    assert_eq!(shows(&env, &[], None), "20:00");
    assert_eq!(shows(&env, &[], Some("America/New_York")), "07:00");
    assert_eq!(shows(&env, &["--tz", "+05:30"], Some("America/New_York")), "16:30");
    assert_eq!(shows(&env, &["--tz", "-03:00"], None), "08:00");
    assert_eq!(shows(&env, &["--tz", "UTC"], None), "11:00");
    insta::assert_snapshot!(env.run(&["--tz", "Mars/Olympus"]).show(), @"
    exit code 2
    --- stderr
    error: `--tz`: there is no time zone `Mars/Olympus`
      caused by: parsed apparent IANA time zone identifier, but the tzdb lookup failed: failed to find time zone `Mars/Olympus` in time zone database
      hint: use a name like `Europe/Berlin`, `UTC`, `local`, or an offset like `+02:00`
    ");
}

#[test]
fn a_clock_that_is_none() {
    let env = TestEnv::new();
    let run = env.finish(env.command(&[]).env("BACKSTORY_NOW", "noon"));
    insta::assert_snapshot!(run.show(), @"
    exit code 2
    --- stderr
    error: `BACKSTORY_NOW` is `noon`, which is not a valid time
      caused by: failed to parse four digit integer as year: invalid digit, expected 0-9 but got n
      hint: write it like `2026-08-14T16:30:00Z`
    ");
}

#[test]
fn places_named_by_the_environment() {
    let env = TestEnv::new();
    let log = session("99999999-0000-4000-8000-000000000009", NOW, NOW, &["hi"]);
    env.write("g/tmp/p/chats/session-2026-08-14T10-00-99999999.jsonl", log);
    for (name, value) in
        [("GEMINI_DIR", "g"), ("GEMINI_CLI_HOME", "g"), ("GEMINI_SESSIONS_DIR", "g/tmp")]
    {
        let mut command = env.command(&["--json"]);
        command.env(name, env.home().join(value));
        let run = env.finish(&mut command);
        assert!(run.stdout.contains("\"sessions\": 1"), "{name}: {}", run.stdout);
    }
}
