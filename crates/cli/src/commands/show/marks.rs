//! The words that `--grep` marks, or the hit of a search.

use std::collections::HashSet;

use backstory_core::model::{Message, MessageId};
use backstory_core::search::{Extent, Fields, Finder, Query, Where};
use backstory_core::transcript::Options;
use regex::Regex;

use crate::commands::search::{Ask, pattern};
use crate::context::Context;
use crate::error::{Failure, Result};
use crate::filters::Filters;
use crate::last_search::{Found, Syntax};
use crate::output::{Line, style};

/// The matches of `--grep`.
pub(super) struct Marks<'a> {
    pub(super) finder: Finder<'a>,
    /// The ids of the matching messages.
    pub(super) messages: HashSet<MessageId>,
}

impl<'a> Marks<'a> {
    /// The marker before a matching message.
    pub(super) const SIGN: &'static str = "▸";

    /// Finds the matching messages, and turns on the output that contains matches but is hidden by default.
    pub(super) fn new(
        finder: Finder<'a>,
        fields: &[Where],
        messages: &[Message],
        options: &mut Options,
    ) -> Self {
        let mut found = HashSet::new();
        for message in messages {
            let Some(places) = finder.find(&Fields::of(message, Extent::All), fields) else {
                continue;
            };
            found.insert(message.id.clone());
            for place in places {
                match place.field {
                    Where::Thought => options.thoughts = true,
                    Where::Output => options.tool_output = true,
                    Where::Reference | Where::Summary => options.info = true,
                    _ => options.info |= message.kind.is_notice(),
                }
            }
        }
        Self { finder, messages: found }
    }

    pub(super) fn mark(&self, mut line: Line, text: &str) -> Line {
        let mut at = 0;
        for mark in self.finder.marks(text) {
            line = line.text(&text[at..mark.start]).styled(style::FOUND, &text[mark.clone()]);
            at = mark.end;
        }
        line.text(&text[at..])
    }
}

/// The question whose matches are marked: that of `--grep`, or that of the search that found a hit.
#[derive(Default)]
pub(super) struct Wanted {
    query: Option<Query>,
    pattern: Option<Regex>,
    /// The only message to open, if the search named one.
    message: Option<MessageId>,
    /// Whether it is an error if nothing matches.
    must_match: bool,
}

impl Wanted {
    pub(super) fn new(ctx: &Context, grep: Option<&str>, hit: Option<Found>) -> Result<Self> {
        let parse = |words: &str| Ask::default().query(ctx, words, &Filters::default());
        if let Some(words) = grep {
            let query = Some(parse(words)?);
            return Ok(Self { query, must_match: true, ..Self::default() });
        }
        let Some(Found { query, syntax, place }) = hit else { return Ok(Self::default()) };
        let message = place.message;
        if syntax == Syntax::Words {
            return Ok(Self { query: Some(parse(&query)?), message, ..Self::default() });
        }
        let pattern = Some(pattern(&query, syntax == Syntax::Exact)?);
        Ok(Self { pattern, message, ..Self::default() })
    }

    /// Finds what to mark; none if nothing was asked for.
    pub(super) fn marks(
        &self,
        messages: &[Message],
        options: &mut Options,
    ) -> Result<Option<Marks<'_>>> {
        let finder = match (&self.pattern, &self.query) {
            (Some(pattern), _) => Finder::Pattern(pattern),
            (None, Some(query)) => Finder::Words(query),
            (None, None) => return Ok(None),
        };
        let fields = self.query.as_ref().map(|query| query.filters.fields());
        let fields = fields.unwrap_or_else(|| Where::ALL.to_vec());
        let mut marks = Marks::new(finder, &fields, messages, options);
        if let Some(message) = &self.message {
            marks.messages = HashSet::from([message.clone()]);
        } else if marks.messages.is_empty() && self.must_match {
            return Err(Failure::nothing("nothing in this session matches")
                .hint("`backstory search` searches all sessions"));
        }
        Ok(Some(marks))
    }
}
