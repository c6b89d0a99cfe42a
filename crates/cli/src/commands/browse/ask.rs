//! The questions that the screen asks, and the answers it gets.

use std::collections::HashMap;

use backstory_core::model::{MessageId, SessionId};
use backstory_core::pricing::Bill;
use backstory_core::query::usage::{Group, Sum};
use backstory_core::search::Bit;

use super::page::Page;
use super::rows::{InText, Row};

/// A question for the worker. A newer one of the same kind replaces one that is not answered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    /// Reads changed files.
    Refresh,
    /// Lays out the beginning of a session, or of the message that matches some words best.
    Preview {
        id: SessionId,
        width: usize,
        words: Option<String>,
    },
    /// Lays out a session.
    Page {
        id: SessionId,
        width: usize,
    },
    /// Finds the message of a session that matches some words best.
    Place {
        id: SessionId,
        words: String,
    },
    /// Finds sessions whose text contains some words.
    InText(String),
    /// Finds messages.
    Hits(String),
    Usage(Period),
    /// Finds the sessions behind a bar.
    Behind {
        period: Period,
        key: String,
        label: String,
    },
    Attention,
    Name {
        id: SessionId,
        name: Option<String>,
    },
    /// Replaces the tags of a session.
    Tags {
        id: SessionId,
        tags: Vec<String>,
    },
    Export {
        id: SessionId,
        path: String,
    },
    /// Opens a session in the web app.
    Web(SessionId),
}

/// The period and the grouping of bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) group: Group,
    /// The number of days until today; `None` for all time.
    pub(super) days: Option<i64>,
}

/// A matching message.
#[derive(Debug, Clone)]
pub(super) struct HitRow {
    pub(super) session: SessionId,
    /// The session that is listed: itself, or the one that started the subagent.
    pub(super) listed: SessionId,
    pub(super) message: Option<MessageId>,
    pub(super) field: &'static str,
    pub(super) snippet: Vec<Bit>,
}

/// One bar of a chart.
#[derive(Debug, Clone)]
pub(super) struct Bar {
    pub(super) key: String,
    pub(super) label: String,
    pub(super) sum: Sum,
}

/// Something that the user should know.
#[derive(Debug, Clone)]
pub(super) struct Notice {
    pub(super) text: String,
    /// When the session will be deleted, and whether the archive has it.
    pub(super) deletion: Option<(String, bool)>,
    /// The session that it is about.
    pub(super) session: Option<SessionId>,
    /// A command that helps.
    pub(super) command: Option<String>,
}

impl Notice {
    /// Returns whether something may be lost or wrong.
    pub(super) fn is_urgent(&self) -> bool {
        self.deletion.as_ref().is_none_or(|(_, is_kept)| !is_kept)
    }
}

/// An answer of the worker.
#[derive(Debug)]
pub(super) enum Answer {
    Rows(Vec<Row>),
    /// All sessions as the archive has them; until then there are only the newest.
    Loaded(Vec<Row>),
    Preview {
        id: SessionId,
        page: Page,
    },
    Page {
        id: SessionId,
        page: Page,
    },
    Place {
        id: SessionId,
        words: String,
        message: MessageId,
    },
    InText {
        words: String,
        found: InText,
    },
    Hits {
        words: String,
        hits: Vec<HitRow>,
        total: usize,
        took_ms: u128,
        meant: Option<String>,
    },
    Usage {
        period: Period,
        bars: Vec<Bar>,
        total: Sum,
    },
    Behind {
        label: String,
        /// The cost of the bar's calls, by listed session.
        costs: HashMap<SessionId, Bill>,
        /// The number of subagents that are not listed.
        subagents: u64,
    },
    Attention(Vec<Notice>),
    /// The web app has a session at this address.
    Web {
        address: String,
        is_open: bool,
    },
    /// A sentence for the status line.
    Done(String),
    Failed(String),
}
