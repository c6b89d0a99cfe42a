//! Splits the text of a message by field.

use std::borrow::Cow;

use crate::model::{Message, MessageKind, Session, ToolCall};
use crate::read::json::{self, Raw};

/// A field of a message or session. The order is that of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Where {
    /// Text that a person typed.
    Prompt,
    /// Files and context that a program appended.
    Reference,
    /// The agent's text, and notices of the program.
    Reply,
    /// The model's thoughts.
    Thought,
    /// The name and arguments of a tool call.
    Tool,
    /// The result of a tool call.
    Output,
    /// The agent's summary of the session.
    Summary,
    /// The user's own name and tags for the session.
    Name,
}

impl Where {
    /// All fields in the order of the index.
    pub const ALL: [Self; 8] = [
        Self::Prompt,
        Self::Reference,
        Self::Reply,
        Self::Thought,
        Self::Tool,
        Self::Output,
        Self::Summary,
        Self::Name,
    ];

    /// Returns the name for queries and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Reference => "reference",
            Self::Reply => "reply",
            Self::Thought => "thought",
            Self::Tool => "tool",
            Self::Output => "output",
            Self::Summary => "summary",
            Self::Name => "name",
        }
    }

    /// Returns the weight of a match in this field. People remember what they typed better than
    /// output.
    pub fn weight(self) -> f64 {
        match self {
            Self::Name => 8.0,
            Self::Prompt => 4.0,
            Self::Summary => 3.0,
            Self::Reply => 2.0,
            Self::Tool => 1.5,
            Self::Thought => 1.0,
            Self::Reference | Self::Output => 0.7,
        }
    }
}

/// A separate text; phrases do not extend beyond it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The field it belongs to.
    pub field: Where,
    /// The text itself.
    pub text: Cow<'a, str>,
}

/// The part of a tool's output to include.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Its beginning and end, as in the index.
    Capped,
    /// All of it.
    All,
}

/// The indexed bytes at either end of a tool's output.
const END: usize = 1024;

/// The text of a message by field.
#[derive(Debug, Clone, Default)]
pub struct Fields<'a> {
    /// The texts in order.
    pub pieces: Vec<Piece<'a>>,
    /// Whether the middle of an output was left out.
    pub capped: bool,
    extent: Option<Extent>,
}

impl<'a> Fields<'a> {
    /// Returns the texts of a message.
    pub fn of(message: &'a Message, extent: Extent) -> Self {
        let mut fields = Self { extent: Some(extent), ..Self::default() };
        let text = message.text.as_str();
        match message.kind {
            MessageKind::Prompt | MessageKind::Slash | MessageKind::Shell => {
                fields.push(Where::Prompt, message.words());
                if let Some(typed) = &message.typed {
                    let behind = text.trim_start().strip_prefix(typed.as_str()).unwrap_or(text);
                    fields.push(Where::Reference, behind);
                }
            }
            MessageKind::Injected => fields.push(Where::Reference, text),
            MessageKind::CompressSummary => fields.push(Where::Summary, text),
            MessageKind::ToolResult => fields.output(text),
            _ => fields.push(Where::Reply, text),
        }
        for thought in &message.thoughts {
            fields.push(Where::Thought, thought.subject.as_str());
            fields.push(Where::Thought, thought.description.as_str());
        }
        message.tool_calls.iter().for_each(|call| fields.call(call));
        fields
    }

    /// Returns a single text.
    pub fn of_text(field: Where, text: &'a str) -> Self {
        let mut fields = Self::default();
        fields.push(field, text);
        fields
    }

    /// Returns the text about a session as a whole.
    pub fn of_session(session: &'a Session) -> Self {
        let mut fields = Self::default();
        fields.push(Where::Summary, session.summary.as_deref().unwrap_or_default());
        fields.push(Where::Name, session.name.as_deref().unwrap_or_default());
        session.tags.iter().for_each(|tag| fields.push(Where::Name, tag.as_str()));
        fields
    }

    fn push(&mut self, field: Where, text: impl Into<Cow<'a, str>>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.pieces.push(Piece { field, text });
        }
    }

    fn call(&mut self, call: &'a ToolCall) {
        self.push(Where::Tool, call.name.name.as_str());
        if let Some(name) = call.display_name.as_deref().filter(|name| *name != call.name.name) {
            self.push(Where::Tool, name);
        }
        self.push(Where::Tool, call.description.as_deref().unwrap_or_default());
        if let Some(args) = &call.args {
            self.values(Raw::of(args), 0);
        }
        self.output(call.output.as_deref().unwrap_or_default());
        if call.error != call.output {
            self.output(call.error.as_deref().unwrap_or_default());
        }
    }

    /// Adds the texts and numbers in JSON, but not the names of fields.
    fn values(&mut self, raw: Raw<'a>, depth: usize) {
        // Deeper than the arguments of any tool.
        const DEEPEST: usize = 16;
        match raw.get().as_bytes().first() {
            _ if depth > DEEPEST => self.push(Where::Tool, raw.get()),
            Some(b'"') => self.push(Where::Tool, json::string(raw).unwrap_or_default()),
            // A value that turns out not to be a list or an object is empty.
            Some(b'{') => _ = json::each_field(raw.get(), |_, value| self.values(value, depth + 1)),
            Some(b'[') => _ = json::each_element(raw.get(), |value| self.values(value, depth + 1)),
            Some(b'0'..=b'9' | b'-') => self.push(Where::Tool, raw.get()),
            _ => {}
        }
    }

    fn output(&mut self, text: &'a str) {
        if self.extent == Some(Extent::All) || text.len() <= 2 * END {
            return self.push(Where::Output, text);
        }
        self.capped = true;
        let is_boundary = |at: &usize| text.is_char_boundary(*at);
        let head = (0..=END).rev().find(is_boundary).unwrap_or(0);
        let tail = (text.len() - END..text.len()).find(is_boundary).unwrap_or(text.len());
        self.push(Where::Output, &text[..head]);
        self.push(Where::Output, &text[tail..]);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn long_output_is_its_ends() {
        let text = format!("é{}middle{}end", "a ".repeat(600), " b".repeat(600));
        let mut fields = Fields::default();
        fields.output(&text);
        assert!(fields.capped);
        let [head, tail] = &fields.pieces[..] else { panic!("{fields:?}") };
        assert!(head.text.starts_with('é') && tail.text.ends_with("end"));
        assert!(head.text.len() <= END && tail.text.len() <= END);
        let mut all = Fields { extent: Some(Extent::All), ..Fields::default() };
        all.output(&text);
        assert!(!all.capped && all.pieces[0].text == text);
    }

    #[test]
    fn the_values_of_arguments() {
        let raw = RawValue::from_string(
            r#"{"command":"echo \"hi\"\nls","n":5,"on":true,"list":[{"path":"a/b"},null,"x"]}"#
                .to_owned(),
        );
        let raw = raw.unwrap();
        let mut fields = Fields::default();
        fields.values(Raw::of(&raw), 0);
        let texts: Vec<&str> = fields.pieces.iter().map(|piece| &*piece.text).collect();
        assert_eq!(texts, ["echo \"hi\"\nls", "5", "a/b", "x"]);
    }
}
