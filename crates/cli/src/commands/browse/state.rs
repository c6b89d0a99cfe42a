//! The state of the browser. Events change it and leave questions for the worker; drawing reads it.

use backstory_core::model::SessionId;
use backstory_core::query::usage::{Group, Sum};
use jiff::Timestamp;

use super::ask::{Ask, Bar, HitRow, Notice, Period};
use super::field::Field;
use super::keys::Place;
use super::overlay::Overlay;
use super::page::Page;
use super::reading::Reading;
use super::rows::{List, Row};
use crate::follow_up::FollowUp;

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
    /// Whether the user chose the period.
    pub(super) is_chosen: bool,
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
    /// The earlier names and tags that `u` restores; the newest change is last.
    pub(super) undo: Vec<Ask>,
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
                is_chosen: false,
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
            undo: Vec::new(),
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

    /// Lists the sessions again, and selects the first one.
    pub(super) fn refilter_from_top(&mut self) {
        (self.list.selected, self.list.is_chosen) = (None, false);
        (self.list.scroll, self.list.preview_scroll) = (0, 0);
        self.refilter();
    }
}
