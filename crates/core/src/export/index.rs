//! Writes a page that links to many sessions, each in a separate file next to it.

use std::io::{self, Write};

use jiff::tz::TimeZone;

use super::escape;
use super::html::{foot, head};
use crate::clean;
use crate::model::{Session, SessionKind};
use crate::number::{count, date, plural};
use crate::pricing::Bill;

/// One session of the list.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The session.
    pub session: &'a Session,
    /// The name of its file.
    pub file: &'a str,
    /// The cost of its calls.
    pub cost: Bill,
}

impl Entry<'_> {
    fn is_inner(&self) -> bool {
        self.session.kind == SessionKind::Subagent
    }

    fn title(&self) -> String {
        self.session.title().0
    }

    fn day(&self, zone: &TimeZone) -> String {
        self.session.started.map(|at| date(at, zone)).unwrap_or_default()
    }

    fn price(&self) -> String {
        self.cost.short().unwrap_or_default()
    }
}

/// Summarizes all entries.
fn sum(entries: &[Entry<'_>]) -> String {
    let tokens: u64 = entries.iter().map(|entry| entry.session.usage.total()).sum();
    let cost: Bill = entries.iter().map(|entry| &entry.cost).collect();
    let mut facts = vec![plural(entries.len() as u64, "session", "sessions")];
    facts.push(format!("{} tokens", count(tokens)));
    facts.extend(cost.short());
    facts.join(" · ")
}

/// Writes the list as HTML.
pub fn html(entries: &[Entry<'_>], zone: &TimeZone, out: &mut dyn Write) -> io::Result<()> {
    head("Sessions", out)?;
    writeln!(out, "<main class=\"index\">\n<header>\n<h1>Sessions</h1>")?;
    writeln!(out, "<p class=\"facts\">{}</p>\n</header>\n<table class=\"list\">", sum(entries))?;
    writeln!(
        out,
        "<thead><tr><th>Started</th><th>Project</th><th>Session</th><th class=\"n\">Prompts</th>\
         <th class=\"n\">Tokens</th><th class=\"n\">List price</th></tr></thead>\n<tbody>"
    )?;
    let text = |text: &str| escape::html(&clean::line(text)).into_owned();
    for entry in entries {
        let session = entry.session;
        writeln!(
            out,
            "<tr><td><time>{}</time></td><td>{}</td><td{}><a href=\"{}\">{}</a></td>\
             <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            entry.day(zone),
            text(&session.project.name),
            if entry.is_inner() { " class=\"sub\"" } else { "" },
            text(entry.file),
            text(&entry.title()),
            count(session.prompts as u64),
            count(session.usage.total()),
            entry.price(),
        )?;
    }
    writeln!(out, "</tbody>\n</table>\n<footer>written by backstory</footer>\n</main>")?;
    foot(out)
}

/// Writes the list as Markdown.
pub fn markdown(entries: &[Entry<'_>], zone: &TimeZone, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# Sessions\n\n{}\n", sum(entries))?;
    writeln!(out, "| started | project | session | prompts | tokens | cost at list price |")?;
    writeln!(out, "| --- | --- | --- | ---: | ---: | ---: |")?;
    for entry in entries {
        let session = entry.session;
        writeln!(
            out,
            "| {} | {} | {}[{}](<{}>) | {} | {} | {} |",
            entry.day(zone),
            super::markdown::inline(&session.project.name),
            if entry.is_inner() { "↳ " } else { "" },
            link_text(&entry.title()),
            entry.file,
            count(session.prompts as u64),
            count(session.usage.total()),
            entry.price(),
        )?;
    }
    Ok(())
}

/// Escapes the text of a link without brackets, because not every renderer accepts that an escaped
/// one cannot begin another link.
fn link_text(text: &str) -> String {
    let text = super::markdown::inline(text);
    [
        ("\\[", "&#91;"),
        ("\\]", "&#93;"),
        ("[", "&#91;"),
        ("]", "&#93;"),
        ("(", "&#40;"),
        (")", "&#41;"),
    ]
    .iter()
    .fold(text, |text, (from, to)| text.replace(from, to))
}
