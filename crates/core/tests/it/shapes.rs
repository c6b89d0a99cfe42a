//! Tests shapes seen in real homes, rebuilt with made-up text. Each folder of
//! `testdata/gemini/shapes` has an `expected.json`, written by hand from the rules.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::expected::{differences, sessions};
use crate::support::{Home, testdata};

#[test]
fn every_shape_is_read_as_expected() {
    let mut folders: Vec<_> = std::fs::read_dir(testdata("gemini/shapes")).unwrap().collect();
    folders.sort_by_key(|entry| entry.as_ref().unwrap().path());
    assert!(folders.len() >= 75, "only {} shapes", folders.len());
    let mut wrong = String::new();
    for folder in folders {
        let folder = folder.unwrap().path();
        let differences = check(&folder);
        if !differences.is_empty() {
            let name = folder.file_name().unwrap().to_str().unwrap();
            let _ = write!(wrong, "{name}\n{differences}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn check(folder: &Path) -> String {
    let expected: Value =
        serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let given = expected["given"].as_array().map_or(folder.to_owned(), |given| {
        let [one] = given.as_slice() else { panic!("one file at a time") };
        folder.join(one.as_str().unwrap())
    });
    let home = Home::at(&given);
    let ours = sessions(&home, folder);
    let mut out = differences(&expected["sessions"], &ours);
    let files = home.archive.files().unwrap();
    let files: Vec<_> = files.iter().map(|file| (&file.source.path, &file.about.faults)).collect();
    let found: usize = files.iter().map(|(_, faults)| faults.details.len()).sum();
    if let Some(faults) = expected["faults"].as_u64()
        && faults != found as u64
    {
        let _ = writeln!(out, "faults: expected {faults}, ours {files:?}");
    }
    for never in expected["never"].as_array().into_iter().flatten() {
        if ours.to_string().contains(never.as_str().unwrap()) {
            let _ = writeln!(out, "{never} is in the documents");
        }
    }
    out
}
