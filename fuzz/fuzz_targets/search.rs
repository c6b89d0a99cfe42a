//! Any text as a query and as what is searched: no panic, places inside the text, and a message is found
//! by any of its own words.
#![no_main]

use backstory_core::search::{Fields, Finder, Form, Query, Where, each_token, snippet};
use jiff::{Timestamp, tz::TimeZone};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let now = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    let mut words = Vec::new();
    each_token(&text, &mut |token| {
        assert!(text.get(token.start..token.end).is_some());
        if token.form == Form::Word {
            words.push(token.text.to_owned());
        }
    });
    let fields = Fields::of_text(Where::Reply, &text);
    let asked = Query::parse(&text, &now);
    for query in asked.into_iter().chain(words.iter().take(8).map(|word| Query::parse(word, &now).expect("a word"))) {
        let finder = Finder::Words(&query);
        let marks = finder.marks(&text);
        snippet(&text, &marks);
        finder.find(&fields, &Where::ALL);
    }
    if let Some(word) = words.first() {
        let query = Query::parse(&format!("\"{word}\""), &now).expect("a word");
        assert!(query.words.is_none() || Finder::Words(&query).find(&fields, &Where::ALL).is_some());
    }
});
