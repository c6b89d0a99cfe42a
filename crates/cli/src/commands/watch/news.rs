//! Prints the prompts, replies, tool calls and errors of a session since they were last read.

use std::collections::{HashMap, HashSet};

use backstory_core::assemble::MessageEntry;
use backstory_core::model::{MessageId, MessageKind, Session, SessionId};
use backstory_core::transcript::{Block, BlockKind, Options, blocks, shell_escape};

use crate::commands::show::tool::{headline, is_running};
use crate::library::Library;
use crate::output::{Line, style};

/// The messages before the new ones that are read as well, because a tool may have been running in them.
const BACK: usize = 30;

/// The maximum number of lines about one change.
const SHOWN: usize = 12;

/// The indentation of lines, which are printed below the id of their session.
const MARGIN: &str = "          ";

/// The blocks of each session that were printed or that are older than this run.
#[derive(Default)]
pub(super) struct News {
    seen: HashMap<SessionId, HashSet<(MessageId, usize)>>,
}

impl News {
    /// Returns a line for each new prompt, reply, tool call and error of a session that had `before`
    /// messages. A session that cannot be read, for example because it is being deleted, has none.
    pub(super) fn lines(
        &mut self,
        library: &Library,
        session: &Session,
        before: usize,
        columns: Option<usize>,
    ) -> Vec<Line> {
        let Ok(assembled) = library.assembled(&session.id) else { return Vec::new() };
        let listed: Vec<&MessageEntry> = assembled.listed().collect();
        let from = before.min(listed.len()).saturating_sub(BACK);
        let read = library.archive.reader().messages(&assembled, &listed[from..], &|_| None);
        let Ok(messages) = read else { return Vec::new() };
        let is_first = !self.seen.contains_key(&session.id);
        let seen = self.seen.entry(session.id.clone()).or_default();
        let mut lines = Vec::new();
        for (place, message) in (from..).zip(&messages) {
            let found = blocks(std::slice::from_ref(message), &Options::default());
            for (n, block) in found.iter().enumerate() {
                let is_new = !is_running(block) && seen.insert((message.id.clone(), n));
                if is_new && !(is_first && place < before) {
                    lines.extend(line(session, block, columns));
                }
            }
        }
        let more = lines.len().saturating_sub(SHOWN);
        if more > 0 {
            let text = format!("{MARGIN}… {more} more before");
            lines.splice(..more, [Line::new().styled(style::DIM, text)]);
        }
        lines
    }
}

fn line(session: &Session, block: &Block<'_>, columns: Option<usize>) -> Option<Line> {
    let is_shell = block.message.kind == MessageKind::Shell;
    let said = |style, mark: &str, text: &str| {
        let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
        let begin = Line::new().text(MARGIN).styled(style, mark).text(" ");
        Some(begin.text(first).cut(columns))
    };
    match &block.body {
        BlockKind::You(text) if is_shell => {
            said(style::YOU, "!", shell_escape(text).map_or(text, |(command, _)| command))
        }
        BlockKind::You(text) => said(style::YOU, "›", text),
        BlockKind::Agent(text) => said(style::DIM, "·", text),
        BlockKind::Tool { call, argument, .. } => {
            Some(headline(session, call, argument.as_deref(), MARGIN, columns))
        }
        BlockKind::Error(text) => said(style::ERROR, "✗", text),
        BlockKind::Compress => said(style::DIM, "·", "compressed the conversation"),
        BlockKind::Thought(_) | BlockKind::Notice(_) => None,
    }
}
