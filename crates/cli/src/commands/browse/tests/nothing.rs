//! Tests what the screen says when nothing is found.

use backstory_core::query::usage::Sum;
use crossterm::event::KeyCode;

use super::{app, kinds, press, screen};
use crate::commands::browse::ask::{Answer, Ask, Notice};
use crate::commands::browse::rows::InText;
use crate::commands::browse::state::{App, Tab};

#[test]
fn an_empty_list_says_what_to_do() {
    let mut app = app();
    app.is_syncing = true;
    kinds(&mut app, "legand");
    insta::assert_snapshot!(screen(&mut app, 70, 9), @"
    Alt: 1 Sessions  2 Search  3 Usage  4 Attention     reading changes…
    › legand                                                         0/4
    No title or first prompt contains this.
    Text is searched as soon as changes have been read.




     TYPING  Enter open  Esc clear  Tab commands  F1 help
    ");
    let meant = Some("legend".to_owned());
    let found = InText { sessions: [].into(), meant };
    app.answer(Answer::InText { words: "legand".to_owned(), found });
    insta::assert_snapshot!(screen(&mut app, 70, 9), @"
    Alt: 1 Sessions  2 Search  3 Usage  4 Attention     reading changes…
    › legand                                                         0/4
    No title or first prompt contains this.
    No text does, either. Enter filters by `legend` instead.




     TYPING  Enter open  Esc clear  Tab commands  F1 help
    ");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.list.field.text(), "legend");
    assert!(app.take_asks().contains(&Ask::InText("legend".to_owned())));
    // The conditions are not about words.
    let mut app = super::app();
    kinds(&mut app, "z");
    press(&mut app, KeyCode::Backspace);
    app.list.agent = Some("Codex CLI".to_owned());
    app.refilter();
    let text = screen(&mut app, 80, 9);
    assert!(text.contains("conditions above; Backspace removes the last one."), "{text}");
    press(&mut app, KeyCode::Backspace);
    assert_eq!(app.list.shown.len(), 4);
}

#[test]
fn a_search_without_hits_names_similar_words() {
    let mut app = app();
    app.show(Tab::Search);
    kinds(&mut app, "legand");
    assert!(app.take_asks().contains(&Ask::Hits("legand".to_owned())));
    let (hits, meant) = (Vec::new(), Some("legend".to_owned()));
    app.answer(Answer::Hits { words: "legand".to_owned(), hits, total: 0, took_ms: 1, meant });
    assert!(screen(&mut app, 70, 9).contains("Nothing found. Enter searches `legend` instead."));
    press(&mut app, KeyCode::Enter);
    assert!(app.take_asks().contains(&Ask::Hits("legend".to_owned())));
    // The text of the search stays.
    app.show(Tab::Sessions);
    app.show(Tab::Search);
    assert_eq!(app.hits.field.text(), "legend");
}

#[test]
fn an_empty_search_shows_what_can_be_typed() {
    let mut app = app();
    app.show(Tab::Search);
    insta::assert_snapshot!(screen(&mut app, 80, 12), @r#"
    Alt: 1 Sessions  2 Search  3 Usage  4 Attention                    all folders
    › words, "phrases", tool:Edit, -without

    tide feed                 messages with both words, even half of the last one
    "tide feed"               the phrase
    tide -draft               without a word
    json OR toml              either word
    tool:Bash cargo           in calls of a tool
    kind:prompt since:7d tide in prompts of the last 7 days
    project:harbor berth      in a project

     TYPING  Enter open  Tab commands  F1 help
    "#);
}

#[test]
fn a_chart_that_would_open_empty_goes_further_back() {
    let mut app = app();
    app.show(Tab::Usage);
    let answer = |app: &mut App| {
        let period = app.chart.period;
        app.take_asks();
        app.answer(Answer::Usage { period, bars: Vec::new(), total: Sum::default() });
        app.take_asks().contains(&Ask::Usage(app.chart.period))
    };
    assert!(answer(&mut app));
    assert_eq!(app.chart.period.days, Some(90));
    // A period that the user chose stays.
    kinds(&mut app, "--");
    assert!(!answer(&mut app));
    assert_eq!(app.chart.period.days, Some(7));
    let text = screen(&mut app, 80, 8);
    assert!(text.contains("The newest session is 1min old; `+` shows more."), "{text}");
}

#[test]
fn deletions_are_a_table() {
    let mut app = app();
    app.show(Tab::Attention);
    let notice = |text: &str, deletion: Option<(&str, bool)>| Notice {
        text: text.to_owned(),
        deletion: deletion.map(|(when, is_kept)| (when.to_owned(), is_kept)),
        session: None,
        command: deletion.is_some_and(|(_, is_kept)| !is_kept).then(|| "backstory sync".to_owned()),
    };
    app.answer(Answer::Attention(vec![
        notice("2 records in 1 file could not be read", None),
        notice("Split the tide feed chart", Some(("deleted at next start", false))),
        notice("Review useTideFeed.ts", Some(("deleted after 2026-08-15 12:24", true))),
    ]));
    insta::assert_snapshot!(screen(&mut app, 80, 8), @"
    1 Sessions  2 Search  3 Usage  4 Attention 2                       all folders
    2 records in 1 file could not be read
    deleted at next start           not kept  Split the tide feed chart
    deleted after 2026-08-15 12:24  kept      Review useTideFeed.ts



     COMMANDS  Enter open  Esc back  q quit  F1 help
    ");
    press(&mut app, KeyCode::Down);
    assert!(screen(&mut app, 80, 8).contains("`backstory sync` helps; `y` copies it"));
}
