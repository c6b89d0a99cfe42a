//! Moves between screens, lists and sessions, with the keyboard and with the mouse.

use backstory_core::model::{MessageId, SessionId};

use super::ask::Ask;
use super::field::Field;
use super::reading::Reading;
use super::state::{App, Mode, Outcome, Tab};
use crate::last_search::{Found, Syntax};

/// One step back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    /// Out of the field.
    Commands,
    /// Out of a session.
    List,
    /// The text of the field is emptied.
    Empty,
    /// The last condition of the list is removed.
    Widen,
    /// To the first screen.
    Sessions,
    /// Out of the picker.
    Leave,
}

impl Back {
    /// Returns the word in the footer, which names another key out of the field.
    pub(super) fn hint(self) -> Option<&'static str> {
        match self {
            Self::Commands => None,
            Self::Empty => Some("clear"),
            Self::Leave => Some("leave"),
            Self::List | Self::Widen | Self::Sessions => Some("back"),
        }
    }
}

impl App {
    /// Returns the number of lines that a page key scrolls.
    pub(super) fn page(&self) -> isize {
        isize::try_from(self.areas.height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    /// Moves the selection, or scrolls the session being read.
    pub(super) fn step(&mut self, by: isize) {
        if let Some(reading) = self.readings.last_mut() {
            return reading.step(by);
        }
        let within = |at: usize, count: usize| at.saturating_add_signed(by).min(count.max(1) - 1);
        match self.tab {
            Tab::Sessions => self.list.step(&self.rows, by),
            Tab::Search => self.hits.selected = within(self.hits.selected, self.hits.rows.len()),
            Tab::Usage => self.chart.selected = within(self.chart.selected, self.chart.bars.len()),
            Tab::Attention => self.notice = within(self.notice, self.notices.len()),
        }
    }

    /// Shows a tab.
    pub(super) fn show(&mut self, tab: Tab) {
        self.readings.clear();
        self.tab = tab;
        // Whoever opens the search is about to type.
        self.is_typing = tab == Tab::Search;
        match tab {
            Tab::Usage => self.asks.push(Ask::Usage(self.chart.period)),
            Tab::Attention => self.asks.push(Ask::Attention),
            Tab::Sessions | Tab::Search => {}
        }
    }

    /// Returns what one step back is. The picker has nothing to leave the field for.
    pub(super) fn way_back(&self) -> Option<Back> {
        let is_picker = self.mode == Mode::Pick;
        let is_filtered = match self.tab {
            Tab::Sessions => !self.list.field.is_empty(),
            Tab::Search => !self.hits.field.is_empty(),
            Tab::Usage | Tab::Attention => false,
        };
        let is_narrowed = self.tab == Tab::Sessions && self.list.is_narrowed();
        Some(match self.readings.last() {
            Some(_) if self.is_typing => Back::Commands,
            Some(_) => Back::List,
            None if is_filtered => Back::Empty,
            None if is_narrowed && (is_picker || !self.is_typing) => Back::Widen,
            None if is_picker => Back::Leave,
            None if self.is_typing => Back::Commands,
            None if self.tab != Tab::Sessions => Back::Sessions,
            None => return None,
        })
    }

    /// Goes one step back.
    pub(super) fn back(&mut self) {
        match self.way_back() {
            Some(Back::Commands) => self.is_typing = false,
            Some(Back::List) => self.close(),
            Some(Back::Empty) => {
                if let Some(field) = self.field() {
                    field.clear();
                    self.typed();
                }
            }
            Some(Back::Widen) => {
                let from = self.list.widen();
                self.refilter();
                if let Some(tab) = from {
                    self.show(tab);
                }
            }
            Some(Back::Sessions) => self.show(Tab::Sessions),
            Some(Back::Leave) => self.outcome = Some(Outcome::Quit),
            None => self.status = Some("`q` leaves, `?` explains the keys".to_owned()),
        }
    }

    /// Closes the session, and types again if that was so before it.
    fn close(&mut self) {
        if let Some(reading) = self.readings.pop() {
            self.is_typing = reading.was_typing;
        }
    }

    /// Opens what is selected.
    pub(super) fn open(&mut self) {
        if let Some(reading) = self.readings.last_mut() {
            if self.is_typing {
                self.is_typing = false;
            } else if let Some(agent) = reading.unfold(None) {
                self.open_session(agent, None);
            }
            return;
        }
        match self.tab {
            Tab::Sessions => {
                let Some(id) = self.list.selected.clone() else { return self.correct() };
                self.list.is_chosen = true;
                if self.mode == Mode::Pick {
                    self.outcome = Some(Outcome::Chosen(id));
                    return;
                }
                // The place is found before the page is laid out, so that it begins there.
                if let Some(words) = self.list.words_in_text(&self.rows) {
                    self.asks.push(Ask::Place { id: id.clone(), words });
                }
                self.open_session(id, None);
            }
            Tab::Search => {
                let Some(hit) = self.hits.rows.get(self.hits.selected).cloned() else {
                    return self.correct();
                };
                let words = self.hits.words.clone();
                self.open_session(hit.session, hit.message);
                if let Some(reading) = self.readings.last_mut() {
                    reading.find = Field::new(words);
                }
            }
            Tab::Usage => {
                let Some(bar) = self.chart.bars.get(self.chart.selected) else { return };
                let (key, label) = (bar.key.clone(), bar.label.clone());
                self.asks.push(Ask::Behind { period: self.chart.period, key, label });
            }
            Tab::Attention => {
                if let Some(id) = self.session() {
                    self.open_session(id, None);
                }
            }
        }
    }

    /// Opens a session, at a message if one is named.
    pub(super) fn open_session(&mut self, id: SessionId, message: Option<MessageId>) {
        let was_typing = std::mem::take(&mut self.is_typing);
        self.asks.push(Ask::Page { id: id.clone(), width: self.areas.page.max(20) });
        self.readings.push(Reading::new(id, message, was_typing));
    }

    /// Opens a hit of the last search at its message.
    pub(super) fn open_hit(&mut self, hit: Found) {
        self.open_session(hit.place.session, hit.place.message);
        if let Some(reading) = self.readings.last_mut().filter(|_| hit.syntax != Syntax::Regex) {
            reading.find = Field::new(hit.query);
        }
    }

    /// Opens the session above or below in the list instead.
    pub(super) fn neighbour(&mut self, by: isize) {
        let Some(reading) = self.readings.last() else { return };
        self.list.selected = Some(reading.id.clone());
        self.list.step(&self.rows, by);
        if let Some(id) = self.list.selected.clone().filter(|id| *id != reading.id) {
            self.close();
            self.open_session(id, None);
        }
    }

    /// Selects the row at a position of the screen; a second click opens it.
    pub(super) fn click(&mut self, line: u16) {
        let (first, count) = self.areas.list;
        let Some(offset) = line.checked_sub(first).filter(|offset| *offset < count) else { return };
        if self.overlay.is_some() || !self.readings.is_empty() {
            return;
        }
        let offset = usize::from(offset);
        let is_second = match self.tab {
            Tab::Sessions => {
                let Some(row) = self.list.shown.get(self.list.scroll + offset) else { return };
                let id = Some(self.rows[*row].id.clone());
                self.list.is_chosen = true;
                std::mem::replace(&mut self.list.selected, id.clone()) == id
            }
            Tab::Search => {
                let at = self.hits.scroll + offset;
                at < self.hits.rows.len() && std::mem::replace(&mut self.hits.selected, at) == at
            }
            Tab::Usage => {
                let at = self.chart.scroll + offset;
                at < self.chart.bars.len() && std::mem::replace(&mut self.chart.selected, at) == at
            }
            Tab::Attention => {
                offset < self.notices.len() && std::mem::replace(&mut self.notice, offset) == offset
            }
        };
        if is_second {
            self.open();
        }
    }

    /// Scrolls by the wheel.
    pub(super) fn wheel(&mut self, by: isize) {
        if self.overlay.is_none() {
            self.step(by);
        }
    }
}
