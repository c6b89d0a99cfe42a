//! Lists single calls for `export --format calls`.

use std::collections::HashMap;
use std::io;

use serde::Serialize;

use super::Filter;
use crate::activity::simple_commands;
use crate::agent::Agents;
use crate::assemble::SessionFacts;
use crate::facts::CallKey;
use crate::model::{AgentId, Message, MessageId, MessageKind, SessionId, Usage};
use crate::pricing::Table;

/// One row of `export --format calls`.
#[derive(Debug, Clone, Serialize)]
pub struct CallRow {
    /// Identifies the call; equal keys are the same call.
    pub dedup_key: String,
    /// The agent.
    pub agent: AgentId,
    /// The id of the session.
    pub session: SessionId,
    /// The key of the project.
    pub project: String,
    /// The time of the call, or the start of its session.
    pub timestamp: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The input tokens that were not cached.
    pub input_tokens: u64,
    /// The output tokens, including thoughts.
    pub output_tokens: u64,
    /// The cached input tokens.
    pub cached_input_tokens: u64,
    /// The cached input tokens again, under the name that other programs use.
    pub cache_read_input_tokens: u64,
    /// The tokens written to a cache.
    pub cache_creation_input_tokens: u64,
    /// The tokens of thoughts.
    pub reasoning_tokens: u64,
    /// The tools that the reply used.
    pub tools: Vec<String>,
    /// The simple commands that its shell calls ran.
    pub bash_commands: Vec<String>,
    /// The beginning of the prompt that led to the call.
    pub user_message: String,
    /// The cost in US dollars, if the model has a price.
    pub cost_usd: Option<String>,
}

/// Passes each call of a session to `sink`; `messages` are those of its full view.
pub fn calls(
    agents: Agents,
    assembled: &SessionFacts,
    messages: &[Message],
    prices: &Table,
    filter: &Filter,
    sink: &mut dyn FnMut(CallRow) -> io::Result<()>,
) -> io::Result<()> {
    let session = &assembled.session;
    let agent = agents.get(&session.agent);
    let entries = assembled.messages.iter().map(|entry| &entry.facts);
    let keys: HashMap<&MessageId, &CallKey> =
        entries.map(|facts| (&facts.id, &facts.key)).collect();
    let mut prompt = "";
    for message in messages {
        if matches!(message.kind, MessageKind::Prompt | MessageKind::Slash | MessageKind::Shell) {
            prompt = message.words();
        }
        let Some(usage) = message.usage.filter(|_| !message.is_imported) else {
            continue;
        };
        let at = message.at.or(session.started);
        if !filter.takes_call(at, message.model.as_deref()) {
            continue;
        }
        let timestamp = at.map(|at| format!("{at:.3}"));
        let key = match agent.zip(keys.get(&message.id)) {
            _ if message.id.is_nameless() => {
                values(&session.id, message, timestamp.as_deref(), &usage)
            }
            Some((agent, key)) => agent.call_id(&session.id, &message.id, key),
            None => format!("{}:{}", session.id, message.id),
        };
        let bill = prices.bill_message(message, at);
        let Usage { input, cached, cache_write_5m, cache_write_1h, output, thoughts, tool, other } =
            usage;
        let commands = message.tool_calls.iter().flat_map(simple_commands);
        sink(CallRow {
            dedup_key: format!("{}:{key}", session.agent),
            agent: session.agent.clone(),
            session: session.id.clone(),
            project: session.project.key().to_owned(),
            timestamp,
            model: message.model.clone(),
            input_tokens: input,
            output_tokens: output + tool + other + thoughts,
            cached_input_tokens: cached,
            cache_read_input_tokens: cached,
            cache_creation_input_tokens: cache_write_5m + cache_write_1h,
            reasoning_tokens: thoughts,
            tools: message.tool_calls.iter().map(|call| call.name.label.clone()).collect(),
            bash_commands: commands.map(|command| command.text).collect(),
            user_message: prompt.chars().take(500).collect(),
            cost_usd: bill.usd.map(|usd| usd.to_string()),
        })?;
    }
    Ok(())
}

/// Returns the key of a call without an id within its agent: all values that distinguish such calls.
fn values(session: &SessionId, message: &Message, at: Option<&str>, usage: &Usage) -> String {
    let (at, model) = (at.unwrap_or_default(), message.model.as_deref().unwrap_or_default());
    let Usage { input, cached, output, thoughts, .. } = usage;
    format!("{session}:{at}:{model}:{}:{output}:{cached}:{thoughts}", input + cached)
}
