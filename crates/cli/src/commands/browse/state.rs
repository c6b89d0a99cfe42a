//! The state of the browser. Events change it and leave questions for the worker; drawing reads it.

use backstory_core::model::{MessageId, SessionId};
use backstory_core::query::usage::{Group, Sum};
use crossterm::event::{KeyEvent, KeyEventKind};
use jiff::Timestamp;

use super::ask::{Ask, Bar, HitRow, Notice, Period};
use super::field::Field;
use super::keys::{self, Place};
use super::overlay::Overlay;
use super::page::Page;
use super::reading::Reading;
use super::rows::{List, Row};
use crate::follow_up::FollowUp;
use crate::last_search::{Found, Syntax};

/// The purpose of the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// To look around.
    Browse,
    /// To choose one session.
    Pick,
}

/// The way in which the browser was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Quit,
    /// A session was chosen.
    Chosen(SessionId),
    /// A session is to be continued in its agent.
    Resume(SessionId),
}

/// The screens that are always there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    Sessions,
    Search,
    Usage,
    Attention,
}

impl Tab {
    pub(super) const ALL: [Self; 4] = [Self::Sessions, Self::Search, Self::Usage, Self::Attention];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Sessions => "Sessions",
            Self::Search => "Search",
            Self::Usage => "Usage",
            Self::Attention => "Attention",
        }
    }

    /// Returns the name for a narrow terminal.
    pub(super) fn short(self) -> &'static str {
        match self {
            Self::Sessions => "List",
            Self::Search => "Find",
            Self::Usage => "Usage",
            Self::Attention => "Note",
        }
    }
}

/// The hits of a search.
#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) field: Field,
    /// The words that the hits are for.
    pub(super) words: String,
    pub(super) rows: Vec<HitRow>,
    pub(super) total: usize,
    pub(super) took_ms: u128,
    /// Similar words that occur, if there are none.
    pub(super) meant: Option<String>,
    pub(super) selected: usize,
    pub(super) scroll: usize,
}

/// The chart of usage.
#[derive(Debug)]
pub(super) struct Chart {
    pub(super) period: Period,
    pub(super) by_tokens: bool,
    pub(super) bars: Vec<Bar>,
    pub(super) total: Sum,
    pub(super) selected: usize,
    pub(super) scroll: usize,
}

/// The areas of the last frame that react to the mouse.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Areas {
    /// The first row of the list and the number of its rows.
    pub(super) list: (u16, u16),
    /// The widths that pages are laid out for.
    pub(super) preview: usize,
    pub(super) page: usize,
    /// The number of lines of the main area.
    pub(super) height: usize,
}

/// The browser.
#[derive(Debug)]
pub(super) struct App {
    pub(super) mode: Mode,
    pub(super) now: Timestamp,
    /// The folder that the program was started in.
    pub(super) here: Option<String>,
    pub(super) rows: Vec<Row>,
    pub(super) is_syncing: bool,
    pub(super) tab: Tab,
    pub(super) is_typing: bool,
    pub(super) list: List,
    pub(super) hits: Hits,
    pub(super) chart: Chart,
    pub(super) notices: Vec<Notice>,
    pub(super) notice: usize,
    /// The beginning of the selected session.
    pub(super) preview: Option<(SessionId, Page)>,
    /// The sessions being read, the newest last.
    pub(super) readings: Vec<Reading>,
    pub(super) overlay: Option<Overlay>,
    pub(super) status: Option<String>,
    pub(super) areas: Areas,
    pub(super) outcome: Option<Outcome>,
    /// Completes the commands to copy.
    pub(super) follow_up: FollowUp,
    /// A text to copy.
    pub(super) copied: Option<String>,
    pub(super) must_redraw: bool,
    pub(super) asked: Option<Ask>,
    pub(super) asks: Vec<Ask>,
}

impl App {
    pub(super) fn new(mode: Mode, rows: Vec<Row>, now: Timestamp, here: Option<String>) -> Self {
        let period = Period { group: Group::Daily, days: Some(30) };
        let mut app = Self {
            mode,
            now,
            here,
            rows,
            is_syncing: true,
            tab: Tab::Sessions,
            is_typing: true,
            list: List::new(),
            hits: Hits::default(),
            chart: Chart {
                period,
                by_tokens: false,
                bars: Vec::new(),
                total: Sum::default(),
                selected: 0,
                scroll: 0,
            },
            notices: Vec::new(),
            notice: 0,
            preview: None,
            readings: Vec::new(),
            overlay: None,
            status: None,
            areas: Areas::default(),
            outcome: None,
            follow_up: FollowUp::default(),
            copied: None,
            must_redraw: false,
            asked: None,
            asks: vec![Ask::Refresh, Ask::Attention, Ask::Usage(period)],
        };
        app.refilter();
        app
    }

    /// Returns the questions that came up since the last call.
    pub(super) fn take_asks(&mut self) -> Vec<Ask> {
        self.ask_preview();
        std::mem::take(&mut self.asks)
    }

    /// Asks for the preview of the selected session, once its width is known.
    fn ask_preview(&mut self) {
        let width = self.areas.preview;
        let Some(id) = self.list.selected.clone().filter(|_| width > 0) else { return };
        let words = self.list.words_in_text(&self.rows);
        let ask = Ask::Preview { id, width, words };
        if self.asked.as_ref() != Some(&ask) {
            self.asked = Some(ask.clone());
            self.asks.push(ask);
        }
    }

