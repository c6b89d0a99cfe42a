//! Redacts sessions and messages, field by field. Ids, times, kinds and numbers stay.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::apply::Redactor;
use crate::model::{Message, Session, ToolCall};
use crate::path_text::{from_text, to_text};

impl Redactor<'_> {
    pub fn session(&mut self, session: &mut Session) {
        for text in [&mut session.summary, &mut session.first_prompt, &mut session.last_prompt] {
            self.option(text);
        }
        let project = Arc::make_mut(&mut session.project);
        self.string(&mut project.name);
        self.option(&mut project.path);
        self.option(&mut project.dir);
        for part in &mut session.parts {
            part.file = from_text(&self.text(&to_text(&part.file)));
        }
    }

    pub fn message(&mut self, message: &mut Message) {
        self.string(&mut message.text);
        self.option(&mut message.typed);
        for reference in &mut message.references {
            self.string(&mut reference.path);
        }
        for attachment in &mut message.attachments {
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
        for text in
            [&mut call.display_name, &mut call.description, &mut call.output, &mut call.error]
        {
            self.option(text);
        }
        self.raw(&mut call.args);
        self.raw(&mut call.result_display);
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
            // What cannot be written again is left out rather than let through.
            *raw = RawValue::from_string(new).ok();
        }
    }
}
