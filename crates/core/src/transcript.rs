//! Divides a session into blocks in order, shared by everything that shows one.
//!
//! Shown are a person's prompts, the agent's replies, each tool with its most informative argument,
//! and errors. Everything else is optional.

use crate::argument::argument;
pub use crate::argument::key_argument;
use crate::model::{Message, MessageKind, Thought, ToolCall};

/// The blocks to show besides prompts, replies, tools and errors.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The model's thoughts.
    pub thoughts: bool,
    /// The output of tools.
    pub tool_output: bool,
    /// Notices, injected context and summaries.
    pub info: bool,
    /// If not empty, only these are shown.
    pub only: Vec<Only>,
}

/// A kind of block to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// Prompts.
    Prompt,
    /// Replies.
    Reply,
    /// Tool calls.
    Tool,
    /// Errors.
    Error,
}

/// One block to show.
#[derive(Debug)]
pub struct Block<'a> {
    /// The message it comes from.
    pub message: &'a Message,
    /// Its content.
    pub what: What<'a>,
}

/// The content of a block.
#[derive(Debug)]
pub enum What<'a> {
    /// Text of a person: a prompt, a command, a shell escape.
    You(&'a str),
    /// Text of the agent.
    Agent(&'a str),
    /// A thought of the model.
    Thought(&'a Thought),
    /// A tool call.
    Tool {
        /// The call.
        call: &'a ToolCall,
        /// The argument worth showing.
        argument: Option<String>,
        /// Its output, if requested.
        output: Option<&'a str>,
    },
    /// Text of a program: a notice, context, a summary.
    Notice(&'a str),
    /// An error.
    Error(&'a str),
    /// A compression took place here.
    Compress,
}

/// Returns the blocks of messages.
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
            // The result of a tool is shown with its call.
            _ => {}
        }
    }
    out
}

fn tool<'a>(call: &'a ToolCall, options: &Options) -> What<'a> {
    let output = call.output.as_deref().or(call.error.as_deref());
    What::Tool { call, argument: argument(call), output: output.filter(|_| options.tool_output) }
}
