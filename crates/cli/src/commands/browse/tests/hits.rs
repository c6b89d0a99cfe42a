//! Tests the hits of a search, and the matches in a session.

use crossterm::event::KeyCode;
use ratatui_core::buffer::{Buffer, Cell};

use super::{app, kinds, page, paint, press, screen};
use crate::commands::browse::ask::{Answer, Ask, HitRow};
use crate::commands::browse::state::Tab;

#[test]
fn a_match_far_behind_is_on_a_narrow_screen() {
    let mut app = app();
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Char('2'));
    kinds(&mut app, "legend");
    let before =
        "long before the word that was searched for, and longer than the screen is wide ".repeat(2);
    let hit = HitRow {
        session: "a1".into(),
        listed: "a1".into(),
        message: None,
        field: "prompt",
        snippet: vec![(before, false), ("legend".to_owned(), true), (" after".to_owned(), false)],
    };
    app.answer(Answer::Hits {
        words: "legend".to_owned(),
        hits: vec![hit],
        total: 1,
        took_ms: 4,
        meant: None,
    });
    for width in [50, 60, 80, 200] {
        assert!(screen(&mut app, width, 10).contains("legend after"), "{width}");
    }
}

#[test]
fn a_search_takes_letters_at_once() {
    let mut app = app();
    kinds(&mut app, "tide");
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Char('2'));
    assert_eq!((app.hits.field.text(), app.is_typing), ("", true), "the filter was not typed here");
    // Also when it is opened again.
    for words in ["deploy", "deploy deploy"] {
        kinds(&mut app, "deploy");
        assert_eq!(app.hits.field.text(), words);
        assert!(app.overlay.is_none());
        kinds(&mut app, " ");
        press(&mut app, KeyCode::Tab);
        kinds(&mut app, "12");
    }
    press(&mut app, KeyCode::Tab);
    kinds(&mut app, "1");
    assert_eq!(app.list.field.text(), "tide");
}

#[test]
fn hits_open_at_their_message() {
    let mut app = app();
    app.show(Tab::Search);
    kinds(&mut app, "legend");
    assert!(app.take_asks().contains(&Ask::Hits("legend".to_owned())));
    let snippet = vec![("and the ".to_owned(), false), ("legend".to_owned(), true)];
    let hit = HitRow {
        session: "a1/agent-1".into(),
        listed: "a1".into(),
        message: Some("m3".into()),
        field: "prompt",
        snippet,
    };
    app.answer(Answer::Hits {
        words: "legend".to_owned(),
        hits: vec![hit],
        total: 1,
        took_ms: 4,
        meant: None,
    });
    insta::assert_snapshot!(screen(&mut app, 70, 8), @"
    Alt: 1 Sessions  2 Search  3 Usage  4 Attention          all folders
    › legend                                                 1 hit, 4 ms
     1min  tidepool  Split the tide feed chart into components
          prompt    and the legend



     TYPING  Enter open  Esc clear  Tab commands  Alt-r resume  F1 help
    ");
    press(&mut app, KeyCode::Enter);
    app.answer(Answer::Page { id: "a1/agent-1".into(), page: page(70) });
    assert_eq!(app.readings[0].prompts(), (2, 2));
    // The word is marked, and counted.
    let (buffer, _) = paint(&mut app, 70, 12);
    let found = marked(&buffer);
    assert_eq!(found, "legend");
    assert!(screen(&mut app, 70, 12).contains("1 of 1  n N go through them"));
}

/// Returns the text that is marked as found.
fn marked(buffer: &Buffer) -> String {
    let style = ratatui_core::style::Style::from(crate::output::style::FOUND);
    let is_found = |cell: &&Cell| cell.style().fg == style.fg;
    buffer.content().iter().filter(is_found).map(Cell::symbol).collect()
}
