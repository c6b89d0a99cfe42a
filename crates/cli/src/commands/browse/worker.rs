//! Loads all sessions and answers the questions of the screen from the archive, on a thread of its own.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use backstory_core::archive::{ArchiveError, Order};
use backstory_core::content::View;
use backstory_core::doctor::{Report, Survey};
use backstory_core::model::{MessageId, SessionId};
use backstory_core::number::plural;
use backstory_core::query::usage::{self, Costs, Group, Question, Sum};
use backstory_core::search::{Finder, Query, corrected};
use backstory_core::time::Period as Time;
use jiff::ToSpan;
use jiff::civil::Date;

use super::Event;
use super::ask::{Answer, Ask, Bar, HitRow, Notice, Period};
use super::page::Page;
use super::rows::{InText, Row};
use crate::commands::serve::WebApp;
use crate::commands::{export, name, search};
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::library::{Library, cannot_open};

/// The messages of a preview.
const PREVIEW: usize = 60;

/// The maximum number of hits of a search: a few screens of them. The text of each is read for its snippet, which takes most of the time.
const HITS: usize = 60;

/// The maximum number of hits among which the one with a message is looked for when a session is opened.
const BEST: usize = 10;

/// The time for capturing after each sync.
const CAPTURE: Duration = Duration::from_secs(2);

/// Returns the rows of a library that has only a few sessions.
pub(super) fn first_rows(library: &Library) -> Result<Vec<Row>> {
    let costs = library.reports().costs_of(&library.all.sessions).map_err(cannot_open)?;
    Ok(rows(library, &costs))
}

/// Returns the rows of all sessions.
fn all_rows(library: &Library) -> Result<Vec<Row>> {
    Ok(rows(library, &library.costs()?))
}

fn rows(library: &Library, costs: &Costs) -> Vec<Row> {
    let agents = library.archive.agents();
    let row = |session: &&backstory_core::Session| {
        let agent = agents.get(&session.agent).map_or(session.agent.as_str(), |agent| agent.name());
        Row::new(&library.all, session, costs, agent)
    };
    library.all.listed().iter().map(row).collect()
}

/// Answers questions until the screen is gone.
pub(super) fn run(
    ctx: &Context,
    mut library: Library,
    questions: &Receiver<Ask>,
    answers: &Sender<Event>,
) {
    let mut web_app = None;
    let loaded = library.load_all(ctx).and_then(|()| all_rows(&library));
    let loaded = loaded.map_or_else(|failure| Answer::Failed(failure.line()), Answer::Loaded);
    if answers.send(Event::Answer(loaded)).is_err() {
        return;
    }
    while let Ok(first) = questions.recv() {
        let mut asks = vec![first];
        asks.extend(questions.try_iter());
        for ask in newest(asks) {
            let answer = answer(ctx, &mut library, &mut web_app, ask);
            let answer = answer.unwrap_or_else(|failure| Some(Answer::Failed(failure.line())));
            if let Some(answer) = answer
                && answers.send(Event::Answer(answer)).is_err()
            {
                return;
            }
        }
    }
}

/// Keeps the newest question of each kind that only concerns the screen, quick ones first.
fn newest(asks: Vec<Ask>) -> Vec<Ask> {
    let mut out: Vec<Ask> = Vec::new();
    for ask in asks {
        let is_change = matches!(ask, Ask::Name { .. } | Ask::Tags { .. } | Ask::Export { .. });
        if !is_change {
            out.retain(|other| std::mem::discriminant(other) != std::mem::discriminant(&ask));
        }
        out.push(ask);
    }
    out.sort_by_key(|ask| match ask {
        Ask::Refresh => 2,
        Ask::Attention | Ask::Usage(_) => 1,
        _ => 0,
    });
    out
}

