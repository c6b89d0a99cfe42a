//! Search in all text: as a page of its own, and as a part of it while the reader types.

use std::borrow::Cow;
use std::time::Instant;

use backstory_core::archive::{Match, Order};
use backstory_core::number::{count, date, plural};
use backstory_core::query::hits::{Hit, HitReader};
use backstory_core::search::{Bit, Finder, Query as Words, Where, corrected};
use maud::{Markup, html};

use crate::app::Ask;
use crate::layout::{Frame, frame, nothing, ticked};
use crate::reply::{Problem, Reply};
use crate::scope::Scope;
use crate::words::{session_path, title};

/// The sessions of a page, and the hits shown of each.
const SESSIONS: usize = 10;
const HITS: usize = 3;

/// The number of letters from which a word that is being typed is the beginning of others. Very many words begin with
/// fewer, and finding all of them would say little.
const BEGINNING: usize = 3;

/// The parts of messages to search in: the value in the address, and its name.
const PLACES: [(Where, &str); 8] = [
    (Where::Prompt, "prompts"),
    (Where::Reply, "answers"),
    (Where::Thought, "thoughts"),
    (Where::Tool, "tool input"),
    (Where::Output, "tool output"),
    (Where::Reference, "attached files"),
    (Where::Summary, "summaries"),
    (Where::Name, "names"),
];

pub(crate) fn search(ask: &Ask<'_>) -> Result<Reply, Problem> {
    let scope = ask.scope_of_search()?;
    let text = ask.query.get("q").unwrap_or_default().trim();
    let results = html! { div id="results" { (results(ask, &scope, text)?) } };
    if ask.query.get("part").is_some() {
        return Ok(Reply::Html(results));
    }
    let places: Vec<&str> = ask.query.all("where").collect();
    let is_on = |place: Where| {
        if places.is_empty() { place != Where::Output } else { places.contains(&place.name()) }
    };
    let body = html! {
        h1.sr { "Search" }
        form.ask role="search" action="/search" data-search {
            @for (name, value) in scope.query.pairs() { input type="hidden" name=(name) value=(value); }
            input id="q" type="search" name="q" value=(text) placeholder="Words, \"a phrase\", prefix*, -without, tool:Bash, since:7d" aria-label="Search all sessions" autocomplete="off" autofocus[text.is_empty()];
            div.row {
                fieldset {
                    legend.sr { "Search in" }
                    @for (place, name) in PLACES {
                        label { input type="checkbox" name="where" value=(place.name()) checked[is_on(place)]; " " (name) }
                    }
                }
                label.order { "Order "
                    select name="sort" {
                        option value="relevance" { "relevance" }
                        option value="date" selected[ask.query.get("sort") == Some("date")] { "newest" }
                    }
                }
                noscript { button { "Search" } }
            }
        }
        (results)
    };
    let name = if text.is_empty() { "Search".to_owned() } else { format!("{text} · Search") };
    let page = Frame {
        title: &name,
        section: "/search",
        scope: Some(&scope),
        class: "search",
        script: None,
        body,
    };
    Ok(frame(ask, page))
}

/// The maximum number of characters of a query. Thousands of words could keep the archive busy for minutes.
pub(crate) const LONGEST: usize = 500;

/// Returns the query of a text, unless it is too long.
pub(super) fn query(ask: &Ask<'_>, text: &str) -> Result<Words, Problem> {
    if text.chars().count() > LONGEST {
        return Err(Problem::invalid(format!("It is longer than {LONGEST} characters.")));
    }
    Words::parse(text, &ask.zoned()).map_err(|error| Problem::invalid(error.what))
}

/// Returns the query of a text, and the text itself.
fn parse<'a>(ask: &Ask<'_>, text: &'a str) -> Result<(Words, Cow<'a, str>), Problem> {
    if ask.query.get("part") == Some("typing") {
        let open = unfinished(text);
        if let Ok(found) = query(ask, &open) {
            return Ok((found, open));
        }
    }
    Ok((query(ask, text)?, text.into()))
}

/// Returns what to search for while a text is being typed: its last word may be the beginning of one. A word of one or
/// two letters is left out, unless it is the only one.
fn unfinished(text: &str) -> Cow<'_, str> {
    if !text.ends_with(char::is_alphanumeric) {
        return text.into();
    }
    let (before, word) = text.rsplit_once(char::is_whitespace).unwrap_or(("", text));
    let letters = word.chars().rev().take_while(|c| c.is_alphanumeric()).count();
    if letters >= BEGINNING || !word.is_ascii() || word.contains(':') {
        return format!("{text}*").into();
    }
    let before = before.trim_end();
    if before.is_empty() { text.into() } else { before.into() }
}

