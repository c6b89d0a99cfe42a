//! The words that `--grep` marks.

use std::collections::HashSet;

use backstory_core::model::Message;
use backstory_core::search::{Extent, Fields, Finder, Query, Where};
use backstory_core::transcript::Options;

use crate::error::{Failure, Result};
use crate::output::{Line, style};

/// The matches of `--grep`.
pub(super) struct Marks<'a> {
    pub(super) finder: Finder<'a>,
    /// The ids of the matching messages.
    pub(super) messages: HashSet<String>,
}

impl<'a> Marks<'a> {
    /// The marker before a matching message.
    pub(super) const SIGN: &'static str = "▸";

    /// Finds the matching messages, and turns on the output that contains matches but is hidden by default.
    pub(super) fn new(
        query: &'a Query,
        messages: &[Message],
        options: &mut Options,
    ) -> Result<Self> {
        let finder = Finder::Words(query);
        let fields = query.filters.fields();
        let mut found = HashSet::new();
        for message in messages {
            let Some(places) = finder.find(&Fields::of(message, Extent::All), &fields) else {
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
        if found.is_empty() {
            return Err(Failure::nothing("nothing in this session matches")
                .hint("`backstory search` searches all sessions"));
        }
        Ok(Self { finder, messages: found })
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
