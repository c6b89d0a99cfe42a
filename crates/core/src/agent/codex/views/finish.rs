//! Completes a thread at the end of its file, and turns it into facts.

use super::thread::{Change, TOOL_KEY, Thread};
use crate::facts::{CallKey, Form, Lineage, ListChange, PartFacts, SessionRef};
use crate::model::{Fate, MessageId, ToolStatus};

impl Thread {
    /// Returns the facts of the session. A session without an id is named `otherwise`.
    pub(crate) fn finish(mut self, otherwise: &str) -> PartFacts {
        self.flush();
        self.drop_recorded();
        self.settle();
        let id = Some(self.id()).filter(|id| !id.is_empty()).unwrap_or(otherwise).into();
        let lineage = self.lineage();
        let current = self.history.iter().map(|at| self.message_id(*at)).collect();
        let mut messages: Vec<_> = self.drafts.into_iter().map(|draft| draft.facts).collect();
        // They keep the memory of the drafts, which is larger.
        messages.shrink_to_fit();
        let meta = self.meta.unwrap_or_default();
        PartFacts {
            session: SessionRef::Id(id),
            kind: meta.kind,
            parent: meta.parent,
            forked_from: meta.forked_from,
            project: meta.cwd.or(self.context_cwd),
            started: meta.at,
            // The agent loads the file of a thread that began last.
            updated: meta.at,
            named_at: self.name.as_ref().and_then(|name| name.at),
            summary: self.title,
            form: Form::Log,
            is_resumable: true,
            current,
            messages,
            lineage,
            ..PartFacts::default()
        }
    }

    /// Completes the facts that depend on the whole file.
    fn settle(&mut self) {
        let scope = self.root().to_owned();
        for draft in &mut self.drafts {
            if draft.is_lost() {
                draft.facts.fate = Fate::Failed;
            }
            let facts = &mut draft.facts;
            for tool in &mut facts.tools {
                tool.lines = tool.lines.filter(|_| tool.status == ToolStatus::Success);
            }
            let tool = facts.tools.first().and_then(|tool| tool.id.as_deref());
            if let Some(tool) = tool.filter(|_| facts.key == CallKey::Local) {
                facts.key = CallKey::Id(format!("{TOOL_KEY}{scope}:{tool}").into());
            }
        }
    }

    /// Returns the id of a message.
    fn message_id(&self, at: usize) -> MessageId {
        self.drafts[at].facts.id.clone()
    }

    /// Returns the place of the file among those that share a history; `None` if no file can refer to it.
    fn lineage(&self) -> Option<Box<Lineage>> {
        let name = self.name.as_ref()?;
        let base = self.meta.as_ref().and_then(|meta| meta.base.clone());
        let change = |change: &Change| match change {
            Change::Append(position, at) => {
                ListChange::Append { position: *position, id: self.message_id(*at) }
            }
            Change::Replace(position, list) => ListChange::Replace {
                position: *position,
                ids: list.iter().map(|at| self.message_id(*at)).collect(),
            },
            Change::Cut(position, count) => ListChange::Cut { position: *position, count: *count },
        };
        let restated = self.drafts.iter().filter(|draft| draft.is_restated);
        self.has_lineage().then(|| {
            Box::new(Lineage {
                id: name.rollout.clone(),
                base,
                positions: self.drafts.iter().map(|draft| draft.position).collect(),
                changes: self.changes.iter().map(change).collect(),
                texts: self.drafts.iter().map(|draft| draft.look.unwrap_or(0)).collect(),
                restated: restated.map(|draft| draft.facts.id.clone()).collect(),
                totals: self.totals.clone(),
                first_total: self.first_total.clone(),
            })
        })
    }
}
