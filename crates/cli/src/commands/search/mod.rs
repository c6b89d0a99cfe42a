mod ask;
mod page;

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use backstory_core::archive::{Match, Order};
use backstory_core::export::json::Time;
use backstory_core::model::{Session, SessionId};
use backstory_core::query::Filter;
use backstory_core::query::hits::HitReader;
use backstory_core::search::{Finder, Query};
use clap::ValueEnum;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::Filters;
use crate::last_search::{LastSearch, Place, Syntax};
use crate::library::{Library, cannot_open};
use crate::output::Printer;
use crate::output::number::plural;

pub(super) use ask::{Ask, pattern};
pub(super) use backstory_core::query::hits::Hit;

const EXAMPLES: &str = "\
Examples:
  backstory search cart price              messages with both words
  backstory search cart price --open       read the best hit at once
  backstory search '\"add a cart\" -draft'   a phrase, but not a word
  backstory search 'pars* (json OR toml)'  prefixes and alternatives
  backstory search 'parseHttpHeader where:tool since:30d'
  backstory search --project harbor --role user berth
  backstory search --exact 'Ok(())'        these characters, in all captured text
  backstory search cart --json | jq -r '.hits[].session'

Conditions, in the query or as flags: project: model: tool: role: kind: where: session: tag: since:
until: fate:. Case and accents of words do not matter; docs/search.md has the details.";

/// Search all sessions: prompts, replies, thoughts, tools and their output
///
/// A message matches if it contains every word, in any order. Hits are grouped by session, best match
/// first. Sessions whose files are gone are searched like any other.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Search {
    /// The query: words, "phrases", prefix*, -without, OR, (…), conditions
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    #[command(flatten)]
    ask: Ask,

    #[command(flatten)]
    filters: Filters,

    /// Search for the exact text, without the index
    #[arg(long, conflicts_with = "regex")]
    exact: bool,

    /// Search for a regular expression, in all text and without the index
    #[arg(long)]
    regex: bool,

    /// The sort order
    #[arg(long, value_enum, default_value = "relevance")]
    sort: Sort,

    /// Show N messages before and after each hit
    #[arg(long, short = 'C', value_name = "N", default_value_t = 0)]
    context: usize,

    /// Show at most N hits [default: 20; no limit with --json]
    #[arg(long, short = 'n', value_name = "N", value_parser = crate::filters::limit)]
    limit: Option<usize>,

    /// Skip the first N hits
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,

    /// Open the first hit at its place, like `backstory show`
    #[arg(long)]
    open: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Best match first, then newest
    Relevance,
    /// Newest first
    Date,
}

/// The number of hits per session that are shown to people.
const BEST: usize = 3;

/// `backstory.search/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    query: &'a str,
    total: usize,
    took_ms: u64,
    hits: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    session: &'a str,
    message: Option<&'a str>,
    at: Option<Time>,
    project: &'a str,
    role: &'a str,
    kind: &'a str,
    fate: &'a str,
    #[serde(rename = "where")]
    field: &'a str,
    snippet: &'a [(String, bool)],
    score: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    context: Vec<Neighbour<'a>>,
}

