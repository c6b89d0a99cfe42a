//! Draws the screens of the tabs.

use anstyle::Style;
use backstory_core::number::{age, count, plural};
use backstory_core::pricing::Bill;
use ratatui_core::layout::Rect;
use unicode_width::UnicodeWidthStr;

use super::canvas::Canvas;
use super::draw::{field, right, scrolled};
use super::rows::{Chip, InText, Row, Sort};
use super::state::App;
use crate::output::chart::bar;
use crate::output::{Line, cut, cut_front, style};

/// From this width on, the preview is beside the list.
const WIDE: u16 = 110;

/// Below this width, there is neither a preview nor a project.
const NARROW: u16 = 70;

/// Examples for an empty search.
const QUERIES: &[(&str, &str)] = &[
    ("tide feed", "messages with both words, even half of the last one"),
    ("\"tide feed\"", "the phrase"),
    ("tide -draft", "without a word"),
    ("json OR toml", "either word"),
    ("tool:Bash cargo", "in calls of a tool"),
    ("kind:prompt since:7d tide", "in prompts of the last 7 days"),
    ("project:harbor berth", "in a project"),
];

pub(super) fn sessions(
    app: &mut App,
    canvas: &mut Canvas<'_>,
    area: Rect,
    has_room: bool,
) -> (u16, u16) {
    let count_all = count(app.rows.len() as u64);
    let placeholder = if app.is_typing {
        format!("type to filter {count_all} sessions")
    } else {
        "press `/` to type".to_owned()
    };
    let conditions = conditions(app);
    // The conditions matter more.
    let has_room_for_both = placeholder.width() + conditions.width() + 6 <= usize::from(area.width);
    let placeholder = if has_room_for_both { placeholder.as_str() } else { "" };
    let cursor = field(canvas, area.y, "› ", &app.list.field, placeholder, app.is_typing);
    right(canvas, area.y, cursor.0 + 2, style::DIM, &conditions);
    let list = Rect::new(area.x, area.y + 1, area.width, area.height.saturating_sub(1));
    let has_preview = app.list.has_preview && has_room && area.width >= NARROW;
    let (list, preview_area) = match area.width {
        _ if !has_preview => (list, None),
        WIDE.. => {
            let wide = area.width * 11 / 20;
            let rest = Rect::new(wide + 2, list.y, area.width - wide - 2, list.height);
            (Rect { width: wide, ..list }, Some(rest))
        }
        _ => {
            let high = list.height / 2;
            let rest = Rect::new(1, list.y + high + 1, area.width - 1, list.height - high - 1);
            (Rect { height: high, ..list }, Some(rest))
        }
    };
    let selected = app.list.place(&app.rows).unwrap_or(0);
    app.list.scroll = scrolled(app.list.scroll, selected, usize::from(list.height));
    app.areas.list = (list.y, list.height);
    if app.list.shown.is_empty() {
        for (line, y) in no_sessions(app).into_iter().zip(list.top()..list.bottom()) {
            canvas.text(1, y, list.width, style::DIM, &line);
        }
    }
    for n in 0..list.height {
        let place = app.list.scroll + usize::from(n);
        let Some(at) = app.list.shown.get(place) else { break };
        let is_in_text = place >= app.list.titles;
        session_row(app, canvas, &app.rows[*at], list.y + n, list.width, is_in_text);
        if place == selected {
            canvas.select(0, list.y + n, list.width);
        }
    }
    app.areas.preview = preview_area.map_or(0, |area| usize::from(area.width));
    if let Some(area) = preview_area {
        preview(app, canvas, area);
    }
    cursor
}

