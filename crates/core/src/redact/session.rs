//! Redacts sessions and messages field by field. Their ids, times, kinds and numbers are preserved.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::apply::Redactor;
use crate::model::{Message, Session, ToolCall};
use crate::path_text::{from_text, to_text};

impl Redactor<'_> {
    /// Redacts the texts of a session.
    pub fn session(&mut self, session: &mut Session) {
        let Session { summary, first_prompt, last_prompt, name, worktree, branch, .. } = session;
        for text in [summary, first_prompt, last_prompt, name, worktree, branch] {
            self.option(text);
        }
        for text in session.tags.iter_mut().chain(&mut session.models).chain([&mut session.machine])
        {
            self.string(text);
        }
        let project = Arc::make_mut(&mut session.project);
        self.string(&mut project.name);
        self.option(&mut project.path);
        self.option(&mut project.dir);
        self.option(&mut project.hash);
        for part in &mut session.parts {
            self.path(&mut part.file);
        }
    }

    /// Redacts the texts of a message.
    pub fn message(&mut self, message: &mut Message) {
        self.string(&mut message.text);
        self.option(&mut message.typed);
        self.option(&mut message.model);
        for reference in &mut message.references {
            self.string(&mut reference.path);
        }
        for attachment in &mut message.attachments {
            self.string(&mut attachment.mime);
            self.option(&mut attachment.name);
            self.raw(&mut attachment.raw);
        }
        for thought in &mut message.thoughts {
            self.string(&mut thought.subject);
            self.string(&mut thought.description);
        }
        for call in &mut message.tool_calls {
            self.tool_call(call);
        }
    }

    fn tool_call(&mut self, call: &mut ToolCall) {
        let ToolCall { display_name, description, output, error, name, .. } = call;
        for text in [display_name, description, output, error, &mut name.server] {
            self.option(text);
        }
        self.string(&mut name.name);
        self.string(&mut name.label);
        if let std::borrow::Cow::Owned(new) = self.text(&call.id) {
            call.id = new.into();
        }
        self.raw(&mut call.args);
        self.raw(&mut call.result_display);
    }

    /// Redacts a path.
    pub fn path(&mut self, path: &mut PathBuf) {
        if let std::borrow::Cow::Owned(new) = self.text(&to_text(path)) {
            *path = from_text(&new);
        }
    }

    fn string(&mut self, text: &mut String) {
        if let std::borrow::Cow::Owned(new) = self.text(text) {
            *text = new;
        }
    }

    fn option(&mut self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.string(text);
        }
    }

    fn raw(&mut self, raw: &mut Option<Box<RawValue>>) {
        let Some(json) = raw else { return };
        if let std::borrow::Cow::Owned(new) = self.json(json.get()) {
            // A value that cannot be written again is dropped rather than let through.
            *raw = RawValue::from_string(new).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rules;
    use super::*;
    use crate::model::AgentId;
    use crate::project::{Project, Proof};

    #[test]
    fn every_text_of_a_session_is_redacted() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let text = || Some(format!("x {token}"));
        let project = Project {
            name: token.clone(),
            path: text(),
            proof: Proof::None,
            hash: text(),
            dir: text(),
        };
        let mut session = Session::new("1".into(), AgentId::new("claude"), Arc::new(project));
        session.worktree = text();
        session.branch = text();
        session.summary = text();
        session.first_prompt = text();
        session.last_prompt = text();
        session.name = text();
        session.models = vec![token.clone()];
        session.tags = vec![token.clone()];
        session.machine.clone_from(&token);
        let rules = Rules::embedded().unwrap();
        Redactor::new(&rules).session(&mut session);
        let shown = format!("{session:?}");
        assert!(!shown.contains("ghp_"), "{shown}");
        assert_eq!(shown.matches("[redacted:github-token:1]").count(), 13);
    }
}
