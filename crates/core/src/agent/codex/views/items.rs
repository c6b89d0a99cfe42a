//! Reads items: the inputs and outputs of the model.

use super::draft::{look, mark};
use super::thread::Thread;
use crate::agent::codex::format::{Object, TextOrigin, classify, is_from_agent, typed};
use crate::agent::codex::text::{Outcome, requested, started_agent};
use crate::facts::{Base, ToolFacts};
use crate::model::MessageKind;

/// A part that a response adds to its reply.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Thought,
    Text,
    Call,
}

impl Thread {
    /// Adds an item.
    pub(super) fn item(&mut self, item: &Object<'_>, base: Base<'_>) {
        let kind = item.text("type").unwrap_or_default();
        match &*kind {
            "message" => match item.text("role").as_deref() {
                Some("assistant") => self.answer(item, base),
                Some("user") => self.said(item, base),
                _ => {
                    self.other(MessageKind::Injected, &content(item), base);
                }
            },
            "reasoning" => {
                self.heard(true);
                let text = item.texts("summary").join("\n");
                let hidden = item.text("encrypted_content").unwrap_or_default();
                let at = self.reply_for(Piece::Thought, None, mark(&text) ^ mark(&hidden));
                self.drafts[at].has_item = true;
                self.place(at, base, base.text);
                self.load(at);
            }
            "agent_message" => self.delivered(&content(item), base),
            "compaction" => {
                let hidden = item.text("encrypted_content").unwrap_or_default();
                self.other(MessageKind::CompressSummary, &hidden, base);
            }
            kind if kind.ends_with("_output") => self.answered(item, base),
            kind if kind.ends_with("_call") => self.called(item, base),
            _ => {}
        }
    }

    /// Begins a message that is not part of a reply.
    fn other(&mut self, kind: MessageKind, text: &str, base: Base<'_>) -> usize {
        self.flush();
        self.reply = None;
        let at = self.begin(kind, mark(text));
        self.drafts[at].has_item = true;
        self.place(at, base, base.text);
        self.load(at);
        at
    }

    /// Adds a message from another agent.
    pub(super) fn delivered(&mut self, text: &str, base: Base<'_>) {
        let at = self.other(MessageKind::Injected, text, base);
        self.drafts[at].starts_turn = true;
    }

    /// Adds a message of the model.
    fn answer(&mut self, item: &Object<'_>, base: Base<'_>) {
        self.heard(true);
        let text = content(item);
        if is_from_agent(&text) {
            return self.delivered(&text, base);
        }
        self.last_answer = text;
        let text = look(&self.last_answer);
        let at = self.reply_for(Piece::Text, text, text.unwrap_or_default());
        let draft = &mut self.drafts[at];
        draft.says(&self.last_answer);
        (draft.is_sure, draft.has_item) = (true, true);
        self.place(at, base, base.text);
        self.load(at);
    }

    /// Adds a message with the role `user`.
    fn said(&mut self, item: &Object<'_>, base: Base<'_>) {
        let parts = item.words();
        let text = parts.join("\n");
        let said = classify(parts.iter().map(AsRef::as_ref));
        // An event joins the parts without a separator.
        let before = || self.typed_before(&text).or_else(|| self.typed_before(&parts.concat()));
        if said == TextOrigin::Typed
            && let Some(at) = before()
        {
            let draft = &mut self.drafts[at];
            (draft.is_sure, draft.has_item, draft.starts_turn) = (true, true, true);
            self.place(at, base, base.text);
            self.load(at);
            return;
        }
        let is_typed = !self.has_envelopes || (said == TextOrigin::Typed && self.end_review(&text));
        let kind = match said {
            TextOrigin::Typed if is_typed && !text.trim().is_empty() => MessageKind::Prompt,
            TextOrigin::Typed | TextOrigin::Context => MessageKind::Injected,
            TextOrigin::Shell => MessageKind::Shell,
            TextOrigin::Summary => MessageKind::CompressSummary,
        };
        if self.context_cwd.is_none() && said == TextOrigin::Context {
            self.context_cwd = cwd(&text);
        }
        let at = self.other(kind, &text, base);
        let draft = &mut self.drafts[at];
        draft.says(&text);
        draft.is_sure = true;
        draft.starts_turn = matches!(said, TextOrigin::Typed | TextOrigin::Summary);
        if kind == MessageKind::Prompt {
            draft.facts.typed = Some(typed(&text).to_owned());
        }
    }