/// Explains an empty list, and says what to do.
fn no_sessions(app: &App) -> Vec<String> {
    let list = &app.list;
    if app.rows.is_empty() {
        return vec!["There are no sessions yet.".to_owned()];
    }
    if list.field.is_empty() {
        return vec![
            "No session meets the conditions above; Backspace removes the last one.".to_owned(),
        ];
    }
    if list.is_narrowed() {
        return vec![
            "Nothing matches with the conditions above; Esc empties the filter.".to_owned(),
        ];
    }
    let mut out = vec!["No title or first prompt contains this.".to_owned()];
    out.push(match &list.in_text {
        Some(InText { meant: Some(meant), .. }) => {
            format!("No text does, either. Enter filters by `{meant}` instead.")
        }
        Some(_) => "No text does, either.".to_owned(),
        None if app.is_syncing => "Text is searched as soon as changes have been read.".to_owned(),
        None => String::new(),
    });
    out
}

/// Describes a set of sessions, with the sum of the costs that are listed.
fn chip(chip: &Chip) -> String {
    let mut bill = Bill::default();
    for cost in chip.costs.values() {
        bill.add(cost);
    }
    let facts = std::iter::once(chip.label.clone()).chain(bill.short());
    let more = plural(chip.subagents, "subagent", "subagents");
    let facts = facts.chain((chip.subagents > 0).then(|| format!("with {more}")));
    format!("[{}]", facts.collect::<Vec<_>>().join(" "))
}

/// Describes the conditions of the list.
fn conditions(app: &App) -> String {
    let list = &app.list;
    let mut out: Vec<String> = list.chip.iter().map(chip).collect();
    out.extend(list.agent.clone());
    if list.only_gone {
        out.push("deleted".to_owned());
    }
    if list.sort != Sort::Time {
        out.push(list.sort.name().to_owned());
    }
    let in_text = list.shown.len() - list.titles;
    let shown = count(list.titles as u64);
    out.push(format!("{shown}/{}", count(app.rows.len() as u64)));
    if in_text > 0 {
        out.push(format!("+{} in text", count(in_text as u64)));
    }
    out.join("  ")
}

fn session_row(app: &App, canvas: &mut Canvas<'_>, row: &Row, y: u16, width: u16, in_text: bool) {
    let mark = match row {
        row if row.is_running(app.now) => ("●", style::GOOD),
        row if row.is_gone => ("†", style::WARNING),
        row if !row.tags.is_empty() => ("#", style::NAME),
        _ => (" ", Style::new()),
    };
    canvas.text(1, y, 1, mark.1, mark.0);
    let when = row.updated.map(|at| age(at, app.now)).unwrap_or_default();
    canvas.text(3, y, 5, style::DIM, &format!("{when:>5}"));
    let mut at = 9;
    if width >= NARROW - 10 {
        canvas.text(at, y, 12, style::NAME, &cut(&row.project, 12));
        at += 13;
    }
    let cost = app.list.cost(row).short().unwrap_or_default();
    canvas.text(at, y, 8, style::DIM, &format!("{cost:>8}"));
    at += 9;
    let room = usize::from(width.saturating_sub(at));
    let color = if in_text { style::DIM } else { Style::new() };
    canvas.text(at, y, width.saturating_sub(at), color, &cut(&row.title, room));
}

fn preview(app: &App, canvas: &mut Canvas<'_>, area: Rect) {
    let Some(row) = app.list.selected.as_deref().and_then(|id| app.row(id)) else { return };
    let mut facts = vec![row.short.clone(), row.agent.clone()];
    facts.push(plural(row.prompts as u64, "prompt", "prompts"));
    facts.push(format!("{} tokens", count(row.tokens)));
    facts.extend(row.cost.short());
    if row.is_gone {
        facts.push("deleted by the agent, kept here".to_owned());
    }
    facts.extend(row.tags.iter().map(|tag| format!("#{tag}")));
    let facts = cut(&facts.join(" · "), usize::from(area.width));
    canvas.text(area.x, area.y, area.width, style::DIM, &facts);
    let Some((_, page)) = app.preview.as_ref().filter(|(id, _)| *id == row.id) else { return };
    let lines = page.blocks.iter().flat_map(|block| &block.head).skip(app.list.preview_scroll);
    for (n, line) in (1..area.height).zip(lines) {
        canvas.line(area.x, area.y + n, area.width, line);
    }
}

