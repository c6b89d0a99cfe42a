//! Lists the command lines that shell tools ran, in order.

use jiff::Timestamp;

use crate::archive::{Activities, Archive, ArchiveError, LineHead, LineTexts, TextReader};
use crate::model::{SessionId, ToolStatus};
use crate::time::Period;

/// One run of a shell tool.
#[derive(Debug, Clone)]
pub struct Run {
    /// The time it finished.
    pub at: Option<Timestamp>,
    /// The session that ran it.
    pub session: SessionId,
    /// The command line.
    pub command: String,
    /// Its outcome; a command with an exit code other than 0 has failed.
    pub status: ToolStatus,
    /// The exit code, if it is recorded.
    pub exit_code: Option<i32>,
}

/// A run without its command line.
#[derive(Debug, Clone)]
pub struct RunHead {
    /// The time it finished.
    pub at: Option<Timestamp>,
    /// Its outcome; a command with an exit code other than 0 has failed.
    pub status: ToolStatus,
    /// The session that ran it.
    session: SessionId,
    /// Its place among the runs of the session.
    place: usize,
    exit_code: Option<i32>,
}

/// Runs whose command lines are read only when they are shown.
pub struct Log<'a> {
    activities: Activities<'a>,
    /// The runs, oldest first; those without a time come before all others.
    pub heads: Vec<RunHead>,
}

impl<'a> Log<'a> {
    /// Lists the runs of the sessions `ids` in a period.
    pub fn new(
        archive: &'a Archive,
        ids: &[SessionId],
        period: &Period,
    ) -> Result<Self, ArchiveError> {
        let activities = archive.activities(ids)?;
        let mut heads = Vec::new();
        for (id, lines) in ids.iter().zip(activities.parts::<Vec<LineHead>>(ids)?) {
            let lines = lines.into_iter().enumerate().filter(|(_, line)| period.includes(line.at));
            heads.extend(lines.map(|(place, LineHead { at, status, exit_code })| RunHead {
                at,
                status,
                exit_code,
                session: id.clone(),
                place,
            }));
        }
        heads.sort_by_key(|head| head.at);
        Ok(Self { activities, heads })
    }

    /// Reads the command lines of some of the runs.
    pub fn read(&self, heads: &[RunHead]) -> Result<Vec<Run>, ArchiveError> {
        let mut texts = TextReader::<LineTexts>::new(&self.activities);
        let mut out = Vec::with_capacity(heads.len());
        for head in heads {
            let Some(command) = texts.take(&head.session, head.place)? else { continue };
            out.push(Run {
                at: head.at,
                session: head.session.clone(),
                command,
                status: head.status,
                exit_code: head.exit_code,
            });
        }
        Ok(out)
    }
}

/// Returns the runs of the sessions `ids` in a period, oldest first; those without a time come before all
/// others.
pub fn log(
    archive: &Archive,
    ids: &[SessionId],
    period: &Period,
) -> Result<Vec<Run>, ArchiveError> {
    let log = Log::new(archive, ids, period)?;
    log.read(&log.heads)
}
