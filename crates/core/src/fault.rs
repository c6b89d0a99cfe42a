//! Defines faults: records that could not be used, or only after a repair, with their place and the
//! reason.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::read::json::Malformed;

/// A problem of one record, or of a whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The line of the record; none for the whole file.
    pub line: Option<u64>,
    /// The id of the record, if it has one.
    pub record: Option<String>,
    /// The kind of problem.
    pub what: FaultKind,
}

/// The kind of a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultKind {
    /// The line is not JSON.
    Malformed(Malformed),
    /// The last line has no end yet and is not JSON: it is being written, or its writer was killed.
    Torn,
    /// Valid JSON of an unknown kind, with a description.
    Unknown(String),
    /// A message whose content the agent's own loader fails on, so that it drops the message.
    LoaderDrops,
    /// An element of a list of messages without an id, which the agent's loader skips.
    NoId,
    /// A line that is not valid JSON, but could be read after a repair. The agent's loader skips it.
    Repaired(Repair),
    /// The document ends early or is damaged; the part before that is used.
    CutOff(Malformed),
    /// The agent's loader rejects the whole file; it is read anyway.
    Refused(Cow<'static, str>),
    /// The file could not be read.
    Unreadable(String),
}

/// The repair that made a line valid JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Repair {
    /// A byte order mark was removed.
    ByteOrderMark,
    /// Control characters in strings were escaped.
    ControlCharacters,
    /// White space or NULs around the record that JSON does not allow.
    Padding,
    /// The record follows the torn beginning of another on the same line.
    AfterTorn,
}

impl FaultKind {
    /// Returns whether the record was used anyway.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::LoaderDrops | Self::Repaired(_) | Self::CutOff(_) | Self::Refused(_))
    }

    /// Returns whether the file is only being written at the moment.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Torn)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(at) => write!(f, "not JSON: {at}"),
            Self::Torn => {
                f.write_str("the last line is incomplete (still being written, or cut off)")
            }
            Self::Unknown(what) => write!(f, "unknown kind of record ({what})"),
            Self::LoaderDrops => f.write_str("the agent leaves this message out: odd content"),
            Self::NoId => f.write_str("a message without an id, which the agent leaves out"),
            Self::Repaired(repair) => write!(f, "the agent skips this line: {repair}"),
            Self::CutOff(at) => write!(f, "the document is damaged: {at}; read up to there"),
            Self::Refused(why) => write!(f, "the agent refuses this file: {why}"),
            Self::Unreadable(why) => write!(f, "cannot be read: {why}"),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The words of the JSON parser for a text that is cut off.
        match self.reason.strip_prefix("EOF while parsing ") {
            Some(inside) => write!(f, "it ends inside {inside}")?,
            None => f.write_str(&self.reason)?,
        }
        match self.column {
            0 => Ok(()),
            column => write!(f, " at column {column}"),
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByteOrderMark => "it starts with a byte-order mark",
            Self::ControlCharacters => "raw control characters in a string",
            Self::Padding => "bytes around the record that JSON does not allow",
            Self::AfterTorn => "the record follows a torn one on the same line",
        })
    }
}

/// The number of faults per file that are stored in detail. A file of garbage has millions; the
/// first ones are enough to recognize it.
const DETAILS: usize = 1000;

/// The number of kinds of ignored records per file that are counted separately. Agents have about fifty.
const KINDS: usize = 200;

/// The faults of one file, and counts of its records: used + ignored + unusable = all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// The first faults in detail.
    pub details: Vec<Fault>,
    /// Records that were used.
    pub used: u64,
    /// Records of kinds that are not needed, and an incomplete last line.
    pub ignored: u64,
    /// The number of ignored records of each kind, as the agent calls it.
    pub ignored_kinds: BTreeMap<Box<str>, u64>,
    /// Records that could not be used.
    pub unusable: u64,
}

impl Faults {
    /// Adds a fault.
    pub fn push(&mut self, line: Option<u64>, record: Option<String>, what: FaultKind) {
        if self.details.len() < DETAILS {
            self.details.push(Fault { line, record, what });
        }
    }

    /// Counts a record of a kind that is not needed.
    pub(crate) fn ignore(&mut self, kind: &str) {
        self.ignored += 1;
        if let Some(number) = self.ignored_kinds.get_mut(kind) {
            *number += 1;
        } else if self.ignored_kinds.len() < KINDS {
            self.ignored_kinds.insert(kind.into(), 1);
        }
    }

    /// Returns the number of faults that matter to a user; a file that is being written does not
    /// count.
    pub fn count(&self) -> usize {
        self.details.iter().filter(|fault| !fault.what.is_pending()).count()
    }

    /// Returns whether there are no such faults.
    pub fn is_clean(&self) -> bool {
        self.count() == 0
    }
}
