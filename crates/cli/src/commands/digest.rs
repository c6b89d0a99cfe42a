use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use backstory_core::export::json::Time;
use backstory_core::model::{Session, SessionId};
use backstory_core::pricing::Bill;
use backstory_core::query::files::{FileRow, by_file, files};
use backstory_core::query::prompts::Prompts;
use backstory_core::query::usage::{Group, Question};
use backstory_core::redact::{Redactor, Rules};
use clap::ValueEnum;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Result};
use crate::filters::Filters;
use crate::library::{Library, cannot_open};
use crate::output::clean::one_line;
use crate::output::number::{date, plural};
use crate::output::{Line, Printer, cut, style};

const EXAMPLES: &str = "\
Examples:
  backstory digest                        since the beginning of yesterday
  backstory digest --on monday -p .       one day, in this project
  backstory digest --since 'last week' --format md > report.md";

/// Summarize what you asked, what was changed and what it cost, by project
///
/// For daily meetings and notes: each session of the period with its prompts and the files that it changed. Secrets are
/// removed from Markdown, because it is meant to be shared.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Digest {
    #[command(flatten)]
    filters: Filters,

    /// The output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For a terminal
    Text,
    /// Markdown
    Md,
    /// One document with a `schema` field
    Json,
}

/// `backstory.digest/1`
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    since: Option<Time>,
    until: Option<Time>,
    #[serde(flatten)]
    cost: Bill,
    projects: Vec<ProjectOut>,
}

#[derive(Serialize)]
struct ProjectOut {
    name: String,
    path: Option<String>,
    #[serde(flatten)]
    cost: Bill,
    sessions: Vec<SessionOut>,
}

#[derive(Serialize)]
struct SessionOut {
    session: SessionId,
    /// The beginning of the id, for people.
    #[serde(skip)]
    short: String,
    title: String,
    updated: Option<Time>,
    #[serde(flatten)]
    cost: Bill,
    prompts: Vec<String>,
    files: Vec<FileOut>,
}