fn answer(
    ctx: &Context,
    library: &mut Library,
    web_app: &mut Option<WebApp>,
    ask: Ask,
) -> Result<Option<Answer>> {
    Ok(Some(match ask {
        Ask::Refresh => {
            refresh(ctx, library).map_err(cannot_open)?;
            Answer::Rows(all_rows(library)?)
        }
        Ask::Preview { id, width, words } => {
            let mut facts = library.assembled(&id)?;
            let place = match words {
                Some(words) => best_message(ctx, library, &id, &words)?,
                None => None,
            };
            let start =
                facts.messages.iter().position(|entry| Some(&entry.facts.id) == place.as_ref());
            facts.messages.drain(..start.unwrap_or(0));
            facts.messages.truncate(PREVIEW);
            let messages = library.messages(ctx, &facts, View::Full)?;
            let folder = facts.session.project.path.as_deref();
            Answer::Preview { page: Page::new(&messages, folder, width, &library.prices), id }
        }
        Ask::Page { id, width } => {
            let facts = library.assembled(&id)?;
            let messages = library.messages(ctx, &facts, View::Full)?;
            let folder = facts.session.project.path.as_deref();
            Answer::Page { page: Page::new(&messages, folder, width, &library.prices), id }
        }
        Ask::Place { id, words } => match best_message(ctx, library, &id, &words)? {
            Some(message) => Answer::Place { id, words, message },
            None => return Ok(None),
        },
        Ask::InText(words) => {
            let Some(query) = query(ctx, &words) else { return Ok(None) };
            let found =
                library.archive.matches(&query, &library.all.sessions, Order::Date, &|_| true);
            let found = found.map_err(cannot_open)?;
            let of =
                |session: &backstory_core::Session| SessionId::from(library.all.main_of(session));
            let sessions = found.iter().map(|hit| of(hit.session)).collect();
            let meant = meant(library, &words, found.is_empty(), &query)?;
            Answer::InText { words, found: InText { sessions, meant } }
        }
        Ask::Hits(words) => hits(ctx, library, words)?,
        Ask::Usage(period) => usage(ctx, library, period)?,
        Ask::Behind { period, key, label } => {
            let bars = behind(ctx, library, period, &key)?;
            let calling: u64 = bars.values().map(|sum| sum.sessions).sum();
            let subagents = calling.saturating_sub(bars.len() as u64);
            let costs = bars.into_iter().map(|(id, sum)| (id, sum.bill)).collect();
            Answer::Behind { label, costs, subagents }
        }
        Ask::Attention => Answer::Attention(notices(ctx, library)?),
        Ask::Name { id, name } => {
            check_writable(library)?;
            if let Some(name) = &name {
                name::check_free(&library.all, &id, name)?;
            }
            library.archive.set_name(&id, name.as_deref(), ctx.clock()).map_err(cannot_open)?;
            let short = short(library, &id);
            Answer::Done(match name {
                Some(name) => format!("`{short}` is called `{name}` now; `u` goes one change back"),
                None => format!("`{short}` has no name now; `u` goes one change back"),
            })
        }
        Ask::Tags { id, tags } => {
            check_writable(library)?;
            let tags = name::check_tags(&tags)?;
            let before = library.all.get(&id).map(|session| session.tags.clone());
            for old in before.unwrap_or_default() {
                if !tags.contains(&old.as_str()) {
                    library.archive.remove_tag(&id, &old, ctx.clock()).map_err(cannot_open)?;
                }
            }
            for tag in &tags {
                library.archive.add_tag(&id, tag, ctx.clock()).map_err(cannot_open)?;
            }
            let short = short(library, &id);
            Answer::Done(match tags.join(", ").as_str() {
                "" => format!("`{short}` has no tags now; `u` goes one change back"),
                tags => format!("the tags of `{short}`: {tags}; `u` goes one change back"),
            })
        }
        Ask::Export { id, path } => {
            let facts = library.assembled(&id)?;
            export::to_file(ctx, library, &facts, Path::new(&path))?;
            Answer::Done(format!("exported to `{path}`, redacted"))
        }
        Ask::Web(id) => open_in_web_app(ctx, library, web_app, &id)?,
    }))
}

/// Opens a session in the web app, which is started when it is first needed.
fn open_in_web_app(
    ctx: &Context,
    library: &Library,
    running: &mut Option<WebApp>,
    id: &str,
) -> Result<Answer> {
    let session = library.all.get(id);
    let session = session.ok_or_else(|| Failure::nothing("the session no longer exists"))?;
    let app = match running.take_if(WebApp::is_running) {
        Some(app) => running.insert(app),
        None => running.insert(WebApp::start(ctx)?),
    };
    let (address, is_open) = app.open(session);
    Ok(Answer::Web { address, is_open })
}

