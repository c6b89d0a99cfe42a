//! A session on the screen: which blocks are unfolded, the position of the cursor, and the matches.

use std::collections::HashSet;

use backstory_core::model::{MessageId, SessionId};

use super::field::Field;
use super::page::{Block, Kind, Page};
use crate::output::Line;

/// The blocks to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Only {
    Everything,
    Edits,
    Prompts,
}

impl Only {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Everything => "all",
            Self::Edits => "edits",
            Self::Prompts => "prompts",
        }
    }

    fn takes(self, kind: Kind) -> bool {
        match self {
            Self::Everything => true,
            Self::Edits => matches!(kind, Kind::Prompt | Kind::Edit),
            Self::Prompts => kind == Kind::Prompt,
        }
    }
}

/// A line that contains the words of the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// The one under the cursor, or the next one.
    FromHere,
    Next,
    Previous,
}

/// The result of looking for a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    Match,
    /// A match that comes after the end, or before the beginning.
    AtOtherEnd,
}

/// One session being read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) id: SessionId,
    /// `None` while it is being read.
    pub(super) page: Option<Page>,
    /// The message to begin at.
    pub(super) anchor: Option<MessageId>,
    /// The visible lines: block, and line within its head and body.
    lines: Vec<(usize, usize)>,
    pub(super) cursor: usize,
    pub(super) scroll: usize,
    /// The places of the blocks that are not in their usual state.
    toggled: HashSet<usize>,
    has_tools: bool,
    has_thoughts: bool,
    pub(super) only: Only,
    pub(super) find: Field,
    /// The number of the match under the cursor, from 1 on, and of all matches.
    pub(super) found: Option<(usize, usize)>,
    /// Whether letters went into the filter when it was opened.
    pub(super) was_typing: bool,
    /// Whether new lines scroll into view.
    pub(super) follows: bool,
}

impl Reading {
    pub(super) fn new(id: SessionId, anchor: Option<MessageId>, was_typing: bool) -> Self {
        Self {
            id,
            page: None,
            anchor,
            lines: Vec::new(),
            cursor: 0,
            scroll: 0,
            toggled: HashSet::new(),
            has_tools: false,
            has_thoughts: false,
            only: Only::Everything,
            find: Field::default(),
            found: None,
            was_typing,
            follows: false,
        }
    }

    /// Shows a page: at the anchor the first time, and at the same line of the same block after that.
    pub(super) fn show(&mut self, page: Page) {
        let place = self.lines.get(self.cursor).copied();
        let above = self.cursor.saturating_sub(self.scroll);
        let is_at_end = self.cursor + 1 >= self.lines.len();
        self.page = Some(page);
        self.lay();
        if let Some(anchor) = self.anchor.take() {
            self.go_to_message(&anchor);
        } else if let Some(place) = place {
            let after = self.lines.partition_point(|line| *line <= place);
            self.cursor = after.saturating_sub(1);
            self.scroll = self.cursor.saturating_sub(above);
        }
        if self.follows && is_at_end {
            self.cursor = self.lines.len().saturating_sub(1);
        }
    }

    /// Moves to a message that contains some words, now or when the page is there.
    pub(super) fn begin_at(&mut self, message: MessageId, words: String) {
        self.find = Field::new(words);
        if self.page.is_some() {
            self.go_to_message(&message);
        } else {
            self.anchor = Some(message);
        }
    }

    /// Moves to a message, and within it to the first line that contains the words of the field.
    fn go_to_message(&mut self, message: &str) {
        let at = self.blocks().iter().position(|block| block.message == message).unwrap_or(0);
        self.go_to(at);
        let matches = self.matches();
        let is_in = |(place, _): &(usize, usize)| self.blocks()[*place].message == message;
        if let Some(first) = matches.iter().position(is_in) {
            self.go_to_match(&matches, first);
        }
    }

    fn blocks(&self) -> &[Block] {
        self.page.as_ref().map_or(&[], |page| &page.blocks)
    }

    fn is_unfolded(&self, place: usize, block: &Block) -> bool {
        let usual = match block.kind {
            Kind::Thought => self.has_thoughts,
            Kind::Edit => self.has_tools || self.only == Only::Edits,
            _ => self.has_tools,
        };
        usual != self.toggled.contains(&place)
    }

    /// Lists the visible lines.
    fn lay(&mut self) {
        let mut lines = Vec::new();
        for (place, block) in self.blocks().iter().enumerate() {
            if !self.only.takes(block.kind) {
                continue;
            }
            let body = if self.is_unfolded(place, block) { block.body.len() } else { 0 };
            lines.extend((0..block.head.len() + body).map(|line| (place, line)));
        }
        self.lines = lines;
        self.cursor = self.cursor.min(self.lines.len().saturating_sub(1));
    }

    /// Returns the number of visible lines.
    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns a visible line, and whether it begins a block that can be unfolded.
    pub(super) fn line(&self, at: usize) -> Option<(&Line, bool)> {
        let (place, line) = *self.lines.get(at)?;
        let block = &self.blocks()[place];
        let text = block.head.get(line).or_else(|| block.body.get(line - block.head.len()))?;
        let is_folded = !block.body.is_empty() && !self.is_unfolded(place, block);
        Some((text, is_folded && line + 1 == block.head.len()))
    }

    /// Returns the place of the block under the cursor.
    fn block(&self) -> Option<usize> {
        self.lines.get(self.cursor).map(|(place, _)| *place)
    }

