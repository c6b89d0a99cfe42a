//! The calls and tool calls of one session, each once: what is counted.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use rustc_hash::FxHashMap as HashMap;
use serde::{Deserialize, Serialize};

use crate::agent::gemini::{Assembled, Place, Placed, Tokens, is_unique};
use crate::model::{Call, MessageKind, Owner, ToolStatus, ToolUse, Usage};

/// Enough of a prompt to know it by.
const PROMPT: usize = 500;

/// What a session adds to counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// Named by calls.
    pub models: Vec<String>,
    /// Prompts that led to calls: message id, and the beginning of what was typed.
    pub prompts: Vec<(String, String)>,
    pub calls: Vec<StoredCall>,
    pub tools: Vec<StoredTool>,
}

/// A call; its model and prompt are places in the lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCall {
    pub message: String,
    pub prompt: Option<u32>,
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    pub undated: bool,
    pub model: Option<u32>,
    pub usage: Usage,
    pub at_least: bool,
    pub current: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTool {
    pub message: String,
    pub name: String,
    pub server: Option<String>,
    pub status: ToolStatus,
    #[serde(with = "crate::time::stored")]
    pub at: Option<Timestamp>,
    pub lines_added: u64,
    pub lines_removed: u64,
}

/// Token counts that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenProblem {
    pub file: PathBuf,
    pub session: String,
    pub message: String,
    pub what: String,
}

impl Detail {
    pub fn of(assembled: &Assembled) -> Self {
        let mut facts = Facts::default();
        facts.session(assembled);
        let mut models: Vec<String> = Vec::new();
        let mut prompts: Vec<(String, String)> = Vec::new();
        let mut prompt_places: HashMap<Arc<str>, u32> = HashMap::default();
        let place = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let mut calls = Vec::with_capacity(facts.calls.len());
        for call in facts.calls {
            let model = call.model.as_deref().map(|model| {
                let at = models.iter().position(|known| known == model).unwrap_or_else(|| {
                    models.push(model.to_owned());
                    models.len() - 1
                });
                place(at)
            });
            let prompt = call.prompt.map(|id| {
                *prompt_places.entry(id).or_insert_with_key(|id| {
                    let text = facts.prompts.get(id).cloned().unwrap_or_default();
                    prompts.push((id.to_string(), text));
                    place(prompts.len() - 1)
                })
            });
            calls.push(StoredCall {
                message: call.message.to_string(),
                prompt,
                at: call.at,
                undated: call.undated,
                model,
                usage: call.usage,
                at_least: call.at_least,
                current: call.current,
            });
        }
        let tool = |tool: ToolUse| StoredTool {
            message: tool.message,
            name: tool.name,
            server: tool.server,
            status: tool.status,
            at: tool.at,
            lines_added: tool.lines_added,
            lines_removed: tool.lines_removed,
        };
        Self { models, prompts, calls, tools: facts.tools.into_iter().map(tool).collect() }
    }
}

/// Token counts of a session that cannot be right.
pub fn token_problems(assembled: &Assembled) -> Vec<TokenProblem> {
    let mut out = Vec::new();
    for placed in assembled.listed().filter(|placed| placed.owned) {
        let Some(tokens) = &placed.said.tokens else { continue };
        let file = placed.places.first().and_then(|place| assembled.files.get(place.file));
        out.extend(tokens.problems().into_iter().map(|what| TokenProblem {
            file: file.map(|file| file.path.clone()).unwrap_or_default(),
            session: assembled.session.id.clone(),
            message: placed.said.id.clone(),
            what,
        }));
    }
    out
}

/// Facts by their keys: what one key says twice is one fact.
#[derive(Default)]
struct Facts {
    calls: Vec<Call>,
    tools: Vec<ToolUse>,
    prompts: HashMap<Arc<str>, String>,
    call_keys: HashMap<Arc<str>, usize>,
    tool_keys: HashMap<String, usize>,
}

impl Facts {
    fn session(&mut self, assembled: &Assembled) {
        let session = &assembled.session;
        let owner = Arc::new(Owner::new(&session.id, session.started));
        let mut prompt: Option<(Arc<str>, Option<&str>)> = None;
        for placed in assembled.listed() {
            let said = &placed.said;
            if matches!(said.kind, MessageKind::Prompt | MessageKind::Slash | MessageKind::Shell) {
                prompt = Some((said.id.as_str().into(), said.typed.as_deref()));
            }
            // What was imported happened in the session it was imported from.
            if !placed.owned {
                continue;
            }
            if let Some(tokens) = said.tokens {
                if let Some((id, text)) = &prompt
                    && !self.prompts.contains_key(id)
                {
                    let text = text.unwrap_or_default().chars().take(PROMPT).collect();
                    self.prompts.insert(id.clone(), text);
                }
                let prompt = prompt.as_ref().map(|(id, _)| id.clone());
                self.call(assembled, &owner, placed, prompt, &tokens);
            }
            self.tool_uses(&owner, placed);
        }
    }

    fn call(
        &mut self,
        assembled: &Assembled,
        owner: &Arc<Owner>,
        placed: &Placed,
        prompt: Option<Arc<str>>,
        tokens: &Tokens,
    ) {
        let said = &placed.said;
        let session = &assembled.session;
        let usage = tokens.usage();
        let message: Arc<str> = said.id.as_str().into();
        // A message of a document without an id is called by its place.
        let id = Some(&message).filter(|id| !id.is_empty() && !id.starts_with('#'));
        let model = said.model.as_deref();
        let key = Call::key(&session.id, id, is_unique(&said.id), said.at, model, &usage);
        let is_document = |place: &Place| assembled.documents[place.file];
        let call = Call {
            key,
            session: owner.clone(),
            message,
            prompt,
            at: said.at.or(session.started).or(session.updated),
            undated: said.at.is_none(),
            model: said.model.clone(),
            usage,
            at_least: placed.places.iter().all(is_document),
            current: placed.current.is_some(),
        };
        if let Some(at) = self.call_keys.get(&call.key) {
            self.calls[*at].merge(&call);
        } else {
            self.call_keys.insert(call.key.clone(), self.calls.len());
            self.calls.push(call);
        }
    }

    fn tool_uses(&mut self, owner: &Arc<Owner>, placed: &Placed) {
        let said = &placed.said;
        for (n, tool) in said.tools.iter().enumerate() {
            // Within a session its id names a call, else its place does.
            let key = match &tool.id {
                Some(id) => id.to_string(),
                None => format!("{}\n{n}", said.id),
            };
            let (lines_added, lines_removed) = tool.lines.unwrap_or_default();
            let fact = ToolUse {
                key,
                session: owner.clone(),
                message: said.id.clone(),
                name: tool.name.to_string(),
                server: tool.server.as_deref().map(str::to_owned),
                status: tool.status,
                at: tool.at.or(said.at),
                lines_added,
                lines_removed,
            };
            if let Some(at) = self.tool_keys.get(&fact.key) {
                self.tools[*at].merge(&fact);
            } else {
                self.tool_keys.insert(fact.key.clone(), self.tools.len());
                self.tools.push(fact);
            }
        }
    }
}
