//! Facts of a transcript that are computed before it is printed: the cost and length of turns, and subagents.

use std::collections::HashMap;

use backstory_core::model::{Message, MessageId, Session, SessionId};
use backstory_core::pricing::{Bill, Table};
use jiff::Timestamp;

use crate::error::Result;
use crate::library::Library;
use crate::output::number::{duration, plural};

#[derive(Default)]
pub(super) struct Extras {
    pub(super) cost: Bill,
    /// The cost and length of the turn that a prompt began, by its id.
    pub(super) turns: HashMap<MessageId, String>,
    /// A line about each subagent, by its id.
    pub(super) agents: HashMap<SessionId, String>,
    /// Lines about the subagents that are not linked to any call.
    pub(super) loose: Vec<SessionId>,
}

impl Extras {
    pub(super) fn new(library: &Library, session: &Session, messages: &[Message]) -> Result<Self> {
        let all = &library.all;
        let is_child = |other: &&Session| other.parent.as_ref() == Some(&session.id);
        let children: Vec<&Session> = all.sessions.iter().filter(is_child).collect();
        let shown: Vec<&Session> = children.iter().copied().chain([session]).collect();
        let costs = library.costs_of(&shown)?;
        let about = |child: &Session| {
            let mut parts = vec![plural(child.calls as u64, "model call", "model calls")];
            parts.extend(costs.of(&child.id).short());
            format!("subagent, {}: backstory show {}", parts.join(", "), all.short(child))
        };
        let agents = children.into_iter().map(|child| (child.id.clone(), about(child))).collect();
        let loose = all.loose_agents(session, messages);
        Ok(Self {
            cost: costs.of(&session.id),
            turns: turns(messages, &library.prices),
            agents,
            loose: loose.into_iter().map(|agent| agent.id.clone()).collect(),
        })
    }
}

/// Returns the cost and length of each turn, by the id of its prompt.
pub(in crate::commands) fn turns(
    messages: &[Message],
    prices: &Table,
) -> HashMap<MessageId, String> {
    let mut out = HashMap::new();
    let mut starts: Vec<usize> =
        (0..messages.len()).filter(|n| messages[*n].kind.is_typed()).collect();
    starts.push(messages.len());
    for pair in starts.windows(2) {
        let turn = &messages[pair[0]..pair[1]];
        let mut cost = Bill::default();
        for message in turn {
            cost.add(&prices.bill_message(message, message.at));
        }
        let last: Option<Timestamp> = turn.iter().filter_map(|message| message.at).max();
        let length = turn[0].at.zip(last).map(|(start, end)| end.duration_since(start));
        let length = length.filter(|length| length.as_secs() > 0).map(duration);
        let parts: Vec<String> = cost.short().into_iter().chain(length).collect();
        if !parts.is_empty() {
            out.insert(turn[0].id.clone(), format!("  {}", parts.join(" · ")));
        }
    }
    out
}
