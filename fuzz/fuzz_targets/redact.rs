//! Any text redacted: done once is done, in one piece or as a stream, and JSON stays JSON.
#![no_main]

use std::sync::LazyLock;

use backstory_core::read::json::check;
use backstory_core::redact::{Choice, Redactor, Rules};
use libfuzzer_sys::fuzz_target;

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let enable = vec!["email".to_owned(), "home-path".to_owned()];
    Rules::with(&Choice { enable, ..Choice::default() }).expect("our rules are sound")
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let once = Redactor::new(&RULES).text(&text).into_owned();
    let mut second = Redactor::new(&RULES);
    assert_eq!(second.text(&once), once);
    assert!(second.counts().is_empty());

    let mut streamed = Vec::new();
    Redactor::new(&RULES).stream(&mut text.as_bytes(), &mut streamed).expect("memory can be read");
    assert_eq!(String::from_utf8_lossy(&streamed), once);

    let mut streamed = Vec::new();
    Redactor::new(&RULES).stream(&mut &*bytes, &mut streamed).expect("memory can be read");

    let json = Redactor::new(&RULES).json(&text).into_owned();
    if check(&text).is_ok() {
        check(&json).expect("what was JSON stays JSON");
    }
});
