//! Splits the activity of a session into parts. Each is stored by itself, because a report needs only one or two of
//! them, and long texts only of what it shows.

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

/// The maximum size of a stored part, in bytes.
const MOST_BYTES: usize = 1 << 30;

/// The name of the empty part of sessions whose activity is stored.
pub(super) const READ: &str = "read";

/// A part of the activity of a session.
pub(crate) trait ActivityPart: Default + Serialize + DeserializeOwned {
    /// The name in the archive.
    const NAME: &str;
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
        codec::decode(&codec::decompress(body, MOST_BYTES, id)?, id)
    } else {
        codec::decode(body, id)
    }
}

/// Defines the parts: their type, their name, and how they are taken from an activity.
macro_rules! parts {
    ($($type:ty: $name:literal, $is_packed:literal, $of:expr;)*) => {
        /// The names of all parts.
        pub(super) const NAMES: &[&str] = &[READ, $($name),*];

        $(impl ActivityPart for $type {
            const NAME: &str = $name;
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
        ) -> Result<Vec<(&'static str, Vec<u8>)>, ArchiveError> {
            let mut out = vec![(READ, Vec::new())];
            $(if let Some(body) = encode_part(&<$type>::of(activity), id)? {
                out.push(($name, body));
            })*
            Ok(out)
        }
    };
}

parts! {
    Vec<TypedHead>: "typed", false, |activity| {
        let head = |typed: &TypedText| TypedHead {
            message: typed.message.clone(),
            at: typed.at,
            hash: text_hash(&typed.text),
        };
        activity.prompts.iter().map(head).collect()
    };
    TypedTexts: "typed texts", true, |activity| {
        TypedTexts(activity.prompts.iter().map(|typed| typed.text.clone()).collect())
    };
    Vec<LineHead>: "lines", false, |activity| {
        let head = |line: &CommandLine| LineHead {
            at: line.at,
            status: line.status,
            exit_code: line.exit_code,
        };
        activity.lines.iter().map(head).collect()
    };
    LineTexts: "line texts", true, |activity| {
        LineTexts(activity.lines.iter().map(|line| line.text.clone()).collect())
    };
    Vec<Run>: "runs", true, |activity| activity.runs.clone();
    Vec<ProgramSum>: "programs", false, |activity| program_sums(&activity.runs).0;
    Examples: "examples", true, |activity| Examples(program_sums(&activity.runs).1);
    Vec<FileAccess>: "uses", true, |activity| activity.files.clone();
    Vec<FileSum>: "files", true, |activity| file_sums(&activity.files);
    Vec<FailedCall>: "failures", true, |activity| activity.failures.clone();
}