/// Returns the short id of a session.
fn short(library: &Library, id: &str) -> String {
    library.all.get(id).map_or_else(|| id.to_owned(), |session| library.all.short(session))
}

fn check_writable(library: &Library) -> Result<()> {
    if library.archive.is_read_only() {
        return Err(Failure::new("the archive cannot be written"));
    }
    Ok(())
}

/// Reads changed files, brings the text index up to date, and captures for a moment.
fn refresh(ctx: &Context, library: &mut Library) -> std::result::Result<(), ArchiveError> {
    if library.archive.is_read_only() || ctx.no_sync {
        return Ok(());
    }
    library.refresh(ctx, ctx.discover(), &|_| {})?;
    library.archive.index(&|| {})?;
    if ctx.auto_capture && library.archive.path().is_some() {
        library.archive.capture(&[], Some(Instant::now() + CAPTURE), &|_| {})?;
    }
    Ok(())
}

/// Parses words that are still being typed: the last one may be the beginning of a word.
fn query(ctx: &Context, words: &str) -> Option<Query> {
    let now = ctx.now.to_zoned(ctx.zone.clone());
    let open = words.ends_with(char::is_alphanumeric).then(|| format!("{words}*"));
    let query = open.and_then(|open| Query::parse(&open, &now).ok());
    query.or_else(|| Query::parse(words, &now).ok()).filter(|query| query.words.is_some())
}

fn hits(ctx: &Context, library: &Library, words: String) -> Result<Answer> {
    let start = Instant::now();
    let Some(query) = query(ctx, &words) else {
        return Ok(Answer::Hits { words, hits: Vec::new(), total: 0, took_ms: 0, meant: None });
    };
    let found =
        library.archive.matches(&query, &library.all.sessions, Order::Relevance, &|session| {
            query.filters.takes_session(session)
        });
    let found = found.map_err(cannot_open)?;
    let finder = Finder::Words(&query);
    let hits = search::read(library, &query, &finder, &found[..found.len().min(HITS)])?;
    let row = |hit: search::Hit<'_>| HitRow {
        session: hit.session.id.clone(),
        listed: library.all.main_of(hit.session).into(),
        message: hit.message,
        field: hit.field.name(),
        snippet: hit.snippet,
    };
    let hits = hits.into_iter().map(row).collect();
    let (total, took_ms) = (found.len(), start.elapsed().as_millis());
    let meant = meant(library, &words, found.is_empty(), &query)?;
    Ok(Answer::Hits { words, hits, total, took_ms, meant })
}

/// Returns the words with similar ones that occur in place of those that were not found.
fn meant(library: &Library, words: &str, is_empty: bool, query: &Query) -> Result<Option<String>> {
    if !is_empty {
        return Ok(None);
    }
    let missing = library.archive.missing_terms(query).map_err(cannot_open)?;
    Ok(corrected(words, &missing))
}

/// Returns the message of a session that matches some words best.
fn best_message(
    ctx: &Context,
    library: &Library,
    id: &str,
    words: &str,
) -> Result<Option<MessageId>> {
    let Some(query) = query(ctx, words) else { return Ok(None) };
    let is_it = |session: &backstory_core::Session| session.id == id;
    let sessions = &library.all.sessions;
    let found = library.archive.matches(&query, sessions, Order::Relevance, &is_it);
    let found = found.map_err(cannot_open)?;
    let finder = Finder::Words(&query);
    let hits = search::read(library, &query, &finder, &found[..found.len().min(BEST)])?;
    Ok(hits.into_iter().find_map(|hit| hit.message))
}

/// Returns the time that a period covers.
fn time(ctx: &Context, period: Period) -> Time {
    let today = ctx.clock().to_zoned(ctx.zone.clone()).date();
    let since = period.days.and_then(|days| today.checked_sub((days - 1).days()).ok());
    Time { since: since.and_then(|day| start(ctx, day)), until: None }
}

fn start(ctx: &Context, day: Date) -> Option<jiff::Timestamp> {
    day.to_zoned(ctx.zone.clone()).ok().map(|time| time.timestamp())
}

