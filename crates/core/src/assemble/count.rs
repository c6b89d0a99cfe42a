//! Computes the counts of a session from its messages.

use rustc_hash::FxHashSet as HashSet;

use super::SessionFacts;
use crate::model::MessageKind;

impl SessionFacts {
    pub(super) fn count(&mut self) {
        let mut session = self.session.clone();
        let mut tools: HashSet<(&str, usize)> = HashSet::default();
        let mut models: HashSet<&str> = HashSet::default();
        for entry in self.listed() {
            let facts = &entry.facts;
            session.messages_full += 1;
            session.turns += usize::from(facts.kind.is_turn() && !facts.is_inherited);
            let is_prompt = matches!(facts.kind, MessageKind::Prompt | MessageKind::Slash);
            if is_prompt && !facts.is_inherited {
                session.prompts += 1;
                let typed = facts.typed.clone().filter(|typed| !typed.is_empty());
                if facts.kind == MessageKind::Prompt || session.first_prompt.is_none() {
                    session.last_prompt = typed.clone().or(session.last_prompt);
                }
                if facts.kind == MessageKind::Prompt {
                    session.first_prompt = session.first_prompt.or(typed);
                }
            }
            if !entry.owned {
                continue;
            }
            for (n, tool) in facts.tools.iter().enumerate() {
                match &tool.id {
                    Some(id) => tools.insert((id, usize::MAX)),
                    None => tools.insert((&facts.id, n)),
                };
            }
            if let Some(call) = &facts.call {
                session.calls += usize::from(!call.is_extra);
                session.usage += call.total_usage();
                models.extend(facts.model.as_deref());
                models.extend(call.lines().iter().filter_map(|line| line.model.as_deref()));
            }
        }
        session.tool_calls = tools.len();
        session.models = models.into_iter().map(str::to_owned).collect();
        session.models.sort();
        // A session that contains only commands is titled after the first one.
        if session.first_prompt.is_none() {
            let slash = self.listed().find_map(|entry| entry.facts.typed.clone());
            session.first_prompt = slash.filter(|typed| !typed.is_empty());
        }
        let is_shared =
            self.messages.iter().any(|entry| !entry.owned && entry.facts.call.is_some());
        self.reported = self.reported.take().filter(|_| !is_shared);
        self.session = session;
    }
}
