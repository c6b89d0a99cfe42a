//! Tests `--demo`.

use crate::support::TestEnv;

#[test]
fn the_same_for_everyone() {
    let env = TestEnv::new();
    env.write(".config/backstory/config.toml", "tz = \"Asia/Tokyo\"\n");
    let mut command = env.command(&["--demo"]);
    command.env("TZ", "America/New_York").env("BACKSTORY_NOW", "2030-01-01T00:00:00Z");
    command.env("GEMINI_DIR", "/nowhere");
    let run = env.finish(&mut command);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(
        run.stdout.contains("harbor-api") && run.stdout.contains("minutes ago"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("resume bug"), "{}", run.stdout);
    let doctor = env.run(&["--demo", "doctor"]);
    assert!(doctor.stdout.contains("At risk from the resume bug: 1"), "{}", doctor.stdout);
}

#[test]
fn nothing_is_left_behind() {
    let env = TestEnv::new();
    let temporary = env.home().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    for variable in ["TMPDIR", "TMP", "TEMP"] {
        let run =
            env.finish(env.command(&["--demo", "doctor", "--json"]).env(variable, &temporary));
        assert_eq!(run.code, Some(0));
    }
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn sample_sessions_cannot_be_continued() {
    let env = TestEnv::new();
    let sessions = env.json(&["--demo", "sessions", "--json"])["sessions"].clone();
    let id = sessions[0]["id"].as_str().unwrap();
    let run = env.run(&["--demo", "resume", id]);
    assert_ne!(run.code, Some(0));
    assert!(run.stderr.contains("sample sessions cannot be continued"), "{}", run.stderr);
    assert!(!run.stderr.contains("moved"), "{}", run.stderr);
}
