//! From sessions to the facts that are counted.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::agent::gemini::{Assembled, Place, Placed, Tokens, is_unique};
use crate::collection::Collection;
use crate::model::{Call, MessageKind, Owner, SessionKind, ToolUse};

/// Calls and tool uses, each once over all that was read.
#[derive(Debug, Default)]
pub struct Facts {
    pub calls: Vec<Call>,
    pub tools: Vec<ToolUse>,
    /// Prompts that led to calls: message id and what was typed.
    pub prompts: HashMap<Arc<str>, String>,
    pub problems: Vec<TokenProblem>,
}

/// Token counts that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenProblem {
    pub file: PathBuf,
    pub session: String,
    pub message: String,
    pub what: String,
}

/// Which facts a question needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wanted {
    pub calls: bool,
    pub tools: bool,
    /// Saved chats and restore points repeat what a session did: they count only on request.
    pub checkpoints: bool,
}

impl Facts {
    /// The facts of all sessions.
    pub fn of(all: &Collection, wanted: Wanted) -> Self {
        let mut collector = Collector::default();
        for assembled in &all.sessions {
            if wanted.checkpoints || assembled.session.kind != SessionKind::Checkpoint {
                collector.session(assembled, wanted);
            }
        }
        collector.facts
    }
}

#[derive(Default)]
struct Collector {
    facts: Facts,
    calls: HashMap<Arc<str>, usize>,
    tools: HashMap<String, usize>,
    /// A few names stand in tens of thousands of calls.
    models: HashSet<Arc<str>>,
}

impl Collector {
    fn session(&mut self, assembled: &Assembled, wanted: Wanted) {
        let session = &assembled.session;
        let owner = Arc::new(Owner::new(&session.id, session.started));
        let mut prompt: Option<(Arc<str>, Option<&str>)> = None;
        for placed in assembled.listed() {
            let said = &placed.said;
            if matches!(said.kind, MessageKind::Prompt | MessageKind::Slash | MessageKind::Shell) {
                prompt = Some((said.id.as_str().into(), said.typed.as_deref()));
            }
            if let Some(tokens) = said.tokens.filter(|_| wanted.calls) {
                if let Some((id, text)) = &prompt
                    && !self.facts.prompts.contains_key(id)
                {
                    self.facts.prompts.insert(id.clone(), text.unwrap_or_default().to_owned());
                }
                let prompt = prompt.as_ref().map(|(id, _)| id.clone());
                self.call(assembled, &owner, placed, prompt, &tokens);
            }
            if wanted.tools {
                self.tool_uses(&owner, placed);
            }
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
            model: model.map(|model| self.model(model)),
            usage,
            at_least: placed.places.iter().all(is_document),
            current: placed.current.is_some(),
        };
        let problems = tokens.problems();
        if !problems.is_empty() {
            let file = placed.places.first().and_then(|place| assembled.files.get(place.file));
            self.facts.problems.extend(problems.into_iter().map(|what| TokenProblem {
                file: file.cloned().unwrap_or_default(),
                session: session.id.clone(),
                message: said.id.clone(),
                what,
            }));
        }
        if let Some(at) = self.calls.get(&call.key) {
            self.facts.calls[*at].merge(&call);
        } else {
            self.calls.insert(call.key.clone(), self.facts.calls.len());
            self.facts.calls.push(call);
        }
    }

    fn model(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.models.get(name) {
            return known.clone();
        }
        let new: Arc<str> = name.into();
        self.models.insert(new.clone());
        new
    }

    fn tool_uses(&mut self, owner: &Arc<Owner>, placed: &Placed) {
        // An imported message's tools ran in the session it was imported from.
        if !placed.owned {
            return;
        }
        let said = &placed.said;
        for (n, tool) in said.tools.iter().enumerate() {
            let key = match &tool.id {
                Some(id) => format!("{}\n{id}", owner.id),
                None => format!("{}\n{}\n{n}", owner.id, said.id),
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
            if let Some(at) = self.tools.get(&fact.key) {
                self.facts.tools[*at].merge(&fact);
            } else {
                self.tools.insert(fact.key.clone(), self.facts.tools.len());
                self.facts.tools.push(fact);
            }
        }
    }
}
