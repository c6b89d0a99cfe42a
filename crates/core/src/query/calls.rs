//! Lists single calls for `export --format calls`.

use std::io;

use serde::Serialize;

use super::Filter;
use crate::activity::simple_commands;
use crate::assemble::SessionFacts;
use crate::facts::is_nameless;
use crate::model::{AgentId, Message, MessageKind, Session, Usage};
use crate::pricing::Table;

/// One row of `export --format calls`.
#[derive(Debug, Clone, Serialize)]
pub struct CallRow {
    /// Identifies the call; equal keys are the same call.
    pub dedup_key: String,
    /// The agent.
    pub agent: AgentId,
    /// The id of the session.
    pub session: String,
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
    assembled: &SessionFacts,
    messages: &[Message],
    prices: &Table,
    filter: &Filter,
    sink: &mut dyn FnMut(CallRow) -> io::Result<()>,
) -> io::Result<()> {
    let session = &assembled.session;
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
        let bill = prices.bill_message(message, at);
        let commands = message.tool_calls.iter().flat_map(simple_commands);
        sink(CallRow {
            dedup_key: dedup_key(session, message, timestamp.as_deref(), &usage),
            agent: session.agent.clone(),
            session: session.id.clone(),
            project: session.project.key().to_owned(),
            timestamp,
            model: message.model.clone(),
            input_tokens: usage.input,
            output_tokens: usage.output + usage.tool + usage.other + usage.thoughts,
            cached_input_tokens: usage.cached,
            cache_read_input_tokens: usage.cached,
            cache_creation_input_tokens: usage.cache_write_5m + usage.cache_write_1h,
            reasoning_tokens: usage.thoughts,
            tools: message.tool_calls.iter().map(|call| call.name.label.clone()).collect(),
            bash_commands: commands.map(|command| command.text).collect(),
            user_message: prompt.chars().take(500).collect(),
            cost_usd: bill.usd.map(|usd| usd.to_string()),
        })?;
    }
    Ok(())
}

/// Returns the key of a call: the id of its message, or all values that distinguish calls without
/// an id.
fn dedup_key(session: &Session, message: &Message, at: Option<&str>, usage: &Usage) -> String {
    let agent = &session.agent;
    let session = &session.id;
    if !is_nameless(&message.id) {
        return format!("{agent}:{session}:{}", message.id);
    }
    let (at, model) = (at.unwrap_or_default(), message.model.as_deref().unwrap_or_default());
    let Usage { input, cached, output, thoughts, .. } = usage;
    format!("{agent}:{session}:{at}:{model}:{}:{output}:{cached}:{thoughts}", input + cached)
}
