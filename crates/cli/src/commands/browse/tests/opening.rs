//! Sessions that open elsewhere, or from elsewhere.

use backstory_core::model::SessionId;
use crossterm::event::KeyCode;

use super::{app, found, kinds, page, paint, press, screen};
use crate::commands::browse::ask::{Answer, Ask};
use crate::commands::browse::state::{Mode, Outcome};
use crate::error::Failure;
use crate::last_search::{Found, Place, Syntax};

#[test]
fn a_session_opens_in_the_web_app() {
    let mut app = app();
    app.take_asks();
    press(&mut app, KeyCode::Tab);
    // A word that was meant for the filter.
    kinds(&mut app, "bo");
    assert!(app.overlay.is_some());
    insta::assert_snapshot!(screen(&mut app, 80, 12), @"
    1 Sessions  2 Search  3 Usage  4 Attention                         all folders
    › press `/` to type                                                        4/4
    ●  1min tidepool        $0.05 Split the tide feed chart into components
         1d tidepool        $0.05 Review useTideFeed.ts
    †┌─ Open the session in the web app? ───────────────────────────────────────┐
    #│ Split the tide feed chart into components                                │
     │ Enter opens the web app, any other key goes back.                        │
     └──────────────────────────────────────────────────────────────────────────┘



     COMMANDS  Enter open  . this folder  a agent  s sort  d deleted  F1 help
    ");
    kinds(&mut app, "ok");
    assert!(app.overlay.is_none() && app.take_asks().iter().all(|ask| !matches!(ask, Ask::Web(_))));
    press(&mut app, KeyCode::Char('o'));
    press(&mut app, KeyCode::Enter);
    assert!(app.take_asks().contains(&Ask::Web("a1".into())));
    let address = "http://127.0.0.1:7310/sessions/gemini/a1?token=t".to_owned();
    app.answer(Answer::Web { address: address.clone(), is_open: true });
    assert_eq!(app.copied, None);
    // Without a browser, the address can be pasted into one elsewhere.
    app.answer(Answer::Web { address: address.clone(), is_open: false });
    assert_eq!(app.copied.as_ref(), Some(&address));
    assert_eq!(app.status.as_deref(), Some("no browser was found; the address was copied"));
    app.mode = Mode::Pick;
    press(&mut app, KeyCode::Char('o'));
    assert!(app.overlay.is_none());
}

#[test]
fn an_export_with_another_ending_is_corrected() {
    let mut app = app();
    press(&mut app, KeyCode::Tab);
    app.take_asks();
    kinds(&mut app, "eploy");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.take_asks(), []);
    insta::assert_snapshot!(screen(&mut app, 80, 12), @"
    1 Sessions  2 Search  3 Usage  4 Attention                         all folders
    › press `/` to type                                                        4/4
    ●  1min tidepool        $0.05 Split the tide feed chart into components
         1d tidepool        $0.05 Review useTideFeed.ts
    †┌─ Export the session ─────────────────────────────────────────────────────┐
    #│ a1.mdploy                                                                │
     │ .md, .html, .json or .jsonl; secrets are removed                         │
     └──────────────────────────────────────────────────────────────────────────┘



    `a1.mdploy` does not end in `.md`, `.html`, `.json` or `.jsonl`
    ");
    for _ in "mdploy".chars() {
        press(&mut app, KeyCode::Backspace);
    }
    kinds(&mut app, "html");
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.take_asks(), [Ask::Export { id: "a1".into(), path: "a1.html".to_owned() }]);
}

#[test]
fn a_hit_of_the_last_search_opens_at_its_message() {
    let mut app = app();
    let place = Place { session: "b2".into(), message: Some("m3".into()) };
    app.open_hit(Found { query: "legend".to_owned(), syntax: Syntax::Words, place });
    let is_page = |ask: &Ask| matches!(ask, Ask::Page { id, .. } if id == "b2");
    assert!(app.take_asks().iter().any(is_page));
    app.answer(Answer::Page { id: "b2".into(), page: page(60) });
    let shown = screen(&mut app, 60, 12);
    assert!(shown.contains("and the legend?"), "{shown}");
    assert_eq!(app.readings.last().unwrap().find.text(), "legend");
}

