//! Draws the tokens of each turn as a small chart, which is also a map of the session.

use std::io::{self, Write};

use crate::export::document::{Document, typed};
use crate::export::escape::html;
use crate::model::{Bucket, Message, Usage};
use crate::number::{count, plural};

const HEIGHT: u64 = 56;
const WIDTH: u64 = 720;
const GAP: u64 = 3;
/// The maximum number of bars that can be distinguished.
const BARS: usize = 120;

/// A prompt and the usage of its answer.
struct Turn<'a> {
    /// The message to link to.
    anchor: usize,
    prompt: &'a Message,
    calls: u64,
    /// The number of tool calls that failed.
    failures: u64,
    usage: Usage,
}

/// Returns the address of a message by its place.
pub type Link<'a> = dyn Fn(usize) -> String + 'a;

/// Writes the chart, whose bars link to their prompts.
pub fn write_minimap(
    document: &Document<'_>,
    link: &Link<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
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
        "<figure class=\"minimap\"><svg viewBox=\"0 0 {width} {HEIGHT}\" width=\"{width}\" height=\"{HEIGHT}\" \
         role=\"group\" aria-label=\"Tokens turn by turn\">"
    )?;
    for (n, turn) in turns.iter().enumerate() {
        bar(turn, n as u64 * each, each - GAP, largest, link, out)?;
    }
    writeln!(
        out,
        "</svg>\n<figcaption>Tokens by prompt, peak {}: <span class=\"key cached\">cached</span> \
         <span class=\"key fresh\">fresh input</span> <span class=\"key made\">output and thoughts</span>{}\
         </figcaption></figure>",
        count(largest),
        if turns.iter().any(|turn| turn.failures > 0) {
            " <span class=\"key failure\">failed tool calls</span>"
        } else {
            ""
        },
    )
}

fn bar(
    turn: &Turn<'_>,
    x: u64,
    width: u64,
    largest: u64,
    link: &Link<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let usage = &turn.usage;
    let total = usage.total();
    let calls = plural(turn.calls, "call", "calls");
    let failures = match turn.failures {
        0 => String::new(),
        failures => format!(", {}", plural(failures, "failed tool call", "failed tool calls")),
    };
    // The list of prompts has the same links for the keyboard.
    let words = typed(turn.prompt, 80);
    let words = html(&words);
    writeln!(
        out,
        "<a href=\"{}\" tabindex=\"-1\" aria-label=\"{words}\"><title>{words}\n{} tokens in {calls}{failures}</title>\
         <rect class=\"hit\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{HEIGHT}\"/>",
        html(&link(turn.anchor)),
        count(total),
    )?;
    // Each label begins with its place in the bar, from the bottom.
    let mut parts = usage.by_label(|bucket| match bucket {
        Bucket::Cached => (0, "cached"),
        Bucket::Input
        | Bucket::CacheWrite5m
        | Bucket::CacheWrite1h
        | Bucket::Tool
        | Bucket::Other => (1, "fresh"),
        Bucket::Output | Bucket::Thoughts => (2, "made"),
    });
    parts.sort_unstable();
    let mut below: u64 = 0;
    for ((_, class), tokens) in parts {
        // From the running sum, so that the parts are never higher than the whole.
        let from = scaled(below, largest);
        below = below.saturating_add(tokens);
        let to = scaled(below, largest);
        if to > from {
            let (y, height) = (HEIGHT - to, to - from);
            write!(
                out,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>"
            )?;
        }
    }
    if turn.failures > 0 {
        write!(out, "<rect class=\"failure\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"4\"/>")?;
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
            turns.push(Turn {
                anchor,
                prompt: message,
                calls: 0,
                failures: 0,
                usage: Usage::default(),
            });
        }
        let Some(turn) = turns.last_mut() else { continue };
        turn.failures += message.tool_calls.iter().filter(|call| call.has_failed()).count() as u64;
        if let Some(usage) = message.usage {
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
                last.failures += turn.failures;
                last.usage += turn.usage;
            }
            _ => out.push(turn),
        }
    }
    out
}
