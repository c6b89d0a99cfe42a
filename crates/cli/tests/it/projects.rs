//! Tests `projects`: paths, proofs, and the search for projects known only by hash.

use crate::support::{TestEnv, session};

#[test]
fn for_people() {
    insta::assert_snapshot!(TestEnv::new().run(&["--demo", "projects"]).show(), @"
    exit code 0
    --- stdout
      PROJECT     SESSIONS  UPDATED           TOKENS    COST      SIZE  PROOF         PATH
      harbor-api         8  6 minutes ago    492,828   $0.70  142.1 kB  project_root  /home/sam/code/harbor-api
      tidepool           5  1 hour ago       528,161   $0.86   67.0 kB  project_root  /home/sam/code/tidepool
      dotfiles           3  7 hours ago       70,188   $0.12   15.8 kB  project_root  /home/sam/dotfiles
      ledger-etl         2  1 day ago      1,160,797   $0.58   36.0 kB  project_root  /home/sam/work/ledger-etl
      tern-notes         1  4 months ago      23,800  ≥$0.02    5.7 kB  hash          /home/sam/code/tern-notes
    ");
}

const ID: &str = "88888888-0000-4000-8000-000000000008";
const NOW: &str = "2026-08-14T10:00:00.000Z";

/// Writes a session whose project is known only by hash.
fn hidden(env: &TestEnv, path: &str) -> String {
    use sha2::{Digest, Sha256};
    let hash =
        Sha256::digest(path).iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    let log = session(ID, NOW, NOW, &["hello"]);
    let log = log.replace(&ID.replace('-', "").repeat(2), &hash);
    env.write(&format!(".gemini/tmp/{hash}/chats/session-2026-08-14T10-00-88888888.jsonl"), log);
    hash
}

#[test]
fn a_hash_is_looked_for() {
    let env = TestEnv::new();
    let folder = env.home().join("code/deep/inside/hidden");
    std::fs::create_dir_all(&folder).unwrap();
    let hash = hidden(&env, folder.to_str().unwrap());
    let before = env.json(&["projects", "--json"]);
    assert_eq!(before["rows"][0]["path"], serde_json::Value::Null);
    assert_eq!(before["rows"][0]["name"].as_str().unwrap(), &hash[..8]);
    let after = env.json(&["projects", "--scan", "--json"]);
    assert!(after["rows"][0]["path"].as_str().unwrap().ends_with("code/deep/inside/hidden"));
    assert_eq!(after["rows"][0]["proof"], "hash");
    // A name that matches nothing starts the search, too.
    let found = env.json(&["sessions", "-p", "hidden", "--json"]);
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn where_it_was_started_is_tried() {
    let env = TestEnv::new();
    hidden(&env, env.home().to_str().unwrap());
    let got = env.json(&["projects", "--json"]);
    assert_eq!(got["rows"][0]["proof"], "hash");
}

#[test]
fn a_link_is_kept_in_the_config_file() {
    let env = TestEnv::new();
    let hash = hidden(&env, "/gone/for/good");
    env.write(".config/backstory/config.toml", "# mine\ntz = \"UTC\"\n");
    let run = env.run(&["projects", "link", &hash[..8], "/gone/for/good"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let config = std::fs::read_to_string(env.home().join(".config/backstory/config.toml")).unwrap();
    assert!(config.starts_with("# mine\ntz = \"UTC\"\n"), "{config}");
    let got = env.json(&["projects", "--json"]);
    assert_eq!(got["rows"][0]["path"], "/gone/for/good");
    assert_eq!(got["rows"][0]["proof"], "link");
    assert_eq!(env.run(&["projects", "link", "xyz", "/a"]).code, Some(2));
}