#[test]
fn a_session_that_is_listed_because_of_its_text_opens_there() {
    let mut app = app();
    kinds(&mut app, "legend");
    app.answer(found("legend", &["a1"]));
    let id = SessionId::from("a1");
    paint(&mut app, 80, 16);
    let preview =
        |ask: &Ask| matches!(ask, Ask::Preview { words: Some(words), .. } if words == "legend");
    assert!(app.take_asks().iter().any(preview), "the preview begins at the match");
    press(&mut app, KeyCode::Enter);
    let asks = app.take_asks();
    let words = "legend".to_owned();
    let place = Ask::Place { id: id.clone(), words: words.clone() };
    let is_page = |ask: &Ask| matches!(ask, Ask::Page { .. });
    // The place is known before the page is there.
    assert!(asks.iter().position(|ask| *ask == place) < asks.iter().position(is_page));
    app.answer(Answer::Place { id: id.clone(), words, message: "m3".into() });
    app.answer(Answer::Page { id, page: page(60) });
    assert_eq!(app.readings[0].prompts(), (2, 2));
    let shown = screen(&mut app, 60, 9);
    assert!(shown.contains("and the legend?") && shown.contains("find › legend"), "{shown}");
}

#[test]
fn a_session_that_is_listed_because_of_its_title_opens_at_its_beginning() {
    let mut app = app();
    kinds(&mut app, "tide");
    app.answer(found("tide", &["a1"]));
    press(&mut app, KeyCode::Enter);
    assert!(!app.take_asks().iter().any(|ask| matches!(ask, Ask::Place { .. })));
}

#[test]
fn the_place_is_kept_when_the_session_is_laid_out_again() {
    let mut app = app();
    press(&mut app, KeyCode::Enter);
    let id = SessionId::from("a1");
    app.answer(Answer::Page { id: id.clone(), page: page(60) });
    // From the end, where a running session is followed, to the middle of an unfolded tool.
    kinds(&mut app, "Gzgjjjjjj");
    press(&mut app, KeyCode::Down);
    let before = screen(&mut app, 60, 9);
    let cursor = app.readings[0].cursor;
    app.returned(Some(Failure::new("cannot run `gemini`")));
    assert_eq!(app.status.take().as_deref(), Some("cannot run `gemini`"));
    app.is_syncing = false;
    app.answer(Answer::Page { id, page: page(60) });
    assert_eq!((app.readings[0].cursor, screen(&mut app, 60, 9)), (cursor, before));
}

#[test]
fn the_next_prompt_is_under_the_cursor() {
    let mut app = app();
    press(&mut app, KeyCode::Enter);
    app.answer(Answer::Page { id: "a1".into(), page: page(60) });
    kinds(&mut app, "J");
    let reading = app.readings.last().unwrap();
    assert_eq!(reading.line(reading.cursor).unwrap().0.plain(), "› and the legend?");
    assert_eq!(reading.cursor, reading.scroll + 1);
}

#[test]
fn a_match_is_shown_with_what_follows() {
    let mut app = app();
    press(&mut app, KeyCode::Enter);
    app.answer(Answer::Page { id: "a1".into(), page: page(60) });
    kinds(&mut app, "/three");
    press(&mut app, KeyCode::Enter);
    let text = screen(&mut app, 60, 8);
    assert!(text.contains("Three parts") && text.contains("Bash"), "{text}");
    // It is the only one.
    kinds(&mut app, "n");
    assert_eq!(app.status.as_deref(), Some("the search went on from the beginning"));
    kinds(&mut app, "N");
    assert_eq!(app.status.as_deref(), Some("the search went on from the end"));
}

#[test]
fn a_session_is_not_followed_from_above_its_end() {
    let mut app = app();
    press(&mut app, KeyCode::Enter);
    let id = SessionId::from("a1");
    app.answer(Answer::Page { id: id.clone(), page: page(60) });
    kinds(&mut app, "G");
    assert!(app.readings[0].follows);
    kinds(&mut app, "vvv");
    let cursor = app.readings[0].cursor;
    assert!(cursor + 1 < app.readings[0].len());
    app.answer(Answer::Page { id, page: page(60) });
    assert_eq!(app.readings[0].cursor, cursor);
}

#[test]
fn resuming_asks_first() {
    let mut app = app();
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Char('r'));
    insta::assert_snapshot!(screen(&mut app, 80, 12), @"
    1 Sessions  2 Search  3 Usage  4 Attention                         all folders
    › press `/` to type                                                        4/4
    ●  1min tidepool        $0.05 Split the tide feed chart into components
     ┌─ Continue the session? ──────────────────────────────────────────────────┐
    †│ Split the tide feed chart into components                                │
    #│ in Gemini CLI, in /home/dev/tidepool                                     │
     │ Enter continues it, any other key goes back.                             │
     └──────────────────────────────────────────────────────────────────────────┘



     COMMANDS  Enter open  . this folder  a agent  s sort  d deleted  F1 help
    ");
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.outcome, None);
    // A word that was meant for the filter.
    for letter in "refine".chars() {
        press(&mut app, KeyCode::Char(letter));
    }
    press(&mut app, KeyCode::Esc);
    assert!(app.overlay.is_none() && app.outcome.is_none());
    press(&mut app, KeyCode::Char('r'));
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.outcome, Some(Outcome::Resume("a1".into())));
}
