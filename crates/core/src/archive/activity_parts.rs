//! Splits the activity of a session into parts. Each is stored by itself, because a report needs only one or two of
//! them, and long texts only of what it shows.

use std::ops::Range;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::activity_texts::{Examples, LineTexts, TypedTexts};
use super::file_sums::{FileSum, file_sums};
use super::program_sums::{ProgramSum, program_sums};
use super::{ArchiveError, codec};
use crate::activity::{Activity, CommandLine, FailedCall, FileAccess, Run, TypedText};
use crate::model::{MessageId, ToolStatus};

/// The kind of the empty part of sessions whose activity is stored.
pub(super) const READ: i64 = 0;

/// The number of bits for the session in the number of a part.
const BITS: i64 = 48;

/// Returns the number of the part of a kind that a session has.
pub(super) fn number(kind: i64, session: i64) -> i64 {
    (kind << BITS) + session
}

/// Returns the numbers of all parts of a kind.
pub(super) fn numbers(kind: i64) -> Range<i64> {
    number(kind, 0)..number(kind + 1, 0)
}

/// A part of the activity of a session.
pub(crate) trait ActivityPart: Default + Serialize + DeserializeOwned {
    /// The number of the kind in the archive.
    const KIND: i64;
    /// Whether it is stored compressed, because it consists of texts.
    const IS_PACKED: bool;

    /// Returns the part of an activity.
    fn of(activity: &Activity) -> Self;
}

/// A typed text without the text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct TypedHead {
    /// The id of its message.
    pub(crate) message: MessageId,
    /// The time of the message.
    #[serde(with = "crate::time::stored")]
    pub(crate) at: Option<Timestamp>,
    /// The hash of the text.
    pub(crate) hash: u128,
}

/// A command line without its text.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct LineHead {
    /// The time of the call.
    #[serde(with = "crate::time::stored")]
    pub(crate) at: Option<Timestamp>,
    /// Its outcome.
    pub(crate) status: ToolStatus,
    /// The exit code, if it is recorded.
    pub(crate) exit_code: Option<i32>,
}

/// Returns the number that identifies a typed text.
pub(crate) fn text_hash(text: &str) -> u128 {
    xxh3_128(text.as_bytes())
}

/// Encodes a part; `None` if it is empty.
fn encode_part<T: ActivityPart>(part: &T, id: &str) -> Result<Option<Vec<u8>>, ArchiveError> {
    let body = codec::encode(part, id)?;
    match body.as_slice() {
        // The length of a list comes first.
        [0] => Ok(None),
        body if T::IS_PACKED => codec::compress(body, id).map(Some),
        _ => Ok(Some(body)),
    }
}

/// Decodes a part; `id` names its session in the error.
pub(super) fn decode<T: ActivityPart>(body: &[u8], id: &str) -> Result<T, ArchiveError> {
    if T::IS_PACKED {
        codec::decode(&codec::decompress(body, codec::MOST_BYTES, id)?, id)
    } else {
        codec::decode(body, id)
    }
}

/// Defines the parts: their type, their kind, whether they are compressed, and how they are taken from an activity.
macro_rules! parts {
    ($($type:ty: $kind:literal, $is_packed:literal, $of:expr;)*) => {
        /// All kinds of parts.
        pub(super) const KINDS: &[i64] = &[READ, $($kind),*];

        $(impl ActivityPart for $type {
            const KIND: i64 = $kind;
            const IS_PACKED: bool = $is_packed;

            fn of(activity: &Activity) -> Self {
                let of: fn(&Activity) -> Self = $of;
                of(activity)
            }
        })*

        /// Encodes the parts of an activity that are not empty; `id` names its session in the error.
        pub(super) fn encode(
            activity: &Activity,
            id: &str,
        ) -> Result<Vec<(i64, Vec<u8>)>, ArchiveError> {
            let mut out = vec![(READ, Vec::new())];
            $(if let Some(body) = encode_part(&<$type>::of(activity), id)? {
                out.push(($kind, body));
            })*
            Ok(out)
        }
    };
}

parts! {
    Vec<TypedHead>: 1, false, |activity| {
        let head = |typed: &TypedText| TypedHead {
            message: typed.message.clone(),
            at: typed.at,
            hash: text_hash(&typed.text),
        };
        activity.prompts.iter().map(head).collect()
    };
    TypedTexts: 2, true, |activity| {
        TypedTexts(activity.prompts.iter().map(|typed| typed.text.clone()).collect())
    };
    Vec<LineHead>: 3, false, |activity| {
        let head = |line: &CommandLine| LineHead {
            at: line.at,
            status: line.status,
            exit_code: line.exit_code,
        };
        activity.lines.iter().map(head).collect()
    };
    LineTexts: 4, true, |activity| {
        LineTexts(activity.lines.iter().map(|line| line.text.clone()).collect())
    };
    Vec<Run>: 5, true, |activity| activity.runs.clone();
    Vec<ProgramSum>: 6, false, |activity| program_sums(&activity.runs).0;
    Examples: 7, true, |activity| Examples(program_sums(&activity.runs).1);
    Vec<FileAccess>: 8, true, |activity| activity.files.clone();
    Vec<FileSum>: 9, true, |activity| file_sums(&activity.files);
    Vec<FailedCall>: 10, true, |activity| activity.failures.clone();
}
