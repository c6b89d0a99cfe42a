//! Screens and key presses, without a terminal.

mod back;
mod hits;
mod nothing;
mod opening;

use std::collections::HashMap;

use backstory_core::model::{
    Fate, Message, MessageKind, Service, SessionId, ToolCall, ToolStatus, Usage,
};
use backstory_core::pricing::{Bill, Table};
use backstory_core::query::usage::Sum;
use backstory_core::tools;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use jiff::Timestamp;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Modifier;

use super::ask::{Answer, Ask, Bar};
use super::canvas::Canvas;
use super::draw::draw;
use super::page::Page;
use super::rows::{InText, Row};
use super::state::{App, Mode, Outcome, Tab};

const NOW: &str = "2026-08-14T16:30:00Z";

fn row(id: &str, title: &str, project: &str, minutes: i64) -> Row {
    let now: Timestamp = NOW.parse().unwrap();
    Row {
        id: id.into(),
        short: id.to_owned(),
        agent: "Gemini CLI".to_owned(),
        project: project.to_owned(),
        path: Some(format!("/home/dev/{project}")),
        updated: Some(now - jiff::SignedDuration::from_mins(minutes)),
        cost: Bill {
            usd: Some(backstory_core::money::Usd::from_pico(50_000_000_000)),
            ..Bill::default()
        },
        tokens: 1200,
        prompts: 2,
        title: title.to_owned(),
        name: None,
        tags: Vec::new(),
        is_gone: false,
        text: format!("{title}\n{project}").to_lowercase(),
    }
}

fn app() -> App {
    let mut gone = row("c3", "Fix the reconnect that answers twice", "harbor-api", 3 * 24 * 60);
    gone.is_gone = true;
    let mut tagged = row("d4", "Load nvm lazily 日本語 in zsh", "dotfiles", 9 * 24 * 60);
    tagged.tags = vec!["shell".to_owned()];
    tagged.agent = "Claude Code".to_owned();
    let rows = vec![
        row("a1", "Split the tide feed chart into components", "tidepool", 1),
        row("b2", "Review useTideFeed.ts", "tidepool", 25 * 60),
        gone,
        tagged,
    ];
    let here = Some("/home/dev/tidepool/src".to_owned());
    let mut app = App::new(Mode::Browse, rows, NOW.parse().unwrap(), here);
    app.is_syncing = false;
    app
}

/// Draws the screen; returns it and the position of the cursor.
fn paint(app: &mut App, width: u16, height: u16) -> (Buffer, Option<(u16, u16)>) {
    let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
    let cursor = draw(app, &mut Canvas { buffer: &mut buffer, has_color: true });
    (buffer, cursor)
}

fn screen(app: &mut App, width: u16, height: u16) -> String {
    let (buffer, _) = paint(app, width, height);
    let mut out = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut x = 0;
        while x < width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1)).unwrap();
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn press(app: &mut App, code: KeyCode) {
    app.key(KeyEvent::new(code, KeyModifiers::NONE));
}

fn kinds(app: &mut App, text: &str) {
    for c in text.chars() {
        press(app, KeyCode::Char(c));
    }
}

fn message(id: &str, kind: MessageKind, text: &str) -> Message {
    Message {
        id: id.into(),
        at: Some(NOW.parse().unwrap()),
        role: kind.role(),
        kind,
        fate: Fate::Kept,
        current: true,
        part: 0,
        text: text.to_owned(),
        typed: None,
        references: Vec::new(),
        attachments: Vec::new(),
        thoughts: Vec::new(),
        model: Some("gemini-2.5-pro".to_owned()),
        usage: (kind == MessageKind::Reply).then(|| Usage { input: 1000, ..Usage::default() }),
        service: Service::default(),
        is_imported: false,
        tool_calls: Vec::new(),
    }
}