pub(super) fn hits(app: &mut App, canvas: &mut Canvas<'_>, area: Rect) -> (u16, u16) {
    let placeholder = "words, \"phrases\", tool:Edit, -without";
    let cursor = field(canvas, area.y, "› ", &app.hits.field, placeholder, app.is_typing);
    if !app.hits.words.is_empty() {
        let found = plural(app.hits.total as u64, "hit", "hits");
        let facts = format!("{found}, {} ms", app.hits.took_ms);
        right(canvas, area.y, cursor.0 + 2, style::DIM, &facts);
    }
    let rows = usize::from(area.height.saturating_sub(1)) / 2;
    app.hits.scroll = scrolled(app.hits.scroll, app.hits.selected, rows);
    app.areas.list = (area.y + 1, 0);
    if app.hits.field.is_empty() {
        for ((query, what), y) in QUERIES.iter().zip(area.y + 2..area.bottom()) {
            let at = canvas.text(1, y, area.width, style::NAME, &format!("{query:<26}"));
            canvas.text(at, y, area.width - at.min(area.width), style::DIM, what);
        }
    } else if app.hits.rows.is_empty() && !app.hits.words.is_empty() {
        let more = app.hits.meant.as_ref();
        let more =
            more.map_or_else(String::new, |meant| format!(" Enter searches `{meant}` instead."));
        canvas.text(1, area.y + 1, area.width, style::DIM, &format!("Nothing found.{more}"));
    }
    for n in 0..rows {
        let place = app.hits.scroll + n;
        let Some(hit) = app.hits.rows.get(place) else { break };
        let y = area.y + 1 + u16::try_from(n * 2).unwrap_or(0);
        let row = app.row(&hit.listed);
        let when = row.and_then(|row| row.updated).map(|at| age(at, app.now)).unwrap_or_default();
        let project = row.map(|row| row.project.as_str()).unwrap_or_default();
        let title = row.map_or(hit.session.as_str(), |row| row.title.as_str());
        let head = Line::new()
            .styled(style::DIM, format!("{when:>5}  "))
            .styled(style::NAME, format!("{}  ", cut(project, 14)))
            .styled(style::HEADING, title);
        canvas.line(1, y, area.width - 1, &head);
        let mut line = Line::new().styled(style::DIM, format!("      {:<9} ", hit.field));
        // The text before the first match must not push it off the screen.
        let before = usize::from(area.width).saturating_sub(line.width()) / 3;
        for (n, (text, is_found)) in hit.snippet.iter().enumerate() {
            line = match is_found {
                true => line.styled(style::FOUND, text),
                false if n == 0 && hit.snippet.len() > 1 => line.text(cut_front(text, before)),
                false => line.text(text),
            };
        }
        canvas.line(1, y + 1, area.width - 1, &line);
        if place == app.hits.selected {
            canvas.select(0, y, area.width);
        }
    }
    cursor
}

