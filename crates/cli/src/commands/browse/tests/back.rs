//! Tests the way back to the screen before, and what is too long for the screen.

use std::collections::HashMap;

use backstory_core::PriceTable;
use backstory_core::model::MessageKind;
use backstory_core::pricing::Bill;
use crossterm::event::KeyCode;

use super::{app, kinds, message, press, screen};
use crate::commands::browse::ask::{Answer, Ask};
use crate::commands::browse::page::Page;
use crate::commands::browse::state::{Mode, Tab};
use crate::output::Line;

#[test]
fn the_sessions_behind_a_bar_are_listed_whatever_was_listed_before() {
    let mut app = app();
    kinds(&mut app, "nothing like this");
    assert_eq!(app.list.shown.len(), 0);
    for (label, id) in [("tidepool", "c3"), ("harbor-api", "a1")] {
        let costs = HashMap::from([(id.into(), Bill::default())]);
        app.answer(Answer::Behind { label: label.to_owned(), costs, subagents: 0 });
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
fn a_session_returns_to_the_filter_it_was_opened_from() {
    let mut app = app();
    for (letters, is_typing) in [("tide", true), ("", false)] {
        kinds(&mut app, letters);
        app.is_typing = is_typing;
        press(&mut app, KeyCode::Enter);
        // By way of its neighbour, and of the words to find in it.
        kinds(&mut app, "]/legend");
        press(&mut app, KeyCode::Esc);
        press(&mut app, KeyCode::Esc);
        assert_eq!((app.readings.len(), app.is_typing), (0, is_typing));
    }
}

#[test]
fn conditions_are_removed_one_by_one() {
    for (key, leaves) in [(KeyCode::Backspace, Tab::Sessions), (KeyCode::Esc, Tab::Usage)] {
        let mut app = app();
        app.show(Tab::Usage);
        let costs = HashMap::from([("a1".into(), Bill::default())]);
        app.answer(Answer::Behind { label: "tidepool".to_owned(), costs, subagents: 0 });
        kinds(&mut app, ".ad");
        assert_eq!(app.list.shown.len(), 0);
        press(&mut app, key);
        assert!(!app.list.only_gone && app.list.agent.is_some());
        press(&mut app, key);
        assert!(app.list.agent.is_none() && app.list.is_here);
        press(&mut app, key);
        assert!(!app.list.is_here && app.list.chip.is_some());
        press(&mut app, key);
        assert_eq!((app.list.shown.len(), app.tab), (4, leaves));
    }
}

#[test]
fn a_slash_does_not_begin_a_filter() {
    let mut app = app();
    kinds(&mut app, "/tide/");
    assert_eq!(app.list.field.text(), "tide/");
    app.show(Tab::Search);
    app.field().unwrap().clear();
    kinds(&mut app, "/crates/cli");
    assert_eq!(app.hits.field.text(), "crates/cli");
}

#[test]
fn every_other_screen_leads_back_to_the_sessions() {
    let mut app = app();
    for tab in [Tab::Usage, Tab::Attention] {
        app.show(tab);
        press(&mut app, KeyCode::Esc);
        assert_eq!(app.tab, Tab::Sessions);
    }
}

#[test]
fn names_and_tags_are_taken_back_one_after_the_other() {
    let mut app = app();
    app.rows[0].name = Some("the chart".to_owned());
    press(&mut app, KeyCode::Tab);
    for keys in ["n one", "n two", "tx"] {
        kinds(&mut app, keys);
        press(&mut app, KeyCode::Enter);
    }
    app.take_asks();
    let name = |name: &str| Ask::Name { id: "a1".into(), name: Some(name.to_owned()) };
    let before =
        [Ask::Tags { id: "a1".into(), tags: Vec::new() }, name("the chart one"), name("the chart")];
    for ask in before {
        // Nothing happens where no session is on the screen.
        app.show(Tab::Usage);
        app.take_asks();
        kinds(&mut app, "u");
        assert_eq!(app.take_asks(), []);
        assert_eq!(app.status.as_deref(), Some("`u` works where a session is selected"));
        app.show(Tab::Sessions);
        kinds(&mut app, "u");
        assert_eq!(app.take_asks(), [ask]);
    }
    kinds(&mut app, "u");
    assert_eq!(app.take_asks(), []);
    assert!(app.status.unwrap().contains("left to take back"));
}

#[test]
fn a_narrow_footer_keeps_the_way_back_and_the_help() {
    let mut app = app();
    press(&mut app, KeyCode::Enter);
    for width in [45, 60, 80, 140] {
        let text = screen(&mut app, width, 10);
        assert!(text.contains("Esc back") && text.contains("F1 help"), "{text}");
    }
    // Neither a picker nor a chart has a session to resume.
    press(&mut app, KeyCode::Esc);
    app.show(Tab::Usage);
    assert!(!screen(&mut app, 140, 10).contains("resume"));
    app.show(Tab::Sessions);
    app.mode = Mode::Pick;
    assert!(!screen(&mut app, 140, 10).contains("resume"));
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
fn what_does_not_fit_ends_in_dots() {
    let mut app = app();
    app.rows[0].tokens = 14_674_262;
    let text = screen(&mut app, 80, 16);
    assert!(text.contains("a1 · Gemini CLI · 2 prompts · 14,674,262 tokens · $0.05"), "{text}");
    let text = screen(&mut app, 110, 16);
    assert!(text.contains("2 prompts · 14,674,262 tokens…\n"), "{text}");
    press(&mut app, KeyCode::Enter);
    let text = screen(&mut app, 60, 16);
    assert!(text.contains(" a1 Split the tide feed…  $0.05"), "{text}");
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
