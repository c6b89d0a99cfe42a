//! Draws the tokens of each turn as a small chart.

use std::io::{self, Write};

use crate::export::document::{Document, typed};
use crate::export::escape::html;
use crate::model::{Message, Usage};
use crate::number::{count, plural};

const HEIGHT: u64 = 56;
const WIDTH: u64 = 720;
const GAP: u64 = 3;
/// The most bars that can be distinguished.
const BARS: usize = 120;

/// A prompt and the usage of its answer.
struct Turn<'a> {
    /// The message to link to.
    anchor: usize,
    prompt: &'a Message,
    calls: u64,
    usage: Usage,
}

pub(super) fn write(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    let turns = turns(document);
    // A single bar has nothing to compare with.
    if turns.len() < 2 {
        return Ok(());
    }
    let largest = turns.iter().map(|turn| turn.usage.total()).max().unwrap_or(0).max(1);
    let each = (WIDTH / turns.len() as u64).clamp(GAP + 3, 36);
    let width = each * turns.len() as u64 - GAP;
    writeln!(
        out,
        "<figure><svg viewBox=\"0 0 {width} {HEIGHT}\" width=\"{width}\" height=\"{HEIGHT}\" \
         role=\"img\" aria-label=\"Tokens turn by turn\">"
    )?;
    for (n, turn) in turns.iter().enumerate() {
        bar(turn, n as u64 * each, each - GAP, largest, out)?;
    }
    writeln!(
        out,
        "</svg>\n<figcaption>Tokens by prompt, peak {}: <span class=\"key cached\">cached</span> \
         <span class=\"key fresh\">fresh input</span> <span class=\"key made\">output and thoughts</span>\
         </figcaption></figure>",
        count(largest),
    )
}

fn bar(turn: &Turn<'_>, x: u64, width: u64, largest: u64, out: &mut dyn Write) -> io::Result<()> {
    let usage = &turn.usage;
    let total = usage.total();
    let calls = plural(turn.calls, "call", "calls");
    writeln!(
        out,
        "<a href=\"#m{}\"><title>{}\n{} tokens in {calls}</title>\
         <rect class=\"hit\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{HEIGHT}\"/>",
        turn.anchor,
        html(&typed(turn.prompt, 80)),
        count(total),
    )?;
    let made = usage.output + usage.thoughts;
    let fresh = usage.input + usage.tool + usage.other;
    let mut below = 0;
    for (class, tokens) in [("cached", usage.cached), ("fresh", fresh), ("made", made)] {
        // From the running sum, so that the parts are never higher than the whole.
        let from = scaled(below, largest);
        below += tokens;
        let to = scaled(below, largest);
        if to > from {
            let (y, height) = (HEIGHT - to, to - from);
            write!(
                out,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
            )?;
        }
    }
    writeln!(out, "</a>")
}

/// Scales a count, with at least one line for anything but zero.
fn scaled(tokens: u64, largest: u64) -> u64 {
    let height = u128::from(tokens) * u128::from(HEIGHT) / u128::from(largest);
    u64::try_from(height).unwrap_or(HEIGHT).max(u64::from(tokens > 0))
}

fn turns<'a>(document: &Document<'a>) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (anchor, message) in document.messages.iter().enumerate() {
        if message.kind.is_typed() {
            turns.push(Turn { anchor, prompt: message, calls: 0, usage: Usage::default() });
        }
        if let (Some(usage), Some(turn)) = (message.usage, turns.last_mut()) {
            turn.calls += 1;
            turn.usage += usage;
        }
    }
    turns.retain(|turn| turn.calls > 0);
    let many = turns.len().div_ceil(BARS).max(1);
    let mut out: Vec<Turn<'_>> = Vec::new();
    for (n, turn) in turns.into_iter().enumerate() {
        match out.last_mut() {
            Some(last) if n % many != 0 => {
                last.calls += turn.calls;
                last.usage += turn.usage;
            }
            _ => out.push(turn),
        }
    }
    out
}
