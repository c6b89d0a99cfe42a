//! What could not be used, or only with help: where, and why.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;

use crate::read::json::Malformed;

/// One record, or a whole file, that was not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The line it stands on; none when it concerns the whole file.
    pub line: Option<u64>,
    /// The id of the record, where it has one.
    pub record: Option<String>,
    pub what: FaultKind,
}

/// What was wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultKind {
    /// The line is not JSON.
    Malformed(Malformed),
    /// The last line has no end yet and is not JSON: it is being written, or its writer died.
    Torn,
    /// Valid JSON of a kind nobody knows; what is known of it.
    Unknown(String),
    /// A message with a content that the agent's loader stumbles over and leaves out.
    LoaderDrops,
    /// An element of a list of messages that has no id, which the loader leaves out.
    NoId,
    /// Not JSON as it stands, but read after a repair. The agent skips the line.
    Repaired(Repair),
    /// The document ends early or is damaged; what stands before is read.
    CutOff(Malformed),
    /// The agent's loader refuses the whole file; it is read all the same.
    Refused(Cow<'static, str>),
    /// The file could not be read.
    Unreadable(String),
}

/// What it took to read a line that is not JSON as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Repair {
    ByteOrderMark,
    ControlCharacters,
    /// White space or NULs around the record that JSON does not allow.
    Padding,
    /// The record follows the torn beginning of another on the same line.
    AfterTorn,
}

impl FaultKind {
    /// Whether the record was used in spite of it.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::LoaderDrops | Self::Repaired(_) | Self::CutOff(_) | Self::Refused(_))
    }

    /// Whether it is only a file in the middle of being written.
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
        write!(f, "{} at column {}", self.reason, self.column)
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

/// How many faults of one file are kept in detail. A file of garbage has millions; their number is
/// known, the first ones tell what it is.
const DETAILS: usize = 1000;

/// The faults of one file, and the account of its records: used + ignored + unusable = all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    pub details: Vec<Fault>,
    pub used: u64,
    /// Records of a kind that is known and of no interest, and a last line that is not whole yet.
    pub ignored: u64,
    /// Records that could not be used at all.
    pub unusable: u64,
}

impl Faults {
    pub fn push(&mut self, line: Option<u64>, record: Option<String>, what: FaultKind) {
        if self.details.len() < DETAILS {
            self.details.push(Fault { line, record, what });
        }
    }

    /// How many a user should know of: not that a file is being written.
    pub fn count(&self) -> usize {
        self.details.iter().filter(|fault| !fault.what.is_pending()).count()
    }

    pub fn is_clean(&self) -> bool {
        self.count() == 0
    }
}
