//! Draws the browser: tabs, the screen of the tab or a session, footer, and what lies on top.

use anstyle::Style;
use ratatui_core::layout::Rect;
use unicode_width::UnicodeWidthStr;

use super::canvas::Canvas;
use super::draw_lists as lists;
use super::field::Field;
use super::keys::{self, BINDINGS, Place};
use super::navigate::Back;
use super::overlay::Overlay;
use super::reading::Reading;
use super::state::{App, Mode, Tab};
use crate::output::{Line, cut, style};

/// The lowest screen with a preview.
const LOW: u16 = 14;

/// The lowest screen with tabs and a footer.
const LOWEST: u16 = 8;

/// The number of lines below the cursor of a session that are in view.
const CONTEXT: usize = 3;

/// Draws everything; returns the position of the cursor if it is visible.
pub(super) fn draw(app: &mut App, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let (width, height) = (canvas.width(), canvas.height());
    let (mut top, mut bottom) = (0, height);
    if height >= LOWEST {
        tabs(app, canvas);
        (top, bottom) = (1, height - 1);
    }
    let area = Rect::new(0, top, width, bottom.saturating_sub(top));
    app.areas.height = usize::from(area.height.saturating_sub(1));
    app.areas.page = usize::from(width.saturating_sub(2).min(120));
    let cursor = if app.readings.is_empty() {
        match app.tab {
            Tab::Sessions => Some(lists::sessions(app, canvas, area, height >= LOW)),
            Tab::Search => Some(lists::hits(app, canvas, area)),
            Tab::Usage => {
                lists::chart(app, canvas, area);
                None
            }
            Tab::Attention => {
                lists::notices(app, canvas, area);
                None
            }
        }
    } else {
        reading(app, canvas, area)
    };
    // A long message covers the end of the screen.
    if height >= LOWEST {
        footer(app, canvas, height - 1);
    }
    let cursor = match &app.overlay {
        Some(overlay) => overlay_box(app, overlay, canvas),
        None => cursor.filter(|_| app.is_typing),
    };
    cursor.filter(|&(x, y)| x < width && y < height)
}

fn tabs(app: &App, canvas: &mut Canvas<'_>) {
    let width = canvas.width();
    let mut at = 1;
    if app.mode == Mode::Pick {
        at = canvas.text(at, 0, width, style::HEADING, "Choose a session");
    } else {
        if app.is_typing {
            at = canvas.text(at, 0, width, style::DIM, "Alt: ");
        }
        for (n, tab) in Tab::ALL.into_iter().enumerate() {
            let is_shown = tab == app.tab;
            let color = if is_shown { style::HEADING.underline() } else { style::DIM };
            let name = if width < 70 { tab.short() } else { tab.name() };
            at = canvas.text(at, 0, width, style::NAME, &format!("{} ", n + 1));
            at = canvas.text(at, 0, width, color, name);
            let urgent = app.notices.iter().filter(|notice| notice.is_urgent()).count();
            if tab == Tab::Attention && urgent > 0 {
                at = canvas.text(at, 0, width, style::WARNING, &format!(" {urgent}"));
            }
            at += 2;
        }
    }
    let scope = if app.list.is_here { "this folder" } else { "all folders" };
    let state = if app.is_syncing { "reading changes…" } else { scope };
    right(canvas, 0, at + 1, style::DIM, state);
}

/// Writes a text at the right edge, if there is room after `from`.
pub(super) fn right(canvas: &mut Canvas<'_>, y: u16, from: u16, color: Style, text: &str) {
    let wide = u16::try_from(text.width()).unwrap_or(u16::MAX);
    let start = canvas.width().saturating_sub(wide.saturating_add(1));
    if start >= from {
        canvas.text(start, y, wide, color, text);
    }
}

fn footer(app: &App, canvas: &mut Canvas<'_>, y: u16) {
    let width = canvas.width();
    if let Some(status) = &app.status {
        let text = backstory_core::clean::line(status).into_owned();
        let lines =
            Line::new().styled(style::HINT, text).wrapped(usize::from(width).saturating_sub(2));
        let more = u16::try_from(lines.len().saturating_sub(1)).unwrap_or(y);
        let first = y.saturating_sub(more);
        canvas.clear(Rect::new(0, first, width, y + 1 - first));
        for (y, line) in (first..=y).zip(&lines) {
            canvas.line(1, y, width.saturating_sub(1), line);
        }
        return;
    }
    let mode = if app.is_typing { " TYPING " } else { " COMMANDS " };
    let mut at = canvas.text(1, y, width, style::NAME.invert(), mode) + 1;
    let has_session = app.mode == Mode::Browse && app.session().is_some();
    let back = app.way_back().and_then(Back::hint);
    let hints = keys::hints(app.place(), app.is_typing, has_session, back);
    let wide = |(key, word): &(String, &str)| {
        u16::try_from(key.width() + 1 + word.width()).unwrap_or(u16::MAX)
    };
    // The last one is kept longest.
    let mut kept = hints.last().map_or(0, |hint| wide(hint).saturating_add(2));
    for (n, hint) in hints.iter().enumerate() {
        if n + 1 == hints.len() {
            kept = 0;
        }
        if at.saturating_add(wide(hint)).saturating_add(kept) > width {
            continue;
        }
        let (key, word) = hint;
        let word = if *word == "open" && app.mode == Mode::Pick { "choose" } else { word };
        at = canvas.text(at, y, width, style::NAME, key) + 1;
        at = canvas.text(at, y, width, style::DIM, word) + 2;
    }
}