    /// Ends a review that was cut off: the prompts of a reviewer have no items here. Returns whether an event
    /// announced the text as typed.
    fn end_review(&mut self, text: &str) -> bool {
        self.review.take().is_some_and(|review| review.task.is_some() && review.task == look(text))
    }

    /// Returns the prompt that an event announced and no item has confirmed yet.
    fn typed_before(&self, text: &str) -> Option<usize> {
        let last = self.drafts.len().checked_sub(1)?;
        let draft = &self.drafts[last];
        let is_prompt = draft.facts.kind == MessageKind::Prompt && !draft.has_item;
        (is_prompt && draft.look == look(text)).then_some(last)
    }

    /// Returns the reply that a piece of a response belongs to. A new one gets a mark.
    fn reply_for(&mut self, piece: Piece, text: Option<u64>, mark: u64) -> usize {
        if let Some(at) = self.reply {
            let draft = &self.drafts[at];
            // An event announced its text.
            let is_announced = draft.look.is_some() && !draft.is_sure;
            let belongs = match piece {
                Piece::Thought => is_announced || (draft.is_empty() && draft.is_open()),
                Piece::Text if is_announced => draft.look == text,
                Piece::Text => draft.is_empty() && draft.is_open(),
                Piece::Call => draft.is_open(),
            };
            if belongs {
                return at;
            }
        }
        self.begin_reply(mark)
    }

    /// Begins a reply.
    pub(super) fn begin_reply(&mut self, mark: u64) -> usize {
        let at = self.begin(MessageKind::Reply, mark);
        self.drafts[at].facts.model = self.model.clone();
        self.claim(at);
        self.reply = Some(at);
        at
    }

    /// Returns the reply whose text an event announces; `None` if an item already contains it.
    pub(super) fn announced(&mut self, text: &str) -> Option<usize> {
        let look = look(text)?;
        // The item may have come first.
        let recent = self.drafts.iter().rev().take(3);
        if recent.into_iter().any(|draft| draft.is_sure && draft.look == Some(look)) {
            return None;
        }
        let open = self.reply.filter(|at| {
            let draft = &self.drafts[*at];
            draft.is_empty() && draft.is_open()
        });
        let at = open.unwrap_or_else(|| self.begin_reply(look));
        self.drafts[at].says(text);
        Some(at)
    }

    /// Adds a tool call.
    fn called(&mut self, item: &Object<'_>, base: Base<'_>) {
        self.heard(true);
        let call = requested(item);
        let at =
            self.reply_for(Piece::Call, None, mark(call.facts.id.as_deref().unwrap_or_default()));
        if call.is_script {
            self.script = Some(at);
        }
        self.add_tool(at, call.facts);
        self.drafts[at].has_item = true;
        self.place(at, base, base.text);
        self.load(at);
    }

    /// Adds a tool call to the message at index `at`.
    pub(super) fn add_tool(&mut self, at: usize, mut tool: ToolFacts) {
        tool.at = self.drafts[at].facts.at.and_then(|_| self.time(false));
        let tools = &mut self.drafts[at].facts.tools;
        if let Some(id) = &tool.id {
            self.calls.insert(id, (at, tools.len()));
        }
        tools.push(tool);
    }

    /// Adds the output of a tool call.
    fn answered(&mut self, item: &Object<'_>, base: Base<'_>) {
        let Some(id) = item.text("call_id") else { return };
        let Some((at, n)) = self.calls.get(&id) else { return };
        let draft = &mut self.drafts[at];
        draft.is_answered = true;
        let tool = &mut draft.facts.tools[n];
        if let Some(output) = item.get("output").or_else(|| item.get("tools")) {
            tool.status = Outcome::read(output).status;
            if let Some(agent) = started_agent(&tool.name, output) {
                tool.agent_id = Some(agent.into());
            }
        }
        self.place(at, base, base.text);
    }
}

/// Returns the text of a message.
fn content(item: &Object<'_>) -> String {
    item.texts("content").join("\n")
}

/// Returns the working directory that a context message names.
fn cwd(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("<cwd>")?;
    let (cwd, _) = rest.split_once("</cwd>")?;
    Some(cwd.trim().to_owned()).filter(|cwd| !cwd.is_empty())
}
