//! Hits for people, grouped by session.

use std::collections::{HashMap, HashSet};

use backstory_core::collection::Collection;
use backstory_core::model::{Fate, Message, Session, SessionId, State};
use backstory_core::search::Bit;
use backstory_core::transcript::{BlockKind, Options, blocks};

use unicode_width::UnicodeWidthStr;

use backstory_core::query::hits::headline;

use super::Hit;
use crate::context::Context;
use crate::error::Result;
use crate::output::number::{age, count, plural, relative};
use crate::output::{Line, Printer, cut, style};

pub(super) fn print(
    ctx: &Context,
    printer: &mut Printer,
    all: &Collection,
    hits: &[Hit<'_>],
    totals: &HashMap<SessionId, usize>,
    is_numbered: bool,
) -> Result<()> {
    let mut numbers = (1..=hits.len()).map(|n| format!("@s{n}"));
    let widest = format!("@s{} ", hits.len()).len();
    for (n, group) in hits.chunk_by(|a, b| a.session.id == b.session.id).enumerate() {
        if n > 0 {
            printer.blank()?;
        }
        let session = group[0].session;
        let short = all.short(session);
        printer.line(heading(ctx, printer.columns(), session, &short))?;
        // A message is printed once, as a hit if it is one.
        let mut printed: HashSet<&str> =
            group.iter().filter_map(|h| h.message.as_deref()).collect();
        let has_context = group.iter().any(|hit| !hit.context.is_empty());
        for hit in group {
            let mut context: Vec<&Message> = hit.context.iter().collect();
            context.retain(|message| printed.insert(&message.id));
            let (before, after): (Vec<&Message>, Vec<&Message>) =
                context.into_iter().partition(|message| message.at <= hit.at);
            neighbours(printer, &before)?;
            let number = numbers.next().filter(|_| is_numbered);
            let number = number.map_or_else(String::new, |number| format!("{number:<widest$}"));
            printer.line(line(hit, if has_context { "▸ " } else { "  " }, &number))?;
            neighbours(printer, &after)?;
        }
        let more = totals.get(&session.id).copied().unwrap_or(0).saturating_sub(group.len());
        if more > 0 {
            let text = format!("  {} more: add `session:{short}`", count(more as u64));
            printer.line(Line::new().styled(style::DIM, text))?;
        }
    }
    Ok(())
}

/// Returns the line above the hits of a session: its title is whole or has half of the terminal, and what
/// does not fit beside it is left out.
fn heading(ctx: &Context, width: Option<usize>, session: &Session, short: &str) -> Line {
    let name = &session.project.name;
    let (long, brief) = match session.updated {
        Some(at) => (relative(at, ctx.now), age(at, ctx.now)),
        None => Default::default(),
    };
    let (title, _) = session.title();
    let state = if session.state == State::LogOnly { " · only its prompts are left" } else { "" };
    let sides =
        [format!("  {name} · {long}{state}"), format!("  {name} · {brief}"), format!("  {brief}")];
    let room = |side: &str| {
        width.map_or(usize::MAX, |width| width.saturating_sub(short.width() + 1 + side.width()))
    };
    let fits = |side: &&String| room(side) >= title.width().min(width.unwrap_or_default() / 2);
    let side = sides.iter().find(fits).map_or("", String::as_str);
    Line::new()
        .styled(style::NAME, short)
        .text(" ")
        .styled(style::HEADING, cut(&title, room(side)))
        .styled(style::DIM, side)
}

fn line(hit: &Hit<'_>, mark: &str, number: &str) -> Line {
    let name = format!("{:<9} ", hit.field.name());
    let hang = " ".repeat(12 + number.len());
    let mut line = Line::new().text(mark).styled(style::NAME, number).styled(style::DIM, name);
    line = line.hang(hang);
    if hit.fate != Fate::Kept.name() {
        line = line.styled(style::WARNING, format!("[{}] ", hit.fate));
    }
    if hit.snippet.is_empty() {
        return line.styled(style::DIM, "its file is gone and was not captured");
    }
    marked(line, &hit.snippet)
}

/// Appends text with the matches highlighted.
fn marked(line: Line, bits: &[Bit]) -> Line {
    bits.iter().fold(
        line,
        |line, (text, found)| {
            if *found { line.styled(style::FOUND, text) } else { line.text(text) }
        },
    )
}

/// Prints what was said and done around a hit, one line each, as `show` would show it.
fn neighbours(printer: &mut Printer, messages: &[&Message]) -> Result<()> {
    const LONGEST: usize = 100;
    for message in messages {
        for block in blocks(std::slice::from_ref(*message), &Options::default()) {
            let (name, text) = match &block.body {
                BlockKind::You(text) => ("prompt", (*text).to_owned()),
                BlockKind::Agent(text) => ("reply", (*text).to_owned()),
                BlockKind::Tool { call, argument, .. } => {
                    ("tool", headline(call, argument.as_deref()))
                }
                BlockKind::Error(text) => ("error", (*text).to_owned()),
                BlockKind::Thought(_) | BlockKind::Notice(_) | BlockKind::Compress => continue,
            };
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let text = format!("  {name:<9} {}", cut(&words, LONGEST));
            printer.title(Line::new().styled(style::DIM, text))?;
        }
    }
    Ok(())
}

/// Says how to open the first hit at its place. Only people need it.
pub(super) fn next_step(printer: &mut Printer, is_numbered: bool) {
    if printer.is_terminal() {
        printer.note(if is_numbered {
            "`backstory show @s1` opens the first hit at its place; `--open` does so at once."
        } else {
            "`--open` opens the first hit at its place."
        });
    }
}

/// Prints the number of hits, and the text that was not searched.
pub(super) fn note_total(
    printer: &mut Printer,
    hits: &[Hit<'_>],
    total: usize,
    offset: usize,
    is_pattern: bool,
) {
    let all = plural(total as u64, "hit", "hits");
    if is_pattern {
        printer.note(format!(
            "{all} in all text, including the middle of long tool output, which is not indexed."
        ));
    } else if total > hits.len() {
        let from = if offset > 0 {
            format!(" from {} on", count(offset as u64 + 1))
        } else {
            String::new()
        };
        printer.note(format!("{all}; {} shown{from}.", count(hits.len() as u64)));
    }
    if !is_pattern && hits.iter().any(|hit| hit.capped) {
        printer.detail(
            "Only the beginning and end of long tool output are indexed; `--exact` searches all of it.",
        );
    }
}
