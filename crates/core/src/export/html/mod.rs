//! Writes a session as one HTML file that needs no network and no software, to be sent to somebody.
//!
//! All content is escaped. As a second line of defence, the page's own policy allows only its own
//! script and style, identified by their hashes, and images embedded in the page.

mod chart;
mod code;
mod image;
mod markdown;
mod policy;
mod story;

use std::io::{self, Write};

#[doc(hidden)]
pub use self::chart::{Link, write_minimap};
use self::story::Story;
#[doc(hidden)]
pub use self::story::{Place, write_messages};
use super::document::{Document, buckets, typed};
use super::escape::html;
use crate::clean;
use crate::number::{brief, count, plural};

/// The style of messages, which other pages share.
#[doc(hidden)]
pub const STORY_STYLE: &str = include_str!("story.css");
const STYLE: &str = concat!(include_str!("story.css"), include_str!("page.css"));

/// The script of every page with a transcript.
pub const STORY_SCRIPT: &str = include_str!("story.js");
const SCRIPT: &str = concat!(include_str!("story.js"), include_str!("script.js"));

/// Writes one session.
pub fn write(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    head(&document.session.title().0, out)?;
    out.write_all(b"<a class=\"skip\" href=\"#story\">Skip to the conversation</a>\n")?;
    side(document, out)?;
    writeln!(out, "<main>")?;
    header(document, out)?;
    writeln!(out, "<section id=\"story\" aria-label=\"Conversation\">")?;
    Story::new(document, out).session(document.session, document.messages)?;
    writeln!(out, "<p class=\"none\" id=\"none\" hidden>No message has these words.</p>")?;
    writeln!(out, "</section>")?;
    footer(document, out)?;
    writeln!(out, "</main>")?;
    writeln!(
        out,
        "<div class=\"steps\" id=\"steps\" hidden><a href=\"#top\">Prompts</a>\
         <button type=\"button\" id=\"previous\">Previous</button>\
         <button type=\"button\" id=\"next\">Next</button></div>"
    )?;
    foot(out)
}

/// Writes the beginning of a page, up to its body.
pub(super) fn head(title: &str, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"backstory\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        policy::of(STYLE, SCRIPT),
        html(&clean::line(title)),
    )
}

pub(super) fn foot(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>")
}

/// Writes the list of prompts next to the conversation.
fn side(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(
        b"<nav id=\"top\" aria-label=\"Prompts\">\n<div class=\"find\">\
          <input type=\"search\" id=\"find\" placeholder=\"Find in this session\" \
          aria-label=\"Find in this session\" autocomplete=\"off\">\
          <output id=\"found\" for=\"find\"></output></div>\n\
          <details class=\"prompts\" open><summary>Prompts</summary>\n<ol>\n",
    )?;
    let prompts = document.messages.iter().enumerate().filter(|(_, m)| m.kind.is_typed());
    for (n, message) in prompts {
        let fate = message.fate.name();
        let words = typed(message, 110);
        writeln!(out, "<li class=\"{fate}\"><a href=\"#m{n}\">{}</a></li>", html(&words))?;
    }
    out.write_all(b"</ol>\n</details>\n</nav>\n")
}

fn header(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    let session = document.session;
    let project = &session.project;
    let line = |text: &str| html(&clean::line(text)).into_owned();
    writeln!(out, "<header>")?;
    let place = project.path.as_deref().unwrap_or(&project.name);
    writeln!(
        out,
        "<p class=\"place\"><b>{}</b> <span>{}</span></p>\n<h1>{}</h1>",
        line(&project.name),
        if place == project.name { String::new() } else { line(place) },
        html(&session.title().0),
    )?;
    let mut facts = vec![html(&document.span()).into_owned()];
    facts.extend(session.models.iter().map(|model| line(model)));
    if let Some(parent) = &session.parent {
        facts.push(format!("started by {}", line(parent)));
    }
    writeln!(out, "<p class=\"facts\">{}</p>", facts.join(" <i>·</i> "))?;
    writeln!(out, "<dl class=\"sums\">")?;
    let mut sum = |value: &str, name: &str, more: &str| {
        writeln!(out, "<div title=\"{more}\"><dd>{value}</dd><dt>{name}</dt></div>")
    };
    let (prompts, calls) = (session.prompts as u64, session.calls as u64);
    sum(&count(prompts), if prompts == 1 { "prompt" } else { "prompts" }, "")?;
    sum(&count(calls), if calls == 1 { "model call" } else { "model calls" }, "")?;
    let tools = session.tool_calls as u64;
    sum(&count(tools), if tools == 1 { "tool call" } else { "tool calls" }, "")?;
    let parts: Vec<String> = buckets(&session.usage)
        .iter()
        .map(|(name, tokens)| format!("{} {name}", count(*tokens)))
        .collect();
    sum(&brief(session.usage.total()), "tokens", &parts.join(", "))?;
    let cost = &document.cost;
    if let Some(shown) = cost.short() {
        let exact = cost.usd.map(|usd| format!("{usd} USD"));
        let more: Vec<String> = exact.into_iter().chain(cost.lacks()).collect();
        sum(&shown, "cost at list price", &more.join("; "))?;
    }
    writeln!(out, "</dl>")?;
    chart::write_minimap(document, &|place| format!("#m{place}"), out)?;
    out.write_all(
        b"<p class=\"tools-bar\" id=\"bar\" hidden><button type=\"button\" id=\"open\">Unfold all</button>\
          <button type=\"button\" id=\"close\">Fold all</button>\
          <label><input type=\"checkbox\" value=\"prompts\" checked>prompts</label>\
          <label><input type=\"checkbox\" value=\"answers\" checked>answers</label>\
          <label><input type=\"checkbox\" value=\"thoughts\" checked>thoughts</label>\
          <label><input type=\"checkbox\" value=\"tools\" checked>tools</label>\
          <span class=\"keys\">keys: <kbd>/</kbd> find, <kbd>j</kbd> <kbd>k</kbd> next and previous prompt</span></p>\n\
          </header>\n",
    )
}

fn footer(document: &Document<'_>, out: &mut dyn Write) -> io::Result<()> {
    let session = document.session;
    let line = |text: &str| html(&clean::line(text)).into_owned();
    let mut facts = vec![
        format!("session <code>{}</code>", line(&session.id)),
        plural(session.messages_full as u64, "message", "messages"),
        format!("times in {}", line(document.zone.iana_name().unwrap_or("a fixed zone"))),
    ];
    if document.cost.usd.is_some() {
        facts.push("recorded calls at list price".to_owned());
    }
    facts.extend(document.cost.lacks().map(|lacks| format!("≥: {lacks}")));
    facts.push("written by backstory".to_owned());
    writeln!(out, "<footer>{}</footer>", facts.join(" <i>·</i> "))
}

#[cfg(test)]
mod tests {
    use crate::number::brief;

    #[test]
    fn numbers_are_rounded_not_cut() {
        let cases = [
            (9_999, "9,999"),
            (10_000, "10.0k"),
            (41_349, "41.3k"),
            (41_350, "41.4k"),
            (41_394, "41.4k"),
            (999_949, "999.9k"),
            (999_950, "1.0M"),
            (1_250_000, "1.3M"),
            (999_949_999, "999.9M"),
            (999_950_000, "1.0B"),
            (1_662_037_807, "1.7B"),
            (u64::MAX, "18,446,744,073.7B"),
        ];
        for (number, want) in cases {
            assert_eq!(brief(number), want, "{number}");
        }
    }
}
