//! Tests command lines that the parser rejects, and its suggestions.

use crate::support::TestEnv;

fn tip(args: &[&str]) -> Option<String> {
    let run = TestEnv::new().run(args);
    assert_eq!(run.code, Some(2), "{args:?}");
    let tip = run.stderr.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    tip.map(str::to_owned)
}

#[test]
fn a_stray_word_may_be_a_project_or_words_to_search_for() {
    for (args, command) in [
        (&["sessions", "tidepool"][..], "sessions"),
        (&["usage", "tidepool"], "usage"),
        (&["log", "tidepool"], "log"),
        (&["tidepool"], "sessions"),
    ] {
        let want = format!(
            "a project: `backstory {command} -p tidepool`; words: `backstory search tidepool`"
        );
        assert_eq!(tip(args), Some(want), "{args:?}");
    }
    let quoted = tip(&["sessions", "a b", "--demo"]).unwrap();
    assert!(quoted.contains("`backstory --demo search 'a b'`"), "{quoted}");
    assert_eq!(tip(&["archive", "tidepool"]), None);
}

#[test]
fn only_similar_names_are_suggested() {
    for (args, want) in [
        (&["sessions", "--projct", "x"][..], "a similar argument exists: '--project'"),
        (&["sessions", "--sort", "tokns"], "a similar value exists: 'tokens'"),
        (&["usage", "modl"], "a similar value exists: 'model'"),
        (&["sesions"], "a similar subcommand exists: 'sessions'"),
        (&["serv"], "a similar subcommand exists: 'serve'"),
        (&["shar"], "a similar subcommand exists: 'share'"),
        (&["archive", "chek"], "a similar subcommand exists: 'check'"),
    ] {
        assert_eq!(tip(args).as_deref(), Some(want), "{args:?}");
    }
    for args in [&["sessions", "--sort", "price"][..], &["show", "--foo"], &["man", "zzz"]] {
        assert_eq!(tip(args), None, "{args:?}");
    }
}

#[test]
fn a_flag_of_another_command_leads_there() {
    assert_eq!(tip(&["show", "--budget", "3"]).unwrap(), "`--budget` is a flag of `usage`");
    let usage = TestEnv::new().run(&["show", "--budget", "3"]).stderr;
    assert!(!usage.contains("--quiet"), "{usage}");
    let many = tip(&["restore", "--since", "7d"]).unwrap();
    assert_eq!(many, "`--since` is a flag of `sessions`, `search`, `prompts`");
    // Words to search for may begin with hyphens.
    assert!(tip(&["search", "--nosuch"]).unwrap().contains("`-- --nosuch`"));
}

#[test]
fn a_session_that_is_a_project_leads_to_its_sessions() {
    let run = TestEnv::new().run(&["show", "tidepool", "--demo"]);
    let want = "hint: `backstory --demo sessions -p tidepool` lists those of the project";
    assert!(run.stderr.contains(want), "{}", run.stderr);
}

#[test]
fn commands_and_flags_of_other_programs_lead_to_ours() {
    for (args, want) in [
        (&["ls"][..], "the command is `backstory sessions`"),
        (&["standup"], "the command is `backstory digest`"),
        (&["usage", "--by", "project"], "the group is an argument: `backstory usage project`"),
        (&["sessions", "--deleted"], "`--gone` selects sessions that their agent has deleted"),
        (&["export", "--html"], "`--format html`, or `-o FILE.html`"),
    ] {
        assert_eq!(tip(args).as_deref(), Some(want), "{args:?}");
    }
}