fn usage(ctx: &Context, library: &Library, period: Period) -> Result<Answer> {
    let question = Question { period: time(ctx, period), ..Question::new(period.group) };
    let answer = library.reports().usage(&question);
    let answer = answer.map_err(cannot_open)?;
    let mut bars: Vec<Bar> = answer
        .rows
        .into_iter()
        .map(|row| Bar {
            label: label(library, period.group, &row.key),
            key: row.key,
            sum: row.sum,
        })
        .collect();
    if period.group == Group::Daily {
        bars.reverse();
    } else {
        bars.sort_by_key(|bar| std::cmp::Reverse((bar.sum.bill.usd, bar.sum.usage.total())));
    }
    Ok(Answer::Usage { period, bars, total: answer.total })
}

/// Returns the name of a bar for people.
fn label(library: &Library, group: Group, key: &str) -> String {
    match group {
        Group::Daily => key
            .parse::<Date>()
            .map_or_else(|_| key.to_owned(), |day| day.strftime("%a %d %b %Y").to_string()),
        Group::Project => {
            let of = |s: &&backstory_core::Session| s.project.key() == key;
            let session = library.all.sessions.iter().find(of);
            session.map_or_else(|| key.to_owned(), |session| session.project.name.clone())
        }
        Group::Agent => {
            let known = library.archive.agents().iter().find(|agent| agent.id().as_str() == key);
            known.map_or(key, |agent| agent.name()).to_owned()
        }
        _ => key.to_owned(),
    }
}

/// Returns the sessions whose calls a bar adds up, each with its part and that of its subagents.
fn behind(
    ctx: &Context,
    library: &Library,
    period: Period,
    key: &str,
) -> Result<HashMap<SessionId, Sum>> {
    let mut question = Question::new(Group::Session);
    question.rollup = true;
    question.breakdown = period.group == Group::Model;
    question.period = time(ctx, period);
    let day = key.parse::<Date>().ok().filter(|_| period.group == Group::Daily);
    if let Some(day) = day {
        let next = day.tomorrow().ok().and_then(|day| start(ctx, day));
        question.period = Time { since: start(ctx, day), until: next };
    }
    let is_it = |session: &&backstory_core::Session| match period.group {
        Group::Project => session.project.key() == key,
        Group::Agent => session.agent.as_str() == key,
        _ => true,
    };
    let sessions = library.all.sessions.iter().filter(is_it);
    question.sessions = Some(sessions.map(|session| session.id.clone()).collect());
    let answer = library.reports().usage(&question);
    let part = |row: usage::Row| match period.group {
        Group::Model => row.models.into_iter().find(|part| part.key == key).map(|part| part.sum),
        _ => Some(row.sum),
    };
    let rows = answer.map_err(cannot_open)?.rows.into_iter();
    Ok(rows.filter_map(|row| Some((row.key.clone().into(), part(row)?))).collect())
}

/// Collects what the user should know.
fn notices(ctx: &Context, library: &Library) -> Result<Vec<Notice>> {
    let survey = Survey::new(&library.archive, &library.all).map_err(cannot_open)?;
    let report = Report::new(&survey, &ctx.env, ctx.clock());
    let mut out = Vec::new();
    if report.fault_count > 0 {
        let records = plural(report.fault_count, "record", "records");
        let files = plural(survey.faulty_files() as u64, "file", "files");
        out.push(Notice {
            text: format!("{records} in {files} could not be read"),
            deletion: None,
            session: None,
            command: Some(ctx.follow_up.command("doctor --verbose")),
        });
    }
    for problem in &report.problems {
        let path = ctx.show(Path::new(&problem.path));
        out.push(Notice {
            text: format!("{path}: {}", problem.what),
            deletion: None,
            session: None,
            command: Some(ctx.follow_up.command("doctor")),
        });
    }
    for deletion in report.deletions.iter().filter(|deletion| deletion.resumable) {
        let session = deletion.session.as_deref().and_then(|id| library.all.get(id));
        let title = session.map_or_else(|| deletion.file.clone(), |session| session.title().0);
        let when = match deletion.at {
            Some(at) => format!("deleted after {}", backstory_core::number::date(at, &ctx.zone)),
            None => "deleted at next start".to_owned(),
        };
        out.push(Notice {
            text: title,
            deletion: Some((when, deletion.kept)),
            session: session.map(|session| session.id.clone()),
            command: (!deletion.kept).then(|| ctx.follow_up.command("sync")),
        });
    }
    Ok(out)
}