pub(super) fn chart(app: &mut App, canvas: &mut Canvas<'_>, area: Rect) {
    let chart = &mut app.chart;
    let period = match chart.period.days {
        Some(365) => "the last year".to_owned(),
        Some(days) => format!("the last {days} days"),
        None => "all time".to_owned(),
    };
    let measure = if chart.by_tokens { "tokens" } else { "cost" };
    let heading = format!("{} · {measure} · {period}", by(chart.period.group));
    let at = canvas.text(1, area.y, area.width, style::HEADING, &heading);
    let cost = chart.total.bill.short().unwrap_or_default();
    let total = format!("{cost}  {} tokens", count(chart.total.usage.total()));
    right(canvas, area.y, at + 1, style::DIM, &total);
    let rows = usize::from(area.height.saturating_sub(2));
    chart.scroll = scrolled(chart.scroll, chart.selected, rows);
    app.areas.list = (area.y + 2, area.height.saturating_sub(2));
    if chart.bars.is_empty() {
        let newest = app.rows.iter().filter_map(|row| row.updated).max();
        let text = match newest.filter(|_| chart.period.days.is_some()) {
            Some(at) => format!(
                "No calls in this time. The newest session is {} old; `+` shows more.",
                age(at, app.now)
            ),
            None => "There are no calls yet.".to_owned(),
        };
        canvas.text(1, area.y + 2, area.width, style::DIM, &text);
    }
    let amount = |bar: &super::ask::Bar| {
        if chart.by_tokens {
            bar.sum.usage.total()
        } else {
            u64::try_from(bar.sum.bill.usd.unwrap_or_default().pico() / 1_000).unwrap_or(u64::MAX)
        }
    };
    let most = chart.bars.iter().map(amount).max().unwrap_or(0);
    let label = chart.bars.iter().map(|bar| bar.label.width()).max().unwrap_or(0);
    let label = label.min(usize::from(area.width) / 3);
    for n in 0..rows {
        let place = chart.scroll + n;
        let Some(row) = chart.bars.get(place) else { break };
        let y = area.y + 2 + u16::try_from(n).unwrap_or(0);
        let end = 2 + u16::try_from(label).unwrap_or(0);
        canvas.text(1, y, end, Style::new(), &cut(&row.label, label));
        let sum = &row.sum;
        let number = if chart.by_tokens {
            count(sum.usage.total())
        } else {
            sum.bill.short().unwrap_or_default()
        };
        let facts = format!("{number:>12}  {:>13}", plural(sum.sessions, "session", "sessions"));
        let room = usize::from(area.width).saturating_sub(usize::from(end) + facts.width() + 3);
        canvas.text(end + 1, y, area.width, style::NAME, &bar(amount(row), most, room));
        right(canvas, y, end, Style::new(), &facts);
        if place == chart.selected {
            canvas.select(0, y, end);
        }
    }
}

fn by(group: backstory_core::query::usage::Group) -> &'static str {
    use backstory_core::query::usage::Group;
    match group {
        Group::Model => "Usage by model",
        Group::Project => "Usage by project",
        Group::Agent => "Usage by agent",
        _ => "Usage by day",
    }
}

pub(super) fn notices(app: &mut App, canvas: &mut Canvas<'_>, area: Rect) {
    let help = app.notices.get(app.notice).and_then(|notice| notice.command.as_ref());
    let mut area = area;
    if let Some(command) = help {
        area.height = area.height.saturating_sub(1);
        let text = format!("`{command}` helps; `y` copies it");
        canvas.text(1, area.bottom(), area.width, style::HINT, &text);
    }
    app.areas.list = (area.y, area.height);
    if app.notices.is_empty() {
        canvas.text(1, area.y, area.width, style::GOOD, "Nothing needs your attention.");
    }
    let scroll = scrolled(0, app.notice, usize::from(area.height));
    let when = app.notices.iter().filter_map(|notice| notice.deletion.as_ref());
    let wide = when.map(|(when, _)| when.width()).max().unwrap_or(0);
    let shown = app.notices.iter().enumerate().skip(scroll);
    for ((place, notice), y) in shown.zip(area.top()..area.bottom()) {
        let line = match &notice.deletion {
            Some((when, is_kept)) => {
                let (color, kept) =
                    if *is_kept { (style::GOOD, "kept") } else { (style::WARNING, "not kept") };
                Line::new()
                    .styled(style::DIM, format!("{when:<wide$}  "))
                    .styled(color, format!("{kept:<8}  "))
                    .text(&notice.text)
            }
            None => Line::new().text(&notice.text),
        };
        let line = line.cut(Some(usize::from(area.width.saturating_sub(2))));
        canvas.line(1, y, area.width - 1, &line);
        if place == app.notice {
            canvas.select(0, y, area.width);
        }
    }
}
