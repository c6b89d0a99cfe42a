//! Tests the redactor on sets that were written without knowledge of its rules.

use std::fs;

use backstory_core::redact::{Redactor, Rules};
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    id: String,
    text: String,
    secrets: Vec<String>,
    #[serde(default)]
    limit: bool,
}

#[test]
fn nearly_all_secrets_go_and_hardly_anything_else() {
    for set in ["set", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"] {
        measure(set);
    }
}

fn measure(name: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/redaction");
    let set = fs::read_to_string(format!("{folder}/{name}.jsonl")).unwrap();
    let rules = Rules::embedded().unwrap();
    let (mut secrets, mut missed) = (0, Vec::new());
    let (mut others, mut alarms) = (0, Vec::new());
    for line in set.lines() {
        let row: Row = serde_json::from_str(line).unwrap();
        if row.limit {
            continue;
        }
        let mut redactor = Redactor::new(&rules);
        redactor.text(&row.text);
        redactor.learn();
        let out = redactor.text(&row.text);
        if row.secrets.is_empty() {
            others += 1;
            if out != row.text {
                alarms.push(row.id.clone());
            }
        }
        secrets += row.secrets.len();
        let survives = row.secrets.iter().filter(|secret| out.contains(secret.as_str()));
        missed.extend(survives.map(|_| row.id.clone()));
    }
    assert!(secrets >= 400 && others >= 250);
    assert!(
        missed.len() * 100 <= secrets * 3,
        "{name}: missed {} of {secrets}: {missed:?}",
        missed.len()
    );
    assert!(
        alarms.len() * 1000 <= others * 15,
        "{name}: {} false alarms of {others}: {alarms:?}",
        alarms.len()
    );
}