/// Draws a field on a line, dim if letters are not for it; returns the position of its cursor.
pub(super) fn field(
    canvas: &mut Canvas<'_>,
    y: u16,
    prompt: &str,
    field: &Field,
    placeholder: &str,
    is_typing: bool,
) -> (u16, u16) {
    let width = canvas.width();
    let (sign, text) =
        if is_typing { (style::YOU.bold(), Style::new()) } else { (style::DIM, style::DIM) };
    let start = canvas.text(1, y, width, sign, prompt);
    if field.is_empty() {
        canvas.text(start, y, width.saturating_sub(start), style::DIM, placeholder);
    } else {
        canvas.text(start, y, width.saturating_sub(start), text, field.text());
    }
    let column = u16::try_from(field.column()).unwrap_or(u16::MAX);
    (start.saturating_add(column).min(width.saturating_sub(1)), y)
}

/// Chooses the first visible row so that the selected one is in view.
pub(super) fn scrolled(scroll: usize, selected: usize, rows: usize) -> usize {
    if selected < scroll {
        selected
    } else if selected >= scroll + rows {
        selected + 1 - rows.max(1)
    } else {
        scroll
    }
}

fn reading(app: &mut App, canvas: &mut Canvas<'_>, area: Rect) -> Option<(u16, u16)> {
    let is_typing = app.is_typing;
    let row = app.readings.last().and_then(|reading| app.row(&reading.id));
    let title = row.map(|row| (row.short.clone(), row.title.clone(), row.cost.short()));
    let is_running = row.is_some_and(|row| row.is_running(app.now));
    let reading = app.readings.last_mut()?;
    let (short, title, cost) =
        title.unwrap_or_else(|| (reading.id.to_string(), String::new(), None));
    let (prompt, prompts) = reading.prompts();
    let mut facts: Vec<String> = cost.into_iter().collect();
    facts.push(format!("prompt {prompt}/{prompts}"));
    facts.push(reading.only.name().to_owned());
    if is_running {
        facts.push(if reading.follows { "● following" } else { "● running" }.to_owned());
    }
    let facts = facts.join("  ");
    let room = area.width.saturating_sub(u16::try_from(facts.width()).unwrap_or(0) + 3);
    let at = canvas.text(1, area.y, room, style::DIM, &short);
    let room = room.saturating_sub(at + 1);
    let title = cut(&title, usize::from(room));
    let at = canvas.text(at + 1, area.y, room, style::HEADING, &title);
    right(canvas, area.y, at + 1, style::DIM, &facts);
    let has_field = is_typing || !reading.find.is_empty();
    let lines = usize::from(area.height.saturating_sub(1 + u16::from(has_field)));
    // The end of a session is at the bottom of the screen.
    let last = reading.len().saturating_sub(lines);
    // Some lines below the cursor are in view, too.
    let below = (reading.cursor + CONTEXT.min(lines / 4)).min(reading.len().saturating_sub(1));
    let scroll = scrolled(reading.scroll, below, lines);
    reading.scroll = scrolled(scroll, reading.cursor, lines).min(last);
    body(reading, canvas, area.y + 1, lines);
    let y = area.bottom().saturating_sub(1);
    has_field.then(|| {
        let cursor = field(canvas, y, "find › ", &reading.find, "", is_typing);
        if let Some((at, count)) = reading.found {
            let keys = if is_typing { "" } else { "  n N go through them" };
            right(canvas, y, cursor.0 + 2, style::DIM, &format!("{at} of {count}{keys}"));
        }
        cursor
    })
}