fn page(width: usize) -> Page {
    let mut reply = message("m2", MessageKind::Reply, "Three parts: **axis**, curve, tooltip.");
    let mut call = ToolCall::new("t1".into(), tools::tool_name("run_shell_command", None));
    call.status = ToolStatus::Success;
    call.exit_code = Some(1);
    call.output = Some("1 failed\n2 passed".to_owned());
    reply.tool_calls.push(call);
    let messages = [
        message("m1", MessageKind::Prompt, "Split TideChart.tsx into smaller components"),
        reply,
        message("m3", MessageKind::Prompt, "and the legend?"),
        message("m4", MessageKind::Reply, "It moves along."),
    ];
    Page::new(&messages, Some("/code"), width, &Table::embedded())
}

/// Answers that the text of some sessions contains some words.
fn found(words: &str, sessions: &[&str]) -> Answer {
    let sessions = sessions.iter().map(|id| SessionId::from(*id)).collect();
    Answer::InText { words: words.to_owned(), found: InText { sessions, meant: None } }
}

#[test]
fn a_list_with_its_preview_below_or_beside() {
    let mut app = app();
    paint(&mut app, 80, 16);
    let asks = app.take_asks();
    assert!(asks.contains(&Ask::Preview {
        id: "a1".into(),
        width: app.areas.preview,
        words: None
    }));
    app.answer(Answer::Preview { id: "a1".into(), page: page(app.areas.preview) });
    insta::assert_snapshot!(screen(&mut app, 80, 16), @"
    Alt: 1 Sessions  2 Search  3 Usage  4 Attention                    all folders
    › type to filter 4 sessions                                                4/4
    ●  1min tidepool        $0.05 Split the tide feed chart into components
         1d tidepool        $0.05 Review useTideFeed.ts
    †    3d harbor-api      $0.05 Fix the reconnect that answers twice
    #    9d dotfiles        $0.05 Load nvm lazily 日本語 in zsh



    a1 · Gemini CLI · 2 prompts · 1,200 tokens · $0.05

    › Split TideChart.tsx into smaller components
      $0.0013
      Three parts: axis, curve, tooltip.
      ✗ Bash  exit code 1
     TYPING  Enter open  Tab commands  Alt-r resume  F1 help
    ");
    insta::assert_snapshot!(screen(&mut app, 120, 15), @"
    Alt: 1 Sessions  2 Search  3 Usage  4 Attention                                                            all folders
    › type to filter 4 sessions                                                                                        4/4
    ●  1min tidepool        $0.05 Split the tide feed chart into com…  a1 · Gemini CLI · 2 prompts · 1,200 tokens · $0.05
         1d tidepool        $0.05 Review useTideFeed.ts
    †    3d harbor-api      $0.05 Fix the reconnect that answers twi…  › Split TideChart.tsx into smaller components
    #    9d dotfiles        $0.05 Load nvm lazily 日本語 in zsh          $0.0013
                                                                         Three parts: axis, curve, tooltip.
                                                                         ✗ Bash  exit code 1

                                                                       › and the legend?
                                                                         $0.0013
                                                                         It moves along.


     TYPING  Enter open  Tab commands  Alt-r resume  F1 help
    ");
    insta::assert_snapshot!(screen(&mut app, 60, 12), @"
    Alt: 1 List  2 Find  3 Usage  4 Note           all folders
    › type to filter 4 sessions                            4/4
    ●  1min tidepool        $0.05 Split the tide feed chart in…
         1d tidepool        $0.05 Review useTideFeed.ts
    †    3d harbor-api      $0.05 Fix the reconnect that answe…
    #    9d dotfiles        $0.05 Load nvm lazily 日本語 in zsh





     TYPING  Enter open  Tab commands  Alt-r resume  F1 help
    ");
    insta::assert_snapshot!(screen(&mut app, 40, 7), @"
    › type to filter 4 sessions        4/4
    ●  1min    $0.05 Split the tide feed c…
         1d    $0.05 Review useTideFeed.ts
    †    3d    $0.05 Fix the reconnect tha…
    #    9d    $0.05 Load nvm lazily 日本…
    ");
}

#[test]
fn letters_filter_titles_and_text() {
    let mut app = app();
    kinds(&mut app, "tide");
    assert!(app.take_asks().contains(&Ask::InText("tide".to_owned())));
    app.answer(found("tide", &["c3", "a1"]));
    insta::assert_snapshot!(screen(&mut app, 70, 9), @"
    Alt: 1 Sessions  2 Search  3 Usage  4 Attention          all folders
    › tide                                               2/4  +1 in text
    ●  1min tidepool        $0.05 Split the tide feed chart into compone…
         1d tidepool        $0.05 Review useTideFeed.ts
    †    3d harbor-api      $0.05 Fix the reconnect that answers twice



     TYPING  Enter open  Esc clear  Tab commands  Alt-r resume  F1 help
    ");
    // An answer to an older question changes nothing.
    kinds(&mut app, "x");
    app.answer(found("tide", &["c3", "a1"]));
    assert!(app.list.shown.is_empty());
    // A filter is emptied for the next word, whether it matches or not; the next step leaves the field.
    for words in ["", "tide"] {
        press(&mut app, KeyCode::Char('/'));
        kinds(&mut app, words);
        press(&mut app, KeyCode::Esc);
        assert_eq!((app.list.shown.len(), app.is_typing), (4, true));
        press(&mut app, KeyCode::Esc);
        assert_eq!((app.list.shown.len(), app.is_typing), (4, false));
    }
    // What matches is kept for commands.
    kinds(&mut app, "/tide");
    press(&mut app, KeyCode::Tab);
    assert_eq!((app.list.shown.len(), app.is_typing), (2, false));
}

#[test]
fn the_selection_stays_with_its_session() {
    let mut app = app();
    press(&mut app, KeyCode::Down);
    assert_eq!(app.list.selected.as_deref(), Some("b2"));
    let mut rows = app.rows.clone();
    rows.insert(0, row("e5", "Newer", "tidepool", 0));
    app.answer(Answer::Rows(rows));
    assert_eq!(app.list.selected.as_deref(), Some("b2"));
    press(&mut app, KeyCode::Up);
    assert_eq!(app.list.selected.as_deref(), Some("a1"));
}

#[test]
fn another_order_begins_at_its_first_session() {
    let mut app = app();
    app.rows[2].cost.usd = Some(backstory_core::money::Usd::from_pico(90_000_000_000));
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Char('s'));
    assert_eq!(app.list.selected.as_deref(), Some("c3"));
    // Also when more sessions are read, and when it is left and shown again.
    let mut rows = app.rows.clone();
    for n in 0..20 {
        let mut row = row(&format!("e{n}"), "Older", "tidepool", 30 * 24 * 60);
        row.cost.usd = Some(backstory_core::money::Usd::from_pico(100_000_000_000 + n));
        rows.push(row);
    }
    app.answer(Answer::Loaded(rows.clone()));
    let first = |app: &mut App| screen(app, 80, 10).lines().nth(2).unwrap().to_owned();
    assert_eq!(app.list.selected.as_deref(), Some("e19"));
    assert!(first(&mut app).contains("$0.10 Older"));
    kinds(&mut app, "3");
    press(&mut app, KeyCode::Esc);
    kinds(&mut app, "31");
    assert_eq!((app.list.scroll, app.list.selected.as_deref()), (0, Some("e19")));
    // What the user selected stays.
    press(&mut app, KeyCode::Down);
    rows.push(row("z", "Newer", "tidepool", 0));
    rows.last_mut().unwrap().cost.usd = Some(backstory_core::money::Usd::from_pico(i128::MAX / 4));
    app.answer(Answer::Rows(rows));
    assert_eq!(app.list.selected.as_deref(), Some("e18"));
}

#[test]
fn conditions_narrow_the_list() {
    let mut app = app();
    press(&mut app, KeyCode::Tab);
    let shown = |app: &App| app.list.shown.len();
    press(&mut app, KeyCode::Char('.'));
    assert_eq!(shown(&app), 2);
    press(&mut app, KeyCode::Char('.'));
    press(&mut app, KeyCode::Char('d'));
    assert_eq!(shown(&app), 1);
    press(&mut app, KeyCode::Char('d'));
    press(&mut app, KeyCode::Char('a'));
    assert_eq!((app.list.agent.as_deref(), shown(&app)), (Some("Claude Code"), 1));
    press(&mut app, KeyCode::Char('a'));
    assert_eq!((app.list.agent.as_deref(), shown(&app)), (Some("Gemini CLI"), 3));
    press(&mut app, KeyCode::Char('a'));
    assert_eq!(shown(&app), 4);
}

#[test]
fn a_session_is_read_unfolded_and_searched() {
    let mut app = app();
    paint(&mut app, 80, 16);
    press(&mut app, KeyCode::Enter);
    let width = app.areas.page;
    assert!(app.take_asks().contains(&Ask::Page { id: "a1".into(), width }));
    app.answer(Answer::Page { id: "a1".into(), page: page(width) });
    insta::assert_snapshot!(screen(&mut app, 80, 16), @"
     1 Sessions  2 Search  3 Usage  4 Attention                         all folders
     a1 Split the tide feed chart into componen…  $0.05  prompt 1/2  all  ● running

     › Split TideChart.tsx into smaller components
       $0.0013
       Three parts: axis, curve, tooltip.
    ▸  ✗ Bash  exit code 1

     › and the legend?
       $0.0013
       It moves along.




      COMMANDS  Enter open  Esc back  J next prompt  → unfold  z tools  F1 help
    ");
    kinds(&mut app, "z");
    assert!(screen(&mut app, 80, 16).contains("2 passed"));
    kinds(&mut app, "zv");
    assert!(!screen(&mut app, 80, 16).contains("Three parts"));
    kinds(&mut app, "vvJ");
    assert_eq!(app.readings[0].prompts(), (2, 2));
    kinds(&mut app, "/passed");
    press(&mut app, KeyCode::Enter);
    assert!(screen(&mut app, 80, 16).contains("2 passed"));
    press(&mut app, KeyCode::Esc);
    assert!(app.readings.is_empty());
}

#[test]
fn a_bar_leads_to_its_sessions() {
    let mut app = app();
    app.show(Tab::Usage);
    let bar = |key: &str, label: &str, pico: i128| Bar {
        key: key.to_owned(),
        label: label.to_owned(),
        sum: Sum {
            sessions: 3,
            bill: Bill {
                usd: Some(backstory_core::money::Usd::from_pico(pico)),
                ..Bill::default()
            },
            ..Sum::default()
        },
    };
    let bars = vec![
        bar("2026-08-12", "Wed 12 Aug 2026", 90_000_000_000),
        bar("2026-08-11", "Tue 11 Aug 2026", 510_000_000_000),
    ];
    let period = app.chart.period;
    app.answer(Answer::Usage { period, bars, total: Sum::default() });
    insta::assert_snapshot!(screen(&mut app, 80, 8), @"
    1 Sessions  2 Search  3 Usage  4 Attention                         all folders
    Usage by day · cost · the last 30 days                                0 tokens

    Wed 12 Aug 2026  █████▊                                   $0.09     3 sessions
    Tue 11 Aug 2026  █████████████████████████████████        $0.51     3 sessions


     COMMANDS  Enter open  Esc back  b by  c cost  + longer  - shorter  F1 help
    ");
    app.take_asks();
    press(&mut app, KeyCode::Down);
    press(&mut app, KeyCode::Enter);
    let key = "2026-08-11".to_owned();
    let label = "Tue 11 Aug 2026".to_owned();
    assert!(app.take_asks().contains(&Ask::Behind { period, key, label: label.clone() }));
    let usd = Some(backstory_core::money::Usd::from_pico(20_000_000_000));
    let costs = HashMap::from([("c3".into(), Bill { usd, ..Bill::default() })]);
    app.answer(Answer::Behind { label, costs, subagents: 2 });
    assert_eq!((app.tab, app.list.shown.len()), (Tab::Sessions, 1));
    // The session cost that much on this day.
    insta::assert_snapshot!(screen(&mut app, 70, 8), @"
    1 Sessions  2 Search  3 Usage  4 Attention               all folders
    › press `/` to type    [Tue 11 Aug 2026 $0.02 with 2 subagents]  1/4
    †    3d harbor-api      $0.02 Fix the reconnect that answers twice




     COMMANDS  Enter open  Esc back  . this folder  a agent  F1 help
    ");
    press(&mut app, KeyCode::Esc);
    assert_eq!((app.tab, app.list.shown.len()), (Tab::Usage, 4));
}

#[test]
fn names_and_tags_are_asked_for() {
    let mut app = app();
    app.take_asks();
    press(&mut app, KeyCode::Tab);
    press(&mut app, KeyCode::Char('n'));
    kinds(&mut app, "the chart");
    press(&mut app, KeyCode::Enter);
    press(&mut app, KeyCode::Char('t'));
    kinds(&mut app, "a, b");
    press(&mut app, KeyCode::Enter);
    let asks = app.take_asks();
    let id = SessionId::from("a1");
    assert!(asks.contains(&Ask::Name { id: id.clone(), name: Some("the chart".to_owned()) }));
    assert!(asks.contains(&Ask::Tags { id, tags: vec!["a".to_owned(), "b".to_owned()] }));
}

#[test]
fn a_picker_chooses_or_leaves() {
    let mut app = app();
    app.mode = Mode::Pick;
    assert!(screen(&mut app, 70, 10).starts_with(" Choose a session"));
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.outcome.take(), Some(Outcome::Chosen("a1".into())));
    press(&mut app, KeyCode::Esc);
    assert_eq!(app.outcome, Some(Outcome::Quit));
}

#[test]
fn without_colour_the_selected_row_is_still_marked() {
    let mut app = app();
    let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 10));
    draw(&mut app, &mut Canvas { buffer: &mut buffer, has_color: false });
    for cell in buffer.content() {
        assert_eq!((cell.fg, cell.bg), Default::default());
    }
    assert!(buffer[(5, 2)].modifier.contains(Modifier::REVERSED));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1000))]

    /// Any keys on any size of terminal are drawn without a panic.
    #[test]
    fn any_keys_at_any_size(
        keys in proptest::collection::vec(0..40_usize, 0..40),
        width in proptest::prop_oneof![1..12_u16, 1..160_u16],
        height in proptest::prop_oneof![1..10_u16, 1..40_u16],
    ) {
        let mut app = app();
        for key in keys {
            let letters: Vec<char> = "1234/renty.asdpJKbc+-vzZfF[]gG?qh ".chars().collect();
            let code = match letters.get(key) {
                Some(letter) => KeyCode::Char(*letter),
                None => [KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::Down, KeyCode::Right, KeyCode::PageDown][key - letters.len()],
            };
            press(&mut app, code);
            let (_, cursor) = paint(&mut app, width, height);
            proptest::prop_assert!(cursor.is_none_or(|(x, y)| x < width && y < height));
            for ask in app.take_asks() {
                match ask {
                    Ask::Page { id, width } => app.answer(Answer::Page { id, page: page(width) }),
                    Ask::Place { id, words } => {
                        app.answer(Answer::Place { id, words, message: "m3".into() });
                    }
                    _ => {}
                }
            }
        }
    }
}