#[derive(Serialize)]
struct Neighbour<'a> {
    message: &'a str,
    role: &'a str,
    kind: &'a str,
    text: &'a str,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Search) -> Result<Exit> {
    super::require_given(ctx)?;
    let text = args.query.join(" ");
    let mut library = Library::open(ctx, printer, &args.filters.project)?;
    let start = Instant::now();
    let pattern = match (args.exact, args.regex) {
        (false, false) => None,
        (exact, _) => Some(ask::pattern(&text, exact)?),
    };
    if pattern.is_none() {
        library.index(ctx, printer)?;
    }
    let words = if pattern.is_some() { "" } else { &text };
    let query = args.ask.query(ctx, words, &args.filters)?;
    if pattern.is_none() && query.words.is_none() && query.filters.is_empty() {
        return Err(Failure::new(format!("there is no word in `{text}`"))
            .hint("`--exact` searches for any characters"));
    }
    let finder = pattern.as_ref().map_or(Finder::Words(&query), Finder::Pattern);
    let takes = ask::sessions(&library, &query, &args.filters.filter(ctx, &library.all)?)?;
    let read = HitReader::new(&library.archive, &query, &finder, args.context);
    let limit = args.limit.or((!ctx.json).then_some(20)).unwrap_or(usize::MAX);
    let order = if args.sort == Sort::Date { Order::Date } else { Order::Relevance };
    let slice = Slice { is_grouped: !ctx.json, offset: args.offset, limit };
    let Found { hits, total, by_session } = if pattern.is_some() {
        let found = scan(&library, &read, &takes, slice)?;
        library.warn_unread(printer);
        found
    } else {
        let found = look_up(&library, &read, &query, order, &takes, slice)?;
        if read.unread() > 0 {
            let hits = plural(read.unread(), "hit", "hits");
            printer.warn(format!(
                "the text of {hits} cannot be read; `backstory archive check` looks for damage"
            ));
        }
        found
    };
    let took_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    if let Some(first) = hits.first().filter(|_| args.open) {
        let found = last(&text, args, std::slice::from_ref(first)).first();
        drop(hits);
        drop(library);
        return found.map_or(Ok(Exit::NoMatch), |found| super::show::open_hit(ctx, printer, found));
    }
    if ctx.json {
        let hits = hits.iter().map(row).collect();
        printer.json(&Document {
            schema: "backstory.search/1",
            query: &text,
            total,
            took_ms,
            hits,
        })?;
        return Ok(if total == 0 { Exit::NoMatch } else { Exit::Success });
    }
    if total == 0 {
        let unknown = crate::here::unknown(&library.all, &args.filters.project);
        return Err(match unknown.filter(|_| !library.all.sessions.is_empty()) {
            Some(unknown) => unknown,
            None => ask::nothing(ctx, &library, &query, &text, pattern.is_some())?,
        });
    }
    let is_numbered = last(&text, args, &hits).remember(ctx);
    page::print(ctx, printer, &library.all, &hits, &by_session, is_numbered)?;
    page::note_total(printer, &hits, total, args.offset, pattern.is_some());
    page::next_step(printer, is_numbered);
    Ok(Exit::Success)
}

/// The hits to show, and the numbers of all.
struct Found<'a> {
    hits: Vec<Hit<'a>>,
    total: usize,
    by_session: HashMap<SessionId, usize>,
}

/// Searches all text for a pattern.
fn scan<'a>(
    library: &'a Library,
    read: &HitReader<'_>,
    takes: &dyn Fn(&Session) -> bool,
    slice: Slice,
) -> Result<Found<'a>> {
    let sessions: Vec<&Session> = library.all.sessions.iter().filter(|s| takes(s)).collect();
    let hits = read.scan(&sessions).map_err(cannot_open)?;
    let (total, by_session) = (hits.len(), count_by_session(hits.iter().map(|hit| hit.session)));
    let shown: HashSet<usize> =
        slice.choose(hits.iter().map(|hit| hit.session)).into_iter().collect();
    let hits = hits.into_iter().enumerate().filter(|(n, _)| shown.contains(n));
    Ok(Found { hits: hits.map(|(_, hit)| hit).collect(), total, by_session })
}

/// Looks up words in the index.
fn look_up<'a>(
    library: &'a Library,
    read: &HitReader<'_>,
    query: &Query,
    order: Order,
    takes: &dyn Fn(&Session) -> bool,
    slice: Slice,
) -> Result<Found<'a>> {
    let matches = library.archive.matches(query, &library.all.sessions, order, takes);
    let matches = matches.map_err(cannot_open)?;
    let chosen = slice.choose(matches.iter().map(|hit| hit.session));
    let chosen: Vec<Match<'_>> = chosen.into_iter().map(|n| matches[n]).collect();
    let hits = read.matches(&chosen).map_err(cannot_open)?;
    let by_session = count_by_session(matches.iter().map(|hit| hit.session));
    Ok(Found { hits, total: matches.len(), by_session })
}