fn body(reading: &Reading, canvas: &mut Canvas<'_>, top: u16, lines: usize) {
    let width = canvas.width();
    if reading.page.is_none() {
        canvas.text(1, top, width, style::DIM, "reading…");
    } else if reading.len() == 0 {
        canvas.text(1, top, width, style::DIM, "Nothing to show; `v` changes the view.");
    }
    for n in 0..lines {
        let at = reading.scroll + n;
        let Some((line, is_folded)) = reading.line(at) else { break };
        let y = top + u16::try_from(n).unwrap_or(u16::MAX);
        if is_folded {
            canvas.text(0, y, 1, style::DIM, "▸");
        }
        canvas.line(1, y, width.saturating_sub(1), line);
        if !reading.find.is_empty() {
            canvas.mark(1, y, &reading.find.text().to_lowercase());
        }
        if at == reading.cursor {
            canvas.select(0, y, 1);
        }
    }
}

/// Draws a box in the middle of the screen; returns the position of its cursor.
fn overlay_box(app: &App, overlay: &Overlay, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let (title, lines, field): (&str, Vec<String>, Option<&Field>) = match overlay {
        Overlay::Help { scroll } => {
            let lines = help().into_iter().skip(*scroll).collect();
            ("Keys (↑ ↓ scroll, another key closes this)", lines, None)
        }
        Overlay::Name { field, .. } => (
            "Name the session",
            vec!["Enter saves; an empty field removes the name".into()],
            Some(field),
        ),
        Overlay::Tags { field, .. } => {
            ("Tag the session", vec!["words, separated by spaces".into()], Some(field))
        }
        Overlay::Export { field, .. } => (
            "Export the session",
            vec![".md, .html, .json or .jsonl; secrets are removed".into()],
            Some(field),
        ),
        Overlay::Resume { id } => {
            let row = app.row(id);
            let agent = row.map_or("the agent", |row| row.agent.as_str());
            let folder = row.and_then(|row| row.path.clone()).unwrap_or_default();
            let title = row.map(|row| row.title.clone()).unwrap_or_default();
            let mut lines = vec![title, format!("in {agent}, in {folder}")];
            if row.is_some_and(|row| row.is_gone) {
                lines.push("Its files are restored first.".to_owned());
            }
            lines.push("Enter continues it, any other key goes back.".to_owned());
            ("Continue the session?", lines, None)
        }
        Overlay::Web { id } => {
            let title = app.row(id).map(|row| row.title.clone()).unwrap_or_default();
            let lines = vec![title, "Enter opens the web app, any other key goes back.".to_owned()];
            ("Open the session in the web app?", lines, None)
        }
    };
    let width = canvas.width().saturating_sub(4).min(78);
    let wanted = u16::try_from(lines.len() + 2 + usize::from(field.is_some())).unwrap_or(u16::MAX);
    let height = wanted.min(canvas.height().saturating_sub(2)).max(1);
    let left = (canvas.width() - width.min(canvas.width())) / 2;
    let top = (canvas.height() - height.min(canvas.height())) / 2;
    border(canvas, Rect::new(left, top, width, height));
    canvas.text(left + 2, top, width.saturating_sub(4), style::HEADING, &format!(" {title} "));
    let room = width.saturating_sub(4);
    let mut y = top + 1;
    let mut cursor = None;
    if let Some(field) = field {
        canvas.text(left + 2, y, room, Style::new(), field.text());
        let column = u16::try_from(field.column()).unwrap_or(0);
        cursor = Some((left + 2 + column.min(room), y));
        y += 1;
    }
    for line in lines.iter().take(usize::from(height.saturating_sub(2))) {
        canvas.text(left + 2, y, room, Style::new(), &cut(line, usize::from(room)));
        y += 1;
    }
    cursor
}

/// Empties an area and draws a border inside it.
fn border(canvas: &mut Canvas<'_>, area: Rect) {
    canvas.clear(area);
    let rule = "─".repeat(usize::from(area.width.saturating_sub(2)));
    for (y, left, right) in [(area.top(), '┌', '┐'), (area.bottom().saturating_sub(1), '└', '┘')]
    {
        canvas.text(area.x, y, area.width, style::DIM, &format!("{left}{rule}{right}"));
    }
    for y in area.top() + 1..area.bottom().saturating_sub(1) {
        for x in [area.left(), area.right().saturating_sub(1)] {
            canvas.text(x, y, 1, style::DIM, "│");
        }
    }
}

/// Returns the lines of the help.
fn help() -> Vec<String> {
    let places =
        [Place::Body, Place::Sessions, Place::Search, Place::Usage, Place::Reading, Place::Any];
    let mut out = vec!["● running   † deleted by the agent, kept here   # tagged".to_owned()];
    for place in places {
        out.push(String::new());
        out.push(place.name().to_owned());
        let of_place = BINDINGS.iter().filter(|b| b.place == place && !b.help.is_empty());
        out.extend(of_place.map(|b| format!("  {:<10} {}", b.key.name(), b.help)));
    }
    out
}
