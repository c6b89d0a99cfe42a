//! Compares every recorded result of Gemini CLI's own loader with ours.

use serde_json::Value;

use crate::support::{compare, export_file, files_below, testdata};

#[test]
fn trees_the_real_program_wrote() {
    let mut compared = 0;
    let recorded = files_below(&testdata("gemini"));
    for answers in recorded.iter().filter(|path| path.ends_with("loaded.jsonl")) {
        let folder = answers.parent().unwrap();
        for line in std::fs::read_to_string(answers).unwrap().lines() {
            let answer: Value = serde_json::from_str(line).unwrap();
            let file = folder.join(answer["file"].as_str().unwrap());
            let (ours, accepted) = export_file(&file);
            assert_eq!(accepted, !answer["record"].is_null(), "{}", file.display());
            if accepted {
                compare(&file.display().to_string(), &ours, &answer["record"]);
            }
            compared += 1;
        }
    }
    assert!(compared >= 45, "only {compared} recorded answers were found");
}

#[test]
fn corner_cases() {
    let expected = testdata("gemini/edge-expected");
    let mut compared = 0;
    for file in files_below(&testdata("gemini/edge")) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let answer = expected.join(format!("{name}.loaded.json"));
        let answer: Value = serde_json::from_slice(&std::fs::read(answer).unwrap()).unwrap();
        let (ours, accepted) = export_file(&file);
        assert_eq!(accepted, !answer.is_null(), "{name}");
        if accepted {
            compare(name, &ours, &answer);
        }
        compared += 1;
    }
    assert!(compared >= 24, "only {compared} corner cases were found");
}

/// Where Gemini CLI gives up, everything readable is still read.
#[test]
fn refused_files_are_read_all_the_same() {
    let messages = |name: &str| {
        let (ours, accepted) = export_file(&testdata("gemini/edge").join(name));
        assert!(!accepted, "{name}");
        ours["messages"].as_array().unwrap().len()
    };
    assert_eq!(messages("bom.jsonl"), 2);
    assert_eq!(messages("header-missing.jsonl"), 2);
    assert_eq!(messages("header-with-id.jsonl"), 1);
    assert_eq!(messages("history-array.json"), 2);
    assert_eq!(messages("pretty-truncated.json"), 2);
    assert_eq!(messages("empty.jsonl"), 0);
    let (ours, _) = export_file(&testdata("gemini/edge/header-with-id.jsonl"));
    assert_eq!(ours["sessionId"], "aaaaaaaa-0000-4000-8000-000000000001");
}
