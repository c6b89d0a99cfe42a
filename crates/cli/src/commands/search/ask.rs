//! Turns flags and words into a query.

use backstory_core::collection::LookupError;
use backstory_core::model::{Session, SessionId};
use backstory_core::query::Filter;
use backstory_core::search::{Query, QueryError, corrected};
use clap::builder::PossibleValuesParser;
use regex::Regex;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::filters::Filters;
use crate::library::{Library, cannot_open};

/// The conditions on messages.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Ask {
    /// Only messages that called this tool: its name, `Bash`, `file_edit` (repeatable)
    #[arg(long, value_name = "NAME")]
    tool: Vec<String>,

    /// Only messages with this role
    #[arg(long, value_name = "ROLE", value_delimiter = ',', value_parser = PossibleValuesParser::new(["user", "assistant", "tool", "system"]))]
    role: Vec<String>,

    /// Only messages of this kind (`prompt`, `reply`, `error`, …) or of sessions of this kind (`subagent`, …)
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<String>,

    /// Only in this part of a message
    #[arg(long = "where", value_name = "WHERE", value_delimiter = ',', value_parser = PossibleValuesParser::new(["prompt", "reference", "reply", "thought", "tool", "output", "summary", "name"]))]
    field: Vec<String>,

    /// Only this session (repeatable)
    #[arg(long, value_name = "SESSION")]
    session: Vec<String>,

    /// Only messages with this fate
    #[arg(long, value_name = "FATE", value_delimiter = ',', value_parser = PossibleValuesParser::new(["kept", "rewound", "compressed", "failed", "interrupted", "superseded"]))]
    fate: Vec<String>,
}

impl Ask {
    /// Combines the words and the flags into one query.
    pub(crate) fn query(&self, ctx: &Context, text: &str, filters: &Filters) -> Result<Query> {
        let now = ctx.now.to_zoned(ctx.zone.clone());
        let mut query = Query::parse(text, &now).map_err(|error| unclear(text, &error))?;
        let period = filters.period(ctx)?;
        for (key, values) in [
            ("tool", self.tool.as_slice()),
            ("role", &self.role),
            ("kind", &self.kind),
            ("where", &self.field),
            ("session", &self.session),
            ("fate", &self.fate),
            ("model", filters.models()),
        ] {
            for value in values {
                let bad = |what| Failure::new(format!("`--{key} {value}`")).because(what);
                query.filters.add(key, value, false, &now).map_err(|what: String| bad(what))?;
            }
        }
        query.filters.period.since = period.since.or(query.filters.period.since);
        query.filters.period.until = period.until.or(query.filters.period.until);
        Ok(query)
    }
}

/// Returns a filter for sessions.
pub(super) fn sessions<'a>(
    library: &Library,
    query: &'a Query,
    filter: &Filter,
) -> Result<impl Fn(&Session) -> bool + use<'a>> {
    let mut named: Vec<(SessionId, bool)> = Vec::new();
    for condition in query.filters.sessions() {
        let session = library.all.find(&condition.value).map_err(|error| match error {
            LookupError::Several { wanted, candidates } => {
                super::super::ambiguous(&library.all, &wanted, &candidates)
            }
            none @ LookupError::None(_) => {
                Failure::nothing(none.to_string()).hint("`backstory sessions` lists them")
            }
        })?;
        named.push((session.id.clone(), condition.negated));
    }
    let filter = filter.clone();
    Ok(move |session: &Session| {
        let is = |negated: bool| named.iter().any(|(id, not)| *not == negated && *id == session.id);
        let wanted = named.iter().all(|(_, negated)| *negated) || is(false);
        wanted && !is(true) && filter.takes_owner(session) && query.filters.takes_session(session)
    })
}

/// Describes an error in the query, with a marker below its position.
pub(super) fn unclear(text: &str, error: &QueryError) -> Failure {
    Failure::new(&error.what)
        .at(text, error.at.clone())
        .hint("`backstory search --help` explains queries")
}

pub(crate) fn pattern(text: &str, exact: bool) -> Result<Regex> {
    let escaped = if exact { regex::escape(text) } else { text.to_owned() };
    Regex::new(&escaped).map_err(|error| {
        Failure::new(format!("`{text}` is not a valid regular expression"))
            .because(error)
            .hint("`--exact` takes every character literally")
    })
}

/// Explains an empty result, and names the words that occur nowhere.
pub(super) fn nothing(
    ctx: &Context,
    library: &Library,
    query: &Query,
    text: &str,
    is_pattern: bool,
) -> Result<Failure> {
    if library.all.sessions.is_empty() {
        return Ok(super::super::empty(ctx, &library.all.found));
    }
    let mut failure = Failure::nothing(format!("nothing found for `{text}`"));
    if is_pattern {
        return Ok(failure);
    }
    let missing = library.archive.missing_terms(query).map_err(cannot_open)?;
    if let Some(corrected) = corrected(text, &missing) {
        failure = failure.hint(format!("did you mean `{corrected}`?"));
    }
    if !missing.is_empty() {
        let words: Vec<String> = missing.iter().map(|term| format!("`{}`", term.text)).collect();
        failure = failure.hint(format!("no session contains {}", words.join(" or ")));
    } else if !query.filters.is_empty() {
        failure = failure.hint("each word occurs, but not where the conditions allow it");
    } else if query.terms().len() > 1 {
        failure =
            failure.hint("each word occurs, but no message contains all of them; `OR` finds any");
    }
    Ok(failure.hint("`--exact` also searches the middle of long tool output"))
}
