//! Reads the header of a session file.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::object::Object;
use crate::facts::BranchPoint;
use crate::model::{SessionId, SessionKind};

/// The facts about a thread that its header records.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Meta {
    /// The id of the thread.
    pub(crate) id: Option<String>,
    /// The time at which the thread began.
    #[serde(with = "crate::time::stored")]
    pub(crate) at: Option<Timestamp>,
    /// The working directory.
    pub(crate) cwd: Option<String>,
    /// Whether it is a main, subagent or background thread.
    pub(crate) kind: SessionKind,
    /// The id of the thread that started it, unless it is a main thread.
    pub(crate) parent: Option<SessionId>,
    /// The id of the thread that it was forked from.
    pub(crate) forked_from: Option<SessionId>,
    /// The point in another file whose history it continues.
    pub(crate) base: Option<BranchPoint>,
    /// The first position that is not copied from the parent.
    pub(crate) own_from: Option<u64>,
    /// Whether a provider other than `OpenAI` serves it.
    pub(crate) is_elsewhere: bool,
}

impl Meta {
    /// Reads the payload of a header.
    pub(crate) fn read(body: &Object<'_>) -> Self {
        let source = body.object("source");
        let subagent = source.get("subagent");
        let kind = kind(body, &source);
        let spawn = subagent.map(Object::of).unwrap_or_default().object("thread_spawn");
        let parent = body.owned("parent_thread_id").or_else(|| spawn.owned("parent_thread_id"));
        let base = body.object("history_base");
        let base = base.owned("thread_id").zip(base.number("end_ordinal_exclusive"));
        Self {
            id: body.owned("id"),
            at: body.time("timestamp"),
            cwd: body.owned("cwd"),
            kind,
            parent: parent.filter(|_| kind != SessionKind::Main).map(SessionId::from),
            forked_from: body.owned("forked_from_id").map(SessionId::from),
            base: base.map(|(file, end)| BranchPoint { file, end }),
            own_from: body.number("subagent_history_start_ordinal"),
            is_elsewhere: is_elsewhere(body, "model_provider"),
        }
    }
}

/// Returns whether a field names a provider other than `OpenAI`.
pub(crate) fn is_elsewhere(object: &Object<'_>, field: &str) -> bool {
    object.text(field).is_some_and(|provider| !matches!(&*provider, "" | "openai"))
}

/// The names of threads that the program starts by itself.
const BACKGROUND: [&str; 4] = ["memory_consolidation", "compact", "guardian", "memory"];

fn kind(body: &Object<'_>, source: &Object<'_>) -> SessionKind {
    let thread_source = body.text("thread_source").unwrap_or_default();
    let subagent = source.get("subagent");
    let named = subagent.and_then(crate::read::json::string).unwrap_or_default();
    let other = subagent.map(Object::of).unwrap_or_default().owned("other").unwrap_or_default();
    let is_background = |name: &str| BACKGROUND.contains(&name);
    if source.has("internal")
        || [&*thread_source, &*named, other.as_str()].into_iter().any(is_background)
    {
        SessionKind::Background
    } else if subagent.is_some() || thread_source == "subagent" {
        SessionKind::Subagent
    } else {
        SessionKind::Main
    }
}
