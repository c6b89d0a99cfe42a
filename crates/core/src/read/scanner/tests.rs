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

    #[test]
    fn every_special_byte_has_its_bit(text in r#"[ -~"\\\x00\x1f\x7f-\xff]{64}"#) {
        let block = text.as_bytes().first_chunk::<BLOCK>().unwrap();
        for (n, byte) in block.iter().enumerate() {
            let want = matches!(byte, b'"' | b'\\' | ..0x20);
            prop_assert_eq!(specials(block) >> n & 1 == 1, want, "{}", n);
        }
    }
}