    /// Returns the place that keys are looked up for.
    pub(super) fn place(&self) -> Place {
        match self.tab {
            _ if !self.readings.is_empty() => Place::Reading,
            Tab::Sessions => Place::Sessions,
            Tab::Search => Place::Search,
            Tab::Usage => Place::Usage,
            Tab::Attention => Place::Attention,
        }
    }

    /// Returns the row of a session.
    pub(super) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Returns the session that commands are about.
    pub(super) fn session(&self) -> Option<SessionId> {
        if let Some(reading) = self.readings.last() {
            return Some(reading.id.clone());
        }
        match self.tab {
            Tab::Sessions => self.list.selected.clone(),
            Tab::Search => self.hits.rows.get(self.hits.selected).map(|hit| hit.session.clone()),
            Tab::Usage => None,
            Tab::Attention => self.notices.get(self.notice)?.session.clone(),
        }
    }

    pub(super) fn refilter(&mut self) {
        self.list.update(&self.rows, self.here.as_deref());
    }

    /// Handles a key.
    pub(super) fn key(&mut self, key: KeyEvent) {
        if key.kind == KeyEventKind::Release {
            return;
        }
        self.status = None;
        if self.overlay.is_some() {
            return self.overlay_key(key);
        }
        let is_typing = self.is_typing;
        let action = keys::action(self.place(), is_typing, key);
        if is_typing
            && action.is_none()
            && let Some(has_changed) = self.field().and_then(|field| field.key(key))
        {
            if has_changed {
                self.typed();
            }
            return;
        }
        if let Some(action) = action {
            self.act(action);
        }
    }

    /// Inserts pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        let field = match &mut self.overlay {
            Some(
                Overlay::Name { field, .. }
                | Overlay::Tags { field, .. }
                | Overlay::Export { field, .. },
            ) => Some(field),
            None if self.is_typing => self.field(),
            _ => None,
        };
        if let Some(field) = field {
            field.insert(text);
            if self.overlay.is_none() {
                self.typed();
            }
        }
    }

    /// Returns the field of the screen.
    pub(super) fn field(&mut self) -> Option<&mut Field> {
        if let Some(reading) = self.readings.last_mut() {
            return Some(&mut reading.find);
        }
        match self.tab {
            Tab::Sessions => Some(&mut self.list.field),
            Tab::Search => Some(&mut self.hits.field),
            Tab::Usage | Tab::Attention => None,
        }
    }

    /// Reacts to a change of the screen's field.
    fn typed(&mut self) {
        if let Some(reading) = self.readings.last_mut() {
            reading.find(true, true);
            return;
        }
        match self.tab {
            Tab::Sessions => {
                self.list.in_text = None;
                let words = self.list.field.text().trim().to_owned();
                if words.chars().count() > 1 {
                    self.asks.push(Ask::InText(words));
                }
                self.list.selected = None;
                self.list.scroll = 0;
                self.refilter();
            }
            Tab::Search => self.search(),
            Tab::Usage | Tab::Attention => {}
        }
    }

    fn search(&mut self) {
        // A correction belongs to the words before.
        self.hits.meant = None;
        match self.hits.field.text().trim() {
            "" => self.hits = Hits::default(),
            words => self.asks.push(Ask::Hits(words.to_owned())),
        }
    }

    pub(super) fn page(&self) -> isize {
        isize::try_from(self.areas.height.saturating_sub(1).max(1)).unwrap_or(1)
    }

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
        // The words that filter the list are searched for.
        if tab == Tab::Search && self.hits.field.is_empty() && !self.list.field.is_empty() {
            self.hits.field = Field::new(self.list.field.text().to_owned());
            self.search();
        }
        self.is_typing = match tab {
            Tab::Search => self.hits.field.is_empty(),
            Tab::Sessions | Tab::Usage | Tab::Attention => false,
        };
        match tab {
            Tab::Usage => self.asks.push(Ask::Usage(self.chart.period)),
            Tab::Attention => self.asks.push(Ask::Attention),
            Tab::Sessions | Tab::Search => {}
        }
    }

    /// Goes one step back: leaves the field, then the screen and what led to it, then empties the field. The
    /// picker has nothing to leave the field for, so that it is emptied at once.
    pub(super) fn back(&mut self) {
        if self.is_typing && self.mode == Mode::Browse {
            // The next word replaces a filter that matches nothing.
            let is_list = self.readings.is_empty() && self.tab == Tab::Sessions;
            if is_list && self.list.shown.is_empty() && !self.list.field.is_empty() {
                self.list.field.clear();
                self.typed();
            } else {
                self.is_typing = false;
            }
        } else if self.readings.pop().is_some() {
        } else if let Some(chip) = self.list.chip.take() {
            self.refilter();
            self.show(chip.from);
        } else if let Some(field) = self.field().filter(|field| !field.is_empty()) {
            field.clear();
            self.typed();
        } else if self.mode == Mode::Pick {
            self.outcome = Some(Outcome::Quit);
        } else {
            self.status = Some("`q` leaves, `?` explains the keys".to_owned());
        }
    }

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

    /// Replaces words that were not found by similar ones that occur.
    fn correct(&mut self) {
        let meant = match self.tab {
            Tab::Sessions => self.list.in_text.take().and_then(|found| found.meant),
            _ => self.hits.meant.take(),
        };
        if let Some((meant, field)) = meant.zip(self.field()) {
            *field = Field::new(meant);
            self.typed();
        }
    }

    /// Opens a session, at a message if one is named.
    pub(super) fn open_session(&mut self, id: SessionId, message: Option<MessageId>) {
        self.is_typing = false;
        self.asks.push(Ask::Page { id: id.clone(), width: self.areas.page.max(20) });
        self.readings.push(Reading::new(id, message));
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
            self.readings.pop();
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