fn results(ask: &Ask<'_>, scope: &Scope, text: &str) -> Result<Markup, Problem> {
    if text.is_empty() {
        return Ok(help());
    }
    let start = Instant::now();
    let (mut query, searched) = match parse(ask, text) {
        Ok(parsed) => parsed,
        Err(problem) => return Ok(nothing("This cannot be searched for.", &ticked(&problem.what))),
    };
    let now = ask.zoned();
    let places: Vec<&str> = ask.query.all("where").filter(|place| !place.is_empty()).collect();
    for place in &places {
        query.filters.add("where", place, false, &now).map_err(Problem::invalid)?;
    }
    if places.is_empty() && query.filters.fields().len() == Where::ALL.len() {
        // Mostly copies of files.
        query.filters.add("where", Where::Output.name(), true, &now).map_err(Problem::invalid)?;
    }
    query.filters.period.since = scope.period.since.or(query.filters.period.since);
    query.filters.period.until = scope.period.until.or(query.filters.period.until);
    if query.words.is_none()
        && query.filters.sessions().next().is_none()
        && !query.filters.asks_messages()
    {
        return Ok(help());
    }
    let order = if ask.query.get("sort") == Some("date") { Order::Date } else { Order::Relevance };
    let filter = scope.filter();
    let takes = |session: &backstory_core::Session| {
        filter.takes_owner(session) && query.filters.takes_session(session)
    };
    let found = ask.archive.matches(&query, &ask.all().sessions, order, &takes)?;
    let page: usize = ask.query.get("page").and_then(|page| page.parse().ok()).unwrap_or(1).max(1);
    let groups = group(&found);
    let shown: Vec<&(Vec<Match<'_>>, usize)> =
        groups.iter().skip((page - 1).saturating_mul(SESSIONS)).take(SESSIONS).collect();
    let chosen: Vec<Match<'_>> = shown.iter().flat_map(|(hits, _)| hits.iter().copied()).collect();
    let finder = Finder::Words(&query);
    let reader = HitReader::new(ask.archive, &query, &finder, 0);
    let hits = reader.matches(&chosen)?;
    let more = groups.len() > page.saturating_mul(SESSIONS);
    // Further pages are of the same query, even if its last word is not finished.
    let base = ask.query.with("part", None).with("q", Some(&searched));
    let next = base.with("page", Some(&(page + 1).to_string())).address("/search");
    let said: Vec<&str> = query.terms().iter().map(|term| term.text.as_str()).collect();
    let links = Links { all: &searched, find: &said.join(" ") };
    let took = start.elapsed().as_millis();
    Ok(html! {
        p.sum role="status" data-took=(took) {
            (plural(found.len() as u64, "hit", "hits")) " in " (plural(groups.len() as u64, "session", "sessions"))
            @if text.starts_with(&*searched) && text != searched { " for “" (searched) "”" }
            ", " (scope.label) " · " (took) " ms"
        }
        @if found.is_empty() { (none(ask, scope, &query, text)?) }
        @for part in hits.chunk_by(|a, b| a.session.id == b.session.id) {
            (session(ask, part, shown.iter().find(|(hits, _)| hits[0].session.id == part[0].session.id).map_or(0, |(_, total)| *total), &links))
        }
        @if more { p.next { a href=(next) rel="next" data-more { "More sessions" } } }
    })
}

/// Groups hits by session, in the order of the best hit of each: the first few hits, and their number.
fn group<'a>(found: &[Match<'a>]) -> Vec<(Vec<Match<'a>>, usize)> {
    let mut places = std::collections::HashMap::new();
    let mut groups: Vec<(Vec<Match<'a>>, usize)> = Vec::new();
    for hit in found {
        let place = *places.entry(hit.session.id.as_str()).or_insert_with(|| {
            groups.push((Vec::new(), 0));
            groups.len() - 1
        });
        groups[place].1 += 1;
        if groups[place].0.len() < HITS {
            groups[place].0.push(*hit);
        }
    }
    groups
}

/// What the links of hits lead to.
struct Links<'a> {
    /// The query, for all hits of a session.
    all: &'a str,
    /// The words to mark in the session.
    find: &'a str,
}

