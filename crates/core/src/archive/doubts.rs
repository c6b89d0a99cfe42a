//! Finds the reasons to doubt the numbers of a session when it is assembled.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::calls::SessionCalls;
use super::{Archive, ArchiveError, codec};
use crate::assemble::SessionFacts;
use crate::model::MessageId;

/// Reasons to doubt the numbers of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Doubts {
    /// Token counts that cannot be right.
    pub(crate) problems: Vec<TokenProblem>,
    /// The number of messages that its files repeat.
    pub(crate) repeated: u64,
    /// The number of calls that another session made.
    pub(crate) imported: u64,
    /// The ids of messages that were removed for an unknown reason.
    pub(crate) unexplained: Vec<MessageId>,
    /// The tokens of calls that the agent would no longer load.
    pub(crate) outside: u64,
    /// Its first file, if the sums are lower bounds.
    pub(crate) lower_bound: Option<String>,
    /// The id of a file whose history it continues and that is missing.
    pub(crate) missing: Option<String>,
}

/// A token count that cannot be right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenProblem {
    /// The file that contains it.
    #[serde(with = "crate::path_text")]
    pub file: PathBuf,
    /// The id of its message.
    pub message: MessageId,
    /// A description of the problem.
    pub what: String,
}

impl Doubts {
    /// Examines the messages of a session.
    pub(super) fn of(session: &SessionFacts) -> Self {
        let count = |count: usize| count as u64;
        let listed = || session.listed();
        let unexplained = listed().filter(|entry| entry.facts.unexplained);
        Self {
            problems: problems(session),
            repeated: count(session.messages.iter().filter(|entry| entry.facts.is_copy).count()),
            imported: count(listed().filter(|e| !e.owned && e.facts.call.is_some()).count()),
            unexplained: unexplained.map(|entry| entry.facts.id.clone()).collect(),
            outside: 0,
            lower_bound: None,
            missing: session.missing.clone(),
        }
    }

    /// Adds what the calls of the session show.
    pub(super) fn add_calls(&mut self, session: &SessionFacts, calls: &SessionCalls) {
        let outside = calls.calls.iter().filter(|call| !call.current);
        self.outside = outside.map(|call| call.usage.total()).sum();
        if calls.calls.iter().any(|call| call.at_least) {
            let file = session.own_files().next().and_then(|file| file.path.file_name());
            self.lower_bound = Some(file.unwrap_or_default().to_string_lossy().into_owned());
        }
    }

    /// Returns the stored form; `None` if there is no doubt.
    pub(super) fn encode(&self, session: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
        (*self != Self::default()).then(|| codec::encode(self, session)).transpose()
    }
}

fn problems(session: &SessionFacts) -> Vec<TokenProblem> {
    let mut out = Vec::new();
    for entry in session.listed().filter(|entry| entry.owned) {
        let Some(call) = &entry.facts.call else { continue };
        let file = entry.places.first().and_then(|place| session.files.get(place.file));
        out.extend(call.problems().iter().map(|what| TokenProblem {
            file: file.map(|file| file.path.clone()).unwrap_or_default(),
            message: entry.facts.id.clone(),
            what: what.clone(),
        }));
    }
    out
}

impl Archive {
    /// Passes the number of each session whose numbers are in doubt, and the reasons, to `each`.
    pub(crate) fn each_doubt(&self, mut each: impl FnMut(i64, Doubts)) -> Result<(), ArchiveError> {
        let mut find =
            self.db.prepare("SELECT session, doubts FROM summaries WHERE doubts IS NOT NULL")?;
        let mut rows = find.query([])?;
        while let Some(row) = rows.next()? {
            let doubts = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
            each(row.get(0)?, codec::decode(doubts, "a session")?);
        }
        Ok(())
    }
}
