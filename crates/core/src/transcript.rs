//! Divides a session into blocks in order, shared by everything that shows one.
//!
//! Shown are a person's prompts, the agent's replies, each tool with its most informative argument,
//! and errors. Everything else is optional.

use std::borrow::Cow;

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
    pub only: Vec<ShownBlock>,
}

/// A kind of block to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownBlock {
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
    pub body: BlockKind<'a>,
}

/// The content of a block.
#[derive(Debug)]
pub enum BlockKind<'a> {
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
    let wants = |only: ShownBlock| options.only.is_empty() || options.only.contains(&only);
    for message in messages {
        let mut push = |body| out.push(Block { message, body });
        match message.kind {
            MessageKind::Prompt | MessageKind::Slash | MessageKind::Shell
                if wants(ShownBlock::Prompt) =>
            {
                push(BlockKind::You(message.words()));
            }
            MessageKind::Reply => {
                if options.thoughts && options.only.is_empty() {
                    message.thoughts.iter().for_each(|thought| push(BlockKind::Thought(thought)));
                }
                if wants(ShownBlock::Reply) && !message.text.trim().is_empty() {
                    push(BlockKind::Agent(&message.text));
                }
                for call in &message.tool_calls {
                    let is_error = call.has_failed();
                    if wants(ShownBlock::Tool) || (is_error && wants(ShownBlock::Error)) {
                        push(tool(call, options));
                    }
                }
            }
            MessageKind::Error if wants(ShownBlock::Error) => {
                push(BlockKind::Error(&message.text));
            }
            MessageKind::Compress if options.only.is_empty() => push(BlockKind::Compress),
            MessageKind::Info
            | MessageKind::Warning
            | MessageKind::Injected
            | MessageKind::CompressSummary
                if options.info && options.only.is_empty() =>
            {
                push(BlockKind::Notice(&message.text));
            }
            // The result of a tool is shown with its call.
            _ => {}
        }
    }
    out
}

fn tool<'a>(call: &'a ToolCall, options: &Options) -> BlockKind<'a> {
    let output = call.output.as_deref().or(call.error.as_deref());
    BlockKind::Tool {
        call,
        argument: argument(call),
        output: output.filter(|_| options.tool_output),
    }
}

/// Lines around the output of a command that agents add for the model.
const BEFORE: [&str; 7] = [
    "Command: ",
    "Directory: ",
    "Chunk ID: ",
    "Wall time: ",
    "Process exited with code ",
    "Original token count: ",
    "Exit code: ",
];
const AFTER: [&str; 6] = [
    "Error: (none)",
    "Exit Code: ",
    "Signal: ",
    "Background PIDs: ",
    "Process Group PGID: ",
    "</untrusted_context>",
];

/// Returns the output of a command without the lines that the agent adds for the model.
pub fn bare_output(text: &str) -> Cow<'_, str> {
    let text = text.trim_end();
    let text = text.strip_prefix("<untrusted_context>\n").unwrap_or(text);
    let mut rest = text;
    while BEFORE.iter().any(|start| rest.starts_with(start)) {
        rest = rest.split_once('\n').map_or("", |(_, after)| after);
    }
    // Without this label, what looks like such lines is output.
    let Some(output) = rest.strip_prefix("Output:") else { return Cow::Borrowed(text) };
    let mut output = output.strip_prefix([' ', '\n']).unwrap_or(output);
    loop {
        let (before, last) = output.rsplit_once('\n').unwrap_or(("", output));
        if !AFTER.iter().any(|end| last.starts_with(end)) {
            break;
        }
        output = before;
    }
    Cow::Borrowed(if output.trim() == "(empty)" { "" } else { output })
}

/// Returns the command and the output of a `!` command, which agents record as two blocks of code.
pub fn shell_escape(text: &str) -> Option<(&str, &str)> {
    let mut blocks = text.split("```");
    let command = blocks.nth(1)?;
    let (_, command) = command.split_once('\n')?;
    let output = blocks.nth(1).and_then(|output| output.split_once('\n'));
    let output = output.map_or("", |(_, output)| output.trim_end());
    Some((command.trim_end(), if output == "(Command produced no output)" { "" } else { output }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_command_without_its_wrappers() {
        for (text, want) in [
            (
                "<untrusted_context>\nOutput: red\n\nExit Code: 101\nProcess Group PGID: 7\n</untrusted_context>",
                "red\n",
            ),
            (
                "Command: ls\nDirectory: (root)\nOutput: a\nb\nError: (none)\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7",
                "a\nb",
            ),
            ("Output: (empty)\nProcess Group PGID: 7", ""),
            (
                "Chunk ID: x\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok\n",
                "ok",
            ),
            ("Command: not a wrapper", "Command: not a wrapper"),
            ("Exit Code: 3", "Exit Code: 3"),
            ("plain\n", "plain"),
            ("", ""),
        ] {
            assert_eq!(bare_output(text), want, "{text}");
        }
    }

    #[test]
    fn a_shell_escape_is_a_command_and_its_output() {
        let text = "I ran the following shell command:\n```sh\ngit status\n```\n\nThis produced the following result:\n```\nclean\n```";
        assert_eq!(shell_escape(text), Some(("git status", "clean")));
        assert_eq!(shell_escape("```sh\nls\n```"), Some(("ls", "")));
        assert_eq!(shell_escape("ls"), None);
        assert_eq!(shell_escape("``` ```"), None);
    }

    proptest::proptest! {
        #[test]
        fn an_output_never_grows(text in "((Output:|Exit Code: |Signal: |Command: )?[a-z \n]{0,9}){0,6}") {
            proptest::prop_assert!(text.contains(&*bare_output(&text)));
        }
    }
}
