//! Collects the calls and tool calls of one session, each once, which are the facts that are
//! counted.

use rustc_hash::FxHashMap as HashMap;
use serde::{Deserialize, Serialize};

use crate::assemble::MessageEntry;
use crate::facts::MessageFacts;
use crate::model::{Call, MessageId, MessageKind, Service, Session, ToolCallId, ToolUse};

/// The length to which a stored prompt is cut, in characters.
const PROMPT: usize = 500;

/// The countable contents of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionCalls {
    /// The models that calls name.
    pub models: Vec<String>,
    /// Prompts that led to calls: the message id and the beginning of the typed text.
    pub prompts: Vec<(MessageId, String)>,
    /// The model calls, each once.
    pub calls: Vec<Call>,
    /// The tool calls, each once.
    pub tools: Vec<ToolUse>,
}

impl SessionCalls {
    /// Counts the messages of a session, moving their data into the result.
    pub fn of(session: &Session, mut messages: Vec<MessageEntry>) -> Self {
        let mut detail = Self::default();
        let mut reading = Reading::default();
        for placed in messages.iter_mut().filter(|placed| !placed.facts.is_copy) {
            let said = &mut placed.facts;
            if matches!(said.kind, MessageKind::Prompt | MessageKind::Slash | MessageKind::Shell) {
                let typed = said.typed.take().unwrap_or_default();
                reading.prompt = Some(Prompt { id: said.id.clone(), typed, listed: None });
            }
            // Imported messages are counted in the session they were imported from.
            if placed.owned {
                detail.tool_uses(&mut placed.facts, &mut reading);
                detail.call(session, placed, &mut reading);
            }
        }
        detail
    }

    fn call(&mut self, session: &Session, placed: &mut MessageEntry, reading: &mut Reading) {
        let said = &mut placed.facts;
        let Some(facts) = said.call.take() else { return };
        let call = Call {
            message: std::mem::take(&mut said.id),
            prompt: reading.prompt.as_mut().map(|prompt| self.prompt(prompt)),
            at: said.at.or(session.started).or(session.updated),
            undated: said.at.is_none(),
            model: said.model.as_deref().map(|model| self.model(model)),
            usage: facts.usage,
            service: facts.service,
            at_least: placed.at_least || facts.at_least,
            current: placed.current.is_some(),
            is_extra: facts.is_extra,
        };
        let extra = facts.lines().iter().map(|line| Call {
            model: line.model.as_deref().map(|model| self.model(model)),
            usage: line.usage,
            service: Service { searches: 0, ..facts.service },
            is_extra: true,
            ..call.clone()
        });
        let extra: Vec<Call> = extra.collect();
        self.calls.push(call);
        self.calls.extend(extra);
    }

    fn model(&mut self, model: &str) -> u32 {
        let at = self.models.iter().position(|known| known == model).unwrap_or_else(|| {
            self.models.push(model.to_owned());
            self.models.len() - 1
        });
        place(at)
    }

    /// Returns the place of a prompt in the list, which it enters when it leads to its first call.
    fn prompt(&mut self, prompt: &mut Prompt) -> u32 {
        *prompt.listed.get_or_insert_with(|| {
            let text = prompt.typed.chars().take(PROMPT).collect();
            self.prompts.push((std::mem::take(&mut prompt.id), text));
            place(self.prompts.len() - 1)
        })
    }

    fn tool_uses(&mut self, said: &mut MessageFacts, reading: &mut Reading) {
        for tool in std::mem::take(&mut said.tools) {
            let (lines_added, lines_removed) = tool.lines.unwrap_or_default();
            let fact = ToolUse {
                message: said.id.clone(),
                name: tool.name.into(),
                server: tool.server.map(String::from),
                status: tool.status,
                at: tool.at.or(said.at),
                lines_added,
                lines_removed,
            };
            // Within a session, an id identifies a tool call; one without an id is always separate.
            if let Some(id) = tool.id {
                if let Some(at) = reading.tools.get(&id) {
                    self.tools[*at].merge(&fact);
                    continue;
                }
                reading.tools.insert(id, self.tools.len());
            }
            self.tools.push(fact);
        }
    }
}

/// State for deduplicating tool calls while walking a session.
#[derive(Default)]
struct Reading {
    /// The last prompt.
    prompt: Option<Prompt>,
    tools: HashMap<ToolCallId, usize>,
}

struct Prompt {
    id: MessageId,
    typed: String,
    /// Its place in the list of prompts.
    listed: Option<u32>,
}

fn place(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
