//! Hits for people, grouped by session.

use std::collections::HashMap;

use backstory_core::collection::Collection;
use backstory_core::model::{Fate, Message, Session, State};
use backstory_core::search::Bit;

use unicode_width::UnicodeWidthStr;

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
    totals: &HashMap<String, usize>,
) -> Result<()> {
    for (n, group) in hits.chunk_by(|a, b| a.session.id == b.session.id).enumerate() {
        if n > 0 {
            printer.blank()?;
        }
        let session = group[0].session;
        let short = all.short(session);
        printer.line(heading(ctx, printer.columns(), session, &short))?;
        for hit in group {
            let (before, after): (Vec<&Message>, Vec<&Message>) =
                hit.context.iter().partition(|message| message.at <= hit.at);
            neighbours(printer, &before)?;
            printer.line(line(hit))?;
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

fn line(hit: &Hit<'_>) -> Line {
    let name = format!("{:<9} ", hit.field.name());
    let mut line = Line::new().text("  ").styled(style::DIM, name).hang(" ".repeat(12));
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

fn neighbours(printer: &mut Printer, messages: &[&Message]) -> Result<()> {
    const LONGEST: usize = 100;
    for message in messages {
        let words = message.words().split_whitespace().collect::<Vec<_>>().join(" ");
        let calls: Vec<&str> =
            message.tool_calls.iter().map(|call| call.name.label.as_str()).collect();
        let words = if words.is_empty() { format!("({})", calls.join(", ")) } else { words };
        let text = format!("  {:<9} {}", message.role.name(), cut(&words, LONGEST));
        printer.title(Line::new().styled(style::DIM, text))?;
    }
    Ok(())
}

/// Prints the number of hits, and the text that was not searched.
pub(super) fn tell(
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