    /// Returns the number of the current prompt and of all prompts.
    pub(super) fn prompts(&self) -> (usize, usize) {
        let is_prompt = |block: &&Block| block.kind == Kind::Prompt;
        let end = self.block().map_or(0, |place| place + 1);
        let blocks = self.blocks();
        let until = blocks[..end.min(blocks.len())].iter().filter(is_prompt).count();
        (until, blocks.iter().filter(is_prompt).count())
    }

    pub(super) fn step(&mut self, by: isize) {
        let last = self.lines.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(by).min(last);
        self.follows &= by > 0;
    }

    pub(super) fn end(&mut self) {
        self.cursor = self.lines.len().saturating_sub(1);
        self.follows = true;
    }

    /// Moves the cursor to the first visible line of a block that is not blank. The block then is at the top.
    fn go_to(&mut self, block: usize) {
        if let Some(at) = self.lines.iter().position(|(place, _)| *place >= block) {
            let is_blank = |at: &usize| self.line(*at).is_some_and(|(line, _)| line.width() == 0);
            let blank = (at..self.len()).take_while(is_blank).count();
            self.cursor = (at + blank).min(self.len() - 1);
            self.scroll = at;
        }
    }

    /// Moves to the next or the previous prompt.
    pub(super) fn prompt(&mut self, forward: bool) {
        let here = self.block().unwrap_or(0);
        let prompts: Vec<usize> = (0..self.blocks().len())
            .filter(|place| self.blocks()[*place].kind == Kind::Prompt)
            .collect();
        let next = if forward {
            prompts.iter().find(|place| **place > here)
        } else {
            prompts.iter().rev().find(|place| **place < here)
        };
        if let Some(place) = next {
            self.go_to(*place);
        }
        self.follows = false;
    }

    /// Unfolds or folds the block under the cursor. Returns the session of the subagent that it started.
    pub(super) fn unfold(&mut self, wanted: Option<bool>) -> Option<SessionId> {
        let place = self.block()?;
        let block = &self.blocks()[place];
        let is_unfolded = self.is_unfolded(place, block);
        if wanted != Some(false) && (is_unfolded || block.body.is_empty()) && block.agent.is_some()
        {
            return block.agent.clone();
        }
        if !block.body.is_empty() && wanted.is_none_or(|wanted| wanted != is_unfolded) {
            let first = self.lines.iter().position(|(other, _)| *other == place);
            if !self.toggled.remove(&place) {
                self.toggled.insert(place);
            }
            self.lay();
            if is_unfolded && let Some(first) = first {
                self.cursor = first;
            }
        }
        None
    }

    pub(super) fn toggle_tools(&mut self) {
        self.has_tools = !self.has_tools;
        self.lay_again();
    }

    pub(super) fn toggle_thoughts(&mut self) {
        self.has_thoughts = !self.has_thoughts;
        self.lay_again();
    }

    pub(super) fn next_only(&mut self) {
        self.only = match self.only {
            Only::Everything => Only::Edits,
            Only::Edits => Only::Prompts,
            Only::Prompts => Only::Everything,
        };
        self.lay_again();
    }

    /// Lists the lines again, with the cursor at the same block.
    fn lay_again(&mut self) {
        let block = self.block();
        self.toggled.clear();
        self.lay();
        if let Some(block) = block {
            self.go_to(block);
        }
    }

    /// Moves to a line that contains the words of the field, unfolding its block.
    pub(super) fn find(&mut self, wanted: Match) -> Found {
        let matches = self.matches();
        let here = self.lines.get(self.cursor).copied().unwrap_or_default();
        let last = matches.len().saturating_sub(1);
        // The search continues at the other end.
        let next = match wanted {
            Match::FromHere => matches.iter().position(|at| *at >= here).unwrap_or(0),
            Match::Next => matches.iter().position(|at| *at > here).unwrap_or(0),
            Match::Previous => matches.iter().rposition(|at| *at < here).unwrap_or(last),
        };
        self.found = None;
        if matches.is_empty() {
            return Found::Nothing;
        }
        let is_behind = match wanted {
            Match::FromHere => false,
            Match::Next => matches[next] <= here,
            Match::Previous => matches[next] >= here,
        };
        self.go_to_match(&matches, next);
        self.follows = false;
        if is_behind { Found::AtOtherEnd } else { Found::Match }
    }

    /// Returns the lines, folded or not, that contain the words of the field: block, and line within it.
    fn matches(&self) -> Vec<(usize, usize)> {
        let words = self.find.text().to_lowercase();
        let mut out = Vec::new();
        if words.is_empty() {
            return out;
        }
        for (place, block) in self.blocks().iter().enumerate() {
            if !self.only.takes(block.kind) {
                continue;
            }
            let lines = block.head.iter().chain(&block.body).enumerate();
            let found = lines.filter(|(_, line)| line.plain().to_lowercase().contains(&words));
            out.extend(found.map(|(line, _)| (place, line)));
        }
        out
    }

    /// Moves to one of the matches, and unfolds its block.
    fn go_to_match(&mut self, matches: &[(usize, usize)], at: usize) {
        let (place, line) = matches[at];
        let block = &self.blocks()[place];
        if line >= block.head.len()
            && !self.is_unfolded(place, block)
            && !self.toggled.remove(&place)
        {
            self.toggled.insert(place);
        }
        self.lay();
        self.cursor = self.lines.iter().position(|at| *at == (place, line)).unwrap_or(0);
        self.found = Some((at + 1, matches.len()));
    }
}