/// Returns the search as it is remembered.
fn last(text: &str, args: &Search, hits: &[Hit<'_>]) -> LastSearch {
    let syntax = match (args.exact, args.regex) {
        (true, _) => Syntax::Exact,
        (_, true) => Syntax::Regex,
        _ => Syntax::Words,
    };
    let place =
        |hit: &Hit<'_>| Place { session: hit.session.id.clone(), message: hit.message.clone() };
    LastSearch { query: text.to_owned(), syntax, hits: hits.iter().map(place).collect() }
}

/// Returns the session with the best hit for some words.
pub(super) fn best_session(ctx: &Context, printer: &mut Printer, words: &str) -> Result<SessionId> {
    let mut library = Library::open(ctx, printer, &[])?;
    library.index(ctx, printer)?;
    let query = Ask::default().query(ctx, words, &Filters::default())?;
    let takes = ask::sessions(&library, &query, &Filter::default())?;
    let found = library
        .archive
        .matches(&query, &library.all.sessions, Order::Relevance, &takes)
        .map_err(cannot_open)?;
    match found.first() {
        Some(hit) => Ok(hit.session.id.clone()),
        None => Err(ask::nothing(ctx, &library, &query, words, false)?),
    }
}

/// Returns the ids of the sessions that contain some words.
pub(super) fn sessions_with(
    ctx: &Context,
    printer: &mut Printer,
    library: &mut Library,
    words: &str,
) -> Result<HashSet<SessionId>> {
    let query = Ask::default().query(ctx, words, &Filters::default())?;
    library.index(ctx, printer)?;
    let takes = ask::sessions(library, &query, &Filter::default())?;
    let found = library
        .archive
        .matches(&query, &library.all.sessions, Order::Date, &takes)
        .map_err(cannot_open)?;
    Ok(found.iter().map(|hit| hit.session.id.clone()).collect())
}

/// Reads the text of matches.
pub(super) fn read<'a>(
    library: &'a Library,
    query: &'a Query,
    finder: &'a Finder<'a>,
    found: &[Match<'a>],
) -> Result<Vec<Hit<'a>>> {
    HitReader::new(&library.archive, query, finder, 0).matches(found).map_err(cannot_open)
}

/// The hits to show.
#[derive(Debug, Clone, Copy)]
struct Slice {
    /// Whether the best hits of each session are grouped, in the order of the sessions.
    is_grouped: bool,
    offset: usize,
    limit: usize,
}

impl Slice {
    /// Chooses among hits, of which only the sessions matter, and returns their places.
    fn choose<'a>(self, sessions: impl Iterator<Item = &'a Session>) -> Vec<usize> {
        let Self { is_grouped, offset, limit } = self;
        if !is_grouped {
            return sessions.enumerate().map(|(n, _)| n).skip(offset).take(limit).collect();
        }
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (n, session) in sessions.enumerate() {
            let place = *places.entry(&session.id).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            if groups[place].len() < BEST {
                groups[place].push(n);
            }
        }
        groups.into_iter().flatten().skip(offset).take(limit).collect()
    }
}

/// Counts the hits of each session.
fn count_by_session<'a>(sessions: impl Iterator<Item = &'a Session>) -> HashMap<SessionId, usize> {
    let mut out: HashMap<SessionId, usize> = HashMap::new();
    for session in sessions {
        match out.get_mut(&session.id) {
            Some(count) => *count += 1,
            None => _ = out.insert(session.id.clone(), 1),
        }
    }
    out
}

fn row<'a>(hit: &'a Hit<'a>) -> Row<'a> {
    Row {
        session: &hit.session.id,
        message: hit.message.as_deref(),
        at: hit.at.map(Time),
        project: hit.session.project.key(),
        role: &hit.role,
        kind: &hit.kind,
        fate: &hit.fate,
        field: hit.field.name(),
        snippet: &hit.snippet,
        score: (hit.score * 1000.0).round() / 1000.0,
        context: hit
            .context
            .iter()
            .map(|message| Neighbour {
                message: &message.id,
                role: message.role.name(),
                kind: message.kind.name(),
                text: message.words(),
            })
            .collect(),
    }
}
