//! Tests the way back to the screen before, and that nothing long is cut.

use std::collections::HashSet;

use backstory_core::PriceTable;
use backstory_core::model::MessageKind;
use crossterm::event::KeyCode;

use super::{app, kinds, message, press, screen};
use crate::commands::browse::ask::Answer;
use crate::commands::browse::page::Page;
use crate::output::Line;

#[test]
fn the_sessions_behind_a_bar_are_listed_whatever_was_listed_before() {
    let mut app = app();
    kinds(&mut app, "nothing like this");
    assert_eq!(app.list.shown.len(), 0);
    for (label, id) in [("tidepool", "c3"), ("harbor-api", "a1")] {
        let sessions = HashSet::from([id.into()]);
        app.answer(Answer::Behind { label: label.to_owned(), sessions });
        assert_eq!((app.list.shown.len(), app.list.selected.as_deref()), (1, Some(id)));
    }
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.list.shown.len(), 4);
}

#[test]
fn what_was_typed_is_emptied_by_going_back() {
    let mut app = app();
    kinds(&mut app, "nothing like this");
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.list.shown.len(), 4);
}

#[test]
fn a_long_message_is_on_several_lines() {
    let mut app = app();
    app.status = Some(format!("the folder `{}` does not exist; try another one", "/x".repeat(40)));
    let text = screen(&mut app, 60, 16);
    assert!(text.contains("the folder") && text.contains("another one"), "{text}");
    // It covers the field that a session is searched with.
    press(&mut app, KeyCode::Enter);
    kinds(&mut app, "/legend");
    app.status = Some("a message that needs two lines ".repeat(3));
    let text = screen(&mut app, 60, 16);
    assert!(text.contains("two lines") && !text.contains("find ›"), "{text}");
}

#[test]
fn long_lines_of_code_are_wrapped() {
    let code = format!("```rust\nlet a = {}end;\n```", "one_more + ".repeat(12));
    let messages = [message("m1", MessageKind::Reply, &code)];
    let page = Page::new(&messages, None, 60, &PriceTable::embedded());
    let lines: Vec<String> = page.blocks[0].head.iter().map(Line::plain).collect();
    assert!(lines.iter().all(|line| line.len() <= 60), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("end;")), "{lines:?}");
}
