//! Reads events: messages and tools as the program showed them, and the course of turns.

use super::draft::{look, mark};
use super::thread::{Review, Thread, Turn, time_in_id};
use crate::agent::codex::format::{Object, Record, limits, typed};
use crate::agent::codex::text::Activity;
use crate::facts::Base;
use crate::model::{Fate, MessageKind};

/// The maximum number of lines between an event and the item that it repeats.
const NEAR: u64 = 3;

impl Thread {
    /// Adds an event.
    pub(super) fn event(&mut self, record: &Record<'_>, base: Base<'_>) {
        let event = &record.body;
        match &*record.inner() {
            "token_count" => {
                self.limited(event);
                self.count(event.count());
            }
            "user_message" => self.typed(&event.text("message").unwrap_or_default(), base),
            "agent_message" => self.announce(&event.text("message").unwrap_or_default(), base),
            "item_completed" => self.completed(&event.object("item"), base),
            "task_started" => self.start_turn(event.owned("turn_id")),
            "task_complete" => {
                self.flush();
                if event.has("error") {
                    self.end_turn(Fate::Failed);
                }
                self.reply = None;
            }
            "turn_aborted" => {
                self.flush();
                self.end_turn(Fate::Interrupted);
                self.reply = None;
            }
            "thread_settings_applied" => self.settings(&event.object("thread_settings")),
            "thread_rolled_back" => self.roll_back(event.number("num_turns").unwrap_or(0)),
            "entered_review_mode" => self.review = Some(Review::default()),
            "exited_review_mode" => self.review = None,
            "thread_name_updated" => self.title = event.owned("thread_name").or(self.title.take()),
            _ => self.activity(event, base),
        }
    }

    /// Adds the limits of the user's plan, unless another thread reported them earlier.
    fn limited(&mut self, event: &Object<'_>) {
        if !event.has("rate_limits") || self.is_inherited() {
            return;
        }
        for limit in limits(event, self.time(false)) {
            limit.add_to(&mut self.limits);
        }
    }

    /// Adds an item that a paginated file records as an event.
    fn completed(&mut self, item: &Object<'_>, base: Base<'_>) {
        match item.text("type").as_deref() {
            Some("UserMessage") => self.typed(&item.texts("content").join("\n"), base),
            Some("AgentMessage") => self.announce(&item.texts("content").join("\n"), base),
            Some("EnteredReviewMode") => self.review = Some(Review::default()),
            Some("ExitedReviewMode") => self.review = None,
            _ => self.activity(item, base),
        }
    }

    /// Adds a prompt. During a review such an event only repeats the reviewer's task.
    fn typed(&mut self, message: &str, base: Base<'_>) {
        if message.trim().is_empty() {
            return;
        }
        if let Some(review) = &mut self.review {
            review.task = look(message);
            return;
        }
        let at = self.unconfirmed(message).unwrap_or_else(|| {
            self.flush();
            self.reply = None;
            let at = self.begin(MessageKind::Prompt, mark(message));
            self.place(at, base, base.text);
            self.drafts[at].says(message);
            at
        });
        let facts = &mut self.drafts[at].facts;
        facts.kind = MessageKind::Prompt;
        facts.typed = Some(typed(message).to_owned());
        facts.typed_is_sure = true;
        if self.turn.is_none() {
            self.turn_start = at;
        }
    }

    /// Returns the item that an event confirms as typed.
    fn unconfirmed(&self, message: &str) -> Option<usize> {
        let look = look(message);
        let mut near = (0..self.drafts.len())
            .rev()
            .take_while(|at| self.drafts[*at].facts.kind != MessageKind::Prompt)
            .filter(|at| {
                let draft = &self.drafts[*at];
                draft.facts.kind == MessageKind::Injected
                    && draft.starts_turn
                    && draft.look.is_some()
            });
        let first = near.next()?;
        if self.drafts[first].look == look || self.drafts[first].line + NEAR >= self.line() {
            return Some(first);
        }
        near.find(|at| self.drafts[*at].look == look)
    }

    /// Adds the text of a reply, which an item usually repeats.
    fn announce(&mut self, message: &str, base: Base<'_>) {
        if message.starts_with("Compact task completed") {
            let at = self.begin(MessageKind::Info, mark(message));
            self.drafts[at].says(message);
            return self.place(at, base, base.text);
        }
        if let Some(at) = self.announced(message) {
            // The items of a reviewer's messages are in another file.
            self.drafts[at].is_sure |= self.review.is_some();
            self.place(at, base, base.text);
        }
    }

    /// Adds the facts of an event about a tool.
    fn activity(&mut self, event: &Object<'_>, base: Base<'_>) {
        let Some(activity) = Activity::read(event) else { return };
        if let Some((at, n)) = self.calls.get(&activity.id) {
            activity.complete(&mut self.drafts[at].facts.tools[n]);
            return self.place(at, base, base.text);
        }
        // The commands that a script ran are recorded only as events.
        if let (Some(at), Some(tool)) = (self.script, activity.tool()) {
            self.add_tool(at, tool);
            self.place(at, base, base.text);
        }
    }

    pub(super) fn start_turn(&mut self, id: Option<String>) {
        self.flush();
        self.reply = None;
        self.turn_start = self.drafts.len();
        self.has_turns = true;
        self.turn = id.map(|id| Turn { began: time_in_id(&id), id: id.into() });
    }

    /// Marks the messages of a turn that failed or was interrupted.
    fn end_turn(&mut self, fate: Fate) {
        for draft in self.drafts.iter_mut().skip(self.turn_start) {
            let facts = &mut draft.facts;
            if facts.fate == Fate::Kept && facts.kind.is_turn() && !facts.is_inherited {
                facts.fate = fate;
            }
        }
    }
}
