use proptest::prelude::*;
use serde::de::IgnoredAny;

use super::*;

fn is_json(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.value().is_ok() && scanner.end().is_ok()
}

fn agree(text: &str) {
    let want = serde_json::from_str::<IgnoredAny>(text).is_ok();
    assert_eq!(is_json(text), want, "{text:?}");
}

#[test]
fn every_kind_of_value_and_of_damage() {
    for text in [
        "",
        " ",
        "null",
        "nul",
        "nulL",
        "true",
        "false",
        "fals",
        "tru e",
        "0",
        "-0",
        "-",
        "01",
        "-01",
        "1.",
        "1.5",
        ".5",
        "1e",
        "1e+",
        "1E-07",
        "1e5.",
        "--1",
        "+1",
        "1 2",
        "\"\"",
        "\"",
        "\"\\\"",
        "\"\\\\\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\uD800\"",
        "\"\u{7f}é🥛\"",
        "\"a\u{1f}\"",
        "\"\t\"",
        "\"12345678\\n\"",
        "\"1234567\u{1}\"",
        "[]",
        "[ ]",
        "[,]",
        "[1,]",
        "[1 2]",
        "[1,2]",
        "[}",
        "{]",
        "{}",
        "{ }",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\":1 , \"b\":[{}]}",
        "{1:2}",
        "{\"a\" 1}",
        "[[[{\"x\":[[]]}]]]",
        "[[[{\"x\":[[}]]]]",
        "\u{A0}1",
        "\u{FEFF}1",
        "1\u{0}",
    ] {
        agree(text);
    }
}

#[test]
fn deep_nesting_keeps_its_brackets_apart() {
    for depth in [1, 63, 64, 65, 127, 128, 129, 100_000] {
        let open = "[{\"a\":".repeat(depth);
        let close = "}]".repeat(depth);
        assert!(is_json(&format!("{open}1{close}")), "{depth}");
        assert!(!is_json(&format!("{open}1{}", "]}".repeat(depth))), "{depth}");
        assert!(!is_json(&format!("{open}1{}", &close[1..])), "{depth}");
    }
}

#[test]
fn natural_numbers_are_read_like_other_values() {
    let numbers =
        ["0", "7", "01", "-1", "1.5", "1e3", "9999999999999999999", "18446744073709551616", "null"];
    for number in numbers {
        for rest in ["", ",", "}", "]", " }", "0,", "x", "00000000000,"] {
            let text = format!(" {number}{rest}");
            let (mut one, mut other) = (Scanner::new(&text), Scanner::new(&text));
            let want = other.bytes().map(json::natural);
            assert_eq!(one.natural(), want, "{text}");
            assert!(want.is_err() || one.offset() == other.offset(), "{text}");
        }
    }
}

proptest! {
    #[test]
    fn takes_what_serde_json_takes(text in r#"[\[\]{}:," \\"a1e.u0dn\-\t\x01é]{0,24}"#) {
        agree(&text);
    }

    #[test]
    fn strings_of_any_length(text in r#"([ -~é🥛]|\\[nu"\\0]){0,150}[\x01"]?"#) {
        agree(&format!("\"{text}\""));
        agree(&format!("[\"{text}\",{:70}]", 1));
    }
}
