//! Tests that the output in the README is that of the program for the sample sessions.

use crate::support::TestEnv;

/// Each sample of output follows a paragraph that begins with its command. A line `…` in it marks lines left out.
#[test]
fn its_samples_are_real_output() {
    let env = TestEnv::new();
    let readme = include_str!("../../../../README.md").replace('\r', "");
    let blocks: Vec<&str> = readme.split("```text\n").collect();
    assert!(blocks.len() > 5, "the README has samples");
    for (before, block) in blocks.iter().zip(&blocks[1..]) {
        let command = before.trim_end().rsplit("\n\n").next().unwrap().split('`').nth(1).unwrap();
        let sample = format!("\n{}", block.split("```").next().unwrap().trim_end());
        let mut args = vec!["--demo"];
        args.extend(words(command).into_iter().skip(1));
        let run = env.finish(env.command(&args).env("COLUMNS", "100"));
        let output = format!("\n{}", run.stdout);
        let mut rest = output.as_str();
        for lines in sample.split("\n…") {
            let Some(at) = rest.find(&format!("{lines}\n")) else {
                panic!("`{command}` does not print{lines}\nbut{output}");
            };
            rest = &rest[at + lines.len()..];
        }
    }
}

/// Splits a command into words; those in single quotes may contain spaces.
fn words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (at, text) in command.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(text);
        } else {
            words.extend(text.split_whitespace());
        }
    }
    words
}