#[derive(Serialize)]
struct FileOut {
    path: String,
    lines_added: u64,
    lines_removed: u64,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Digest) -> Result<Exit> {
    super::require_given(ctx)?;
    let library = Library::open(ctx, printer, &args.filters.project)?;
    let mut document = digest(ctx, &library, &args.filters)?;
    let is_empty = document.projects.is_empty();
    match if ctx.json { Format::Json } else { args.format } {
        Format::Json => printer.json(&document)?,
        _ if is_empty => {
            let what = "nothing happened in this time";
            return Err(super::nothing(ctx, &library.all, &args.filters, what)
                .hint("`--since 7d` looks further back"));
        }
        Format::Md => {
            // It is meant to be shared.
            redact(&mut document, &super::redact::rules(ctx)?);
            let text = markdown(ctx, &document);
            let mut out = printer.data()?;
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
        Format::Text => print(ctx, printer, &document)?,
    }
    super::note_faults(printer, &library);
    Ok(if is_empty { Exit::NoMatch } else { super::exit_code(ctx, &library) })
}

fn digest(ctx: &Context, library: &Library, filters: &Filters) -> Result<Document> {
    let all = &library.all;
    let mut filter = filters.filter(ctx, all)?;
    if filter.period.is_everything() {
        filter.period.since = ctx.parse_period("yesterday").map(|(start, _)| start);
    }
    let period = filter.period;
    let chosen: Vec<&Session> = all.sessions.iter().filter(|s| filter.takes(s)).collect();
    let ids: Vec<SessionId> = chosen.iter().map(|session| session.id.clone()).collect();
    let question = Question {
        period,
        rollup: true,
        sessions: super::wanted_sessions(all, &filter, &[]),
        ..Question::new(Group::Session)
    };
    let answer = library.reports().usage(&question);
    let answer = answer.map_err(super::cannot_count)?;
    let costs: BTreeMap<&str, Bill> =
        answer.rows.iter().map(|row| (row.key.as_str(), row.sum.bill)).collect();
    let mut typed: BTreeMap<SessionId, Vec<String>> = BTreeMap::new();
    let mut prompts = Prompts::new(&library.archive, all).map_err(cannot_open)?;
    prompts.heads.retain(|prompt| prompt.at.is_some_and(|at| period.contains(at)));
    for prompt in prompts.read(&prompts.heads).map_err(cannot_open)? {
        let is_command = prompt.text.starts_with(['/', '!', '?']);
        if let Some(session) = prompt.session.filter(|_| !is_command) {
            typed.entry(session).or_default().push(prompt.text);
        }
    }
    let uses = files(&library.archive, all, &ids, &period, None);
    let mut uses = uses.map_err(super::cannot_read)?;
    uses.retain(|used| used.is_change && !used.has_failed);
    let mut projects: BTreeMap<&str, ProjectOut> = BTreeMap::new();
    for session in chosen {
        let own: Vec<_> = uses.iter().filter(|used| used.session == session.id).cloned().collect();
        let cost = costs.get(session.id.as_str()).copied().unwrap_or_default();
        let prompts = typed.remove(&session.id).unwrap_or_default();
        // A session that only overlaps the period in its first and last time.
        if prompts.is_empty() && own.is_empty() && cost == Bill::default() {
            continue;
        }
        let project = projects.entry(session.project.key()).or_insert_with(|| ProjectOut {
            name: session.project.name.clone(),
            path: session.project.path.clone(),
            cost: Bill::default(),
            sessions: Vec::new(),
        });
        project.cost.add(&cost);
        project.sessions.push(SessionOut {
            session: session.id.clone(),
            short: all.short(session),
            title: session.title().0,
            updated: session.updated.map(Time),
            cost,
            prompts,
            files: by_file(&own).into_iter().map(|row| file(row, session)).collect(),
        });
    }
    let mut projects: Vec<ProjectOut> = projects.into_values().collect();
    for project in &mut projects {
        project.sessions.sort_by_key(|session| session.updated.map(|Time(at)| at));
    }
    let cost = projects.iter().map(|project| &project.cost).collect();
    Ok(Document {
        schema: "backstory.digest/1",
        since: period.since.map(Time),
        until: period.until.map(Time),
        cost,
        projects,
    })
}

/// Removes secrets from every text. This comes before any escaping, which would hide them.
fn redact(document: &mut Document, rules: &Rules) {
    let mut redactor = Redactor::new(rules);
    // The second pass also removes what only another text shows to be a secret.
    for _ in 0..2 {
        for project in &mut document.projects {
            let sessions = project.sessions.iter_mut().flat_map(|session| {
                let files = session.files.iter_mut().map(|file| &mut file.path);
                session.prompts.iter_mut().chain(files).chain([&mut session.title])
            });
            for text in sessions.chain([&mut project.name]) {
                *text = redactor.text(text).into_owned();
            }
        }
        redactor.learn();
    }
}

/// Returns a changed file, relative to the session's project.
fn file(row: FileRow, session: &Session) -> FileOut {
    let folder = session.project.path.as_deref().map(Path::new);
    let below = folder.and_then(|folder| Path::new(&row.path).strip_prefix(folder).ok());
    let path = below.map(|below| below.display().to_string());
    FileOut { path: path.unwrap_or(row.path), lines_added: row.lines.0, lines_removed: row.lines.1 }
}

/// The longest prompt, in columns; the rest of it is left out.
const PROMPT: usize = 120;

fn heading(ctx: &Context, document: &Document) -> String {
    let sessions: usize = document.projects.iter().map(|project| project.sessions.len()).sum();
    let mut parts = vec![
        plural(sessions as u64, "session", "sessions"),
        plural(document.projects.len() as u64, "project", "projects"),
    ];
    parts.extend(document.cost.short());
    let since = document.since.as_ref().map(|Time(at)| format!("since {}", date(*at, &ctx.zone)));
    let until = document.until.as_ref().map(|Time(at)| format!("until {}", date(*at, &ctx.zone)));
    let when: Vec<String> = since.into_iter().chain(until).collect();
    format!("{}: {}", capital(&when.join(" ")), parts.join(", "))
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn lines(file: &FileOut) -> String {
    match (file.lines_added, file.lines_removed) {
        (0, 0) => file.path.clone(),
        (added, removed) => format!("{} +{added} −{removed}", file.path),
    }
}

fn prompt(text: &str) -> String {
    cut(&one_line(text).collect::<String>(), PROMPT)
}

fn print(ctx: &Context, printer: &mut Printer, document: &Document) -> Result<()> {
    printer.line(Line::new().styled(style::HEADING, heading(ctx, document)))?;
    for project in &document.projects {
        printer.blank()?;
        let cost = project.cost.short().map(|cost| format!("  {cost}")).unwrap_or_default();
        let line = Line::new().styled(style::NAME.bold(), &project.name);
        printer.line(line.styled(style::DIM, cost))?;
        for session in &project.sessions {
            let cost = session.cost.short().map(|cost| format!("  {cost}")).unwrap_or_default();
            let line = Line::new()
                .text("  ")
                .styled(style::NAME, &session.short)
                .text(format!("  {}", session.title))
                .styled(style::DIM, cost)
                .hang("    ");
            printer.line(line)?;
            for text in &session.prompts {
                let line = Line::new().styled(style::YOU, "    › ").text(prompt(text));
                printer.line(line.hang("      "))?;
            }
            if !session.files.is_empty() {
                let files: Vec<String> = session.files.iter().map(lines).collect();
                let text = format!("    changed: {}", files.join(", "));
                printer.line(Line::new().styled(style::DIM, text).hang("      "))?;
            }
        }
    }
    Ok(())
}

/// Formats the digest as Markdown; text of sessions is escaped. Writing to a string cannot fail.
fn markdown(ctx: &Context, document: &Document) -> String {
    let text = |text: &str| {
        let line = one_line(text).collect::<String>();
        let mut out = String::with_capacity(line.len());
        for c in line.chars() {
            if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '!' | '&') {
                out.push('\\');
            }
            out.push(c);
        }
        out
    };
    let mut out = format!("# {}\n", text(&heading(ctx, document)));
    for project in &document.projects {
        let cost = project.cost.short().map(|cost| format!(" ({cost})")).unwrap_or_default();
        let _ = writeln!(out, "\n## {}{cost}", text(&project.name));
        for session in &project.sessions {
            let cost = session.cost.short().map(|cost| format!(" ({cost})")).unwrap_or_default();
            let _ = writeln!(out, "\n- **{}**{cost}", text(&session.title));
            for typed in &session.prompts {
                let _ = writeln!(out, "  - asked: {}", text(&prompt(typed)));
            }
            if !session.files.is_empty() {
                let files: Vec<String> =
                    session.files.iter().map(|file| text(&lines(file))).collect();
                let _ = writeln!(out, "  - changed: {}", files.join(", "));
            }
        }
    }
    out
}