/// Shows the hits of one session.
fn session(ask: &Ask<'_>, hits: &[Hit<'_>], total: usize, links: &Links<'_>) -> Markup {
    let session = hits[0].session;
    let query = crate::query::Query::default();
    let link = |hit: &Hit<'_>| {
        let query = query.with("message", hit.message.as_deref()).with("find", Some(links.find));
        query.address(&session_path(session))
    };
    let all = ask
        .query
        .with("part", None)
        .with("page", None)
        .with("q", Some(&format!("{} session:{}", links.all, session.id)));
    html! {
        section.hits data-row {
            h2 { a href=(session_path(session)) { (title(session)) } }
            p.facts {
                span { (session.project.name) }
                span { (ask.agent_name(session.agent.as_str())) }
                @if let Some(at) = session.updated { span { (date(at, &ask.app.site.zone)) } }
                @if total > hits.len() { span { a href=(all.address("/search")) { "all " (count(total as u64)) " hits" } } }
            }
            ul {
                @for hit in hits {
                    li {
                        a href=(link(hit)) {
                            span.kind { (place_name(hit.field)) }
                            span.snippet { @if hit.fate != "kept" { mark { (hit.fate) } " " } (snippet(&hit.snippet)) }
                        }
                    }
                }
            }
        }
    }
}

fn place_name(place: Where) -> &'static str {
    match place {
        Where::Prompt => "prompt",
        Where::Reply => "answer",
        Where::Thought => "thought",
        Where::Tool => "tool",
        Where::Output => "output",
        Where::Reference => "file",
        Where::Summary => "summary",
        Where::Name => "name",
    }
}

fn snippet(bits: &[Bit]) -> Markup {
    html! {
        @if bits.is_empty() { em { "its text cannot be read any more" } }
        @for (text, is_match) in bits { @if *is_match { mark.found { (text) } } @else { (text) } }
    }
}

/// Explains an empty result, and offers to lift what excludes hits.
fn none(ask: &Ask<'_>, scope: &Scope, query: &Words, text: &str) -> Result<Markup, Problem> {
    let missing = ask.archive.missing_terms(query)?;
    let words: Vec<String> = missing.iter().map(|term| format!("`{}`", term.text)).collect();
    let meant = corrected(text, &missing);
    let base = ask.query.with("part", None).with("page", None);
    let every = Where::ALL
        .iter()
        .fold(base.with("where", None), |query, place| query.and("where", place.name()));
    Ok(nothing(
        &format!("Nothing found for “{text}”."),
        &html! {
            @if let Some(meant) = &meant { "Did you mean " a href=(base.with("q", Some(meant)).address("/search")) { (meant) } "? " }
            @else if !words.is_empty() { "No session contains " (ticked(&words.join(" or "))) ". " }
            @else {
                @if ask.query.all("where").next().is_none() { a href=(every.address("/search")) { "Search tool output too" } " " }
                @if !scope.period.is_everything() { a href=(base.with("since", None).with("until", None).with("period", Some("all")).address("/search")) { "Search all time" } " " }
                @for name in ["agent", "project"] {
                    @if let Some(value) = ask.query.get(name) { a href=(base.with(name, None).address("/search")) { "Without “" (value) "”" } " " }
                }
            }
        },
    ))
}

fn help() -> Markup {
    let rows = [
        ("parser error", "messages with both words"),
        ("\"parser error\"", "the phrase"),
        ("pars* -test", "a beginning, but not a word"),
        ("json OR toml", "either word"),
        ("tool:Bash cargo", "in calls of a tool"),
        ("kind:prompt since:7d deploy", "in prompts of the last 7 days"),
    ];
    html! {
        div.help {
            p { "Search every prompt, answer, thought and tool call, even of sessions that were deleted." }
            dl { @for (query, what) in rows { dt { a href=(crate::query::Query::default().with("q", Some(query)).address("/search")) { code { (query) } } } dd { (what) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_being_typed_is_a_beginning() {
        for (typed, searched) in [
            ("parser", "parser*"),
            ("parser ", "parser "),
            ("parser e", "parser"),
            ("parser  er", "parser"),
            ("parser err", "parser err*"),
            ("parser -er", "parser"),
            ("go", "go"),
            ("日", "日*"),
            ("cargo tool:B", "cargo tool:B*"),
            ("\"a phrase\"", "\"a phrase\""),
        ] {
            assert_eq!(unfinished(typed), searched, "{typed}");
        }
    }
}
