//! A session as it is read: blocks in order, shared by everything that shows one.
//!
//! Follows seed 001's reading rules: a person's words, the agent's words, each tool with its one
//! telling argument, errors noted. The rest is there on request.

use crate::argument::argument;
pub use crate::argument::key_argument;
use crate::model::{Message, MessageKind, Thought, ToolCall};

/// What to show besides words, tools and errors.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub thoughts: bool,
    pub tool_output: bool,
    /// Notices, injected context and summaries.
    pub info: bool,
    /// When not empty: nothing but these.
    pub only: Vec<Only>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    Prompt,
    Reply,
    Tool,
    Error,
}

/// One thing to show.
#[derive(Debug)]
pub struct Block<'a> {
    pub message: &'a Message,
    pub what: What<'a>,
}

#[derive(Debug)]
pub enum What<'a> {
    /// A person's words: a prompt, a command, a shell escape.
    You(&'a str),
    Agent(&'a str),
    Thought(&'a Thought),
    Tool {
        call: &'a ToolCall,
        argument: Option<String>,
        output: Option<&'a str>,
    },
    /// Something a program said: a notice, context, a summary.
    Notice(&'a str),
    Error(&'a str),
    /// A compression took place here.
    Compress,
}

/// The blocks of a list of messages.
pub fn blocks<'a>(messages: &'a [Message], options: &Options) -> Vec<Block<'a>> {
    let mut out = Vec::new();
    let wants = |only: Only| options.only.is_empty() || options.only.contains(&only);
    for message in messages {
        let mut push = |what| out.push(Block { message, what });
        match message.kind {
            MessageKind::Prompt | MessageKind::Slash | MessageKind::Shell
                if wants(Only::Prompt) =>
            {
                push(What::You(message.words()));
            }
            MessageKind::Reply => {
                if options.thoughts && options.only.is_empty() {
                    message.thoughts.iter().for_each(|thought| push(What::Thought(thought)));
                }
                if wants(Only::Reply) && !message.text.trim().is_empty() {
                    push(What::Agent(&message.text));
                }
                for call in &message.tool_calls {
                    let is_error = call.has_failed();
                    if wants(Only::Tool) || (is_error && wants(Only::Error)) {
                        push(tool(call, options));
                    }
                }
            }
            MessageKind::Error if wants(Only::Error) => {
                push(What::Error(&message.text));
            }
            MessageKind::Compress if options.only.is_empty() => push(What::Compress),
            MessageKind::Info
            | MessageKind::Warning
            | MessageKind::Injected
            | MessageKind::CompressSummary
                if options.info && options.only.is_empty() =>
            {
                push(What::Notice(&message.text));
            }
            // A tool's result is told with its call.
            _ => {}
        }
    }
    out
}

fn tool<'a>(call: &'a ToolCall, options: &Options) -> What<'a> {
    let output = call.output.as_deref().or(call.error.as_deref());
    What::Tool { call, argument: argument(call), output: output.filter(|_| options.tool_output) }
}
