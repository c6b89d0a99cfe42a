//! Joins what several places say of one fact.
//!
//! Commutative, associative and idempotent: whatever the order, however often, the result is the
//! same. Every field is joined by a maximum or minimum of its own, so the laws hold field by field.

use super::call::{Call, ToolUse};
use super::tool::ToolStatus;

impl Call {
    /// Joins another reading of the same call.
    pub fn merge(&mut self, other: &Self) {
        // The session that started first made the call, and knows the prompt that led to it.
        if (&other.session, &other.prompt) < (&self.session, &self.prompt) {
            self.session = other.session.clone();
            self.prompt.clone_from(&other.prompt);
        }
        // A time of its own beats a borrowed one; of two, the earlier.
        let time = |call: &Self| (call.at.is_none(), call.undated, call.at);
        if time(other) < time(self) {
            (self.at, self.undated) = (other.at, other.undated);
        }
        // More tokens are the later reading: counts are only ever completed.
        let tokens = |call: &Self| {
            let usage = &call.usage;
            (usage.total(), usage.input, usage.cached, usage.output, usage.thoughts, usage.tool)
        };
        if tokens(other) > tokens(self) {
            self.usage = other.usage;
        }
        if other.model > self.model {
            self.model.clone_from(&other.model);
        }
        if other.message < self.message {
            self.message.clone_from(&other.message);
        }
        // A log that holds it too proves that nothing was lost around it.
        self.at_least &= other.at_least;
        self.current |= other.current;
    }
}

impl ToolUse {
    /// Joins another reading of the same tool use.
    pub fn merge(&mut self, other: &Self) {
        if other.session < self.session {
            self.session = other.session.clone();
        }
        if rank(other.status) > rank(self.status) {
            self.status = other.status;
        }
        if (other.at.is_none(), other.at) < (self.at.is_none(), self.at) {
            self.at = other.at;
        }
        self.message = self.message.clone().min(other.message.clone());
        self.name = self.name.clone().max(other.name.clone());
        self.server = self.server.clone().max(other.server.clone());
        self.lines_added = self.lines_added.max(other.lines_added);
        self.lines_removed = self.lines_removed.max(other.lines_removed);
    }
}

/// A finished state beats an unfinished one.
fn rank(status: ToolStatus) -> u8 {
    match status {
        ToolStatus::Unfinished => 0,
        ToolStatus::Cancelled => 1,
        ToolStatus::Success => 2,
        ToolStatus::Error => 3,
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;
    use crate::model::call::Owner;
    use crate::model::usage::Usage;

    fn time() -> impl Strategy<Value = Option<Timestamp>> {
        prop::option::of((0..5i64).prop_map(|s| Timestamp::from_second(s).unwrap()))
    }

    fn owner() -> impl Strategy<Value = Owner> {
        (time(), "[ab]").prop_map(|(started, id)| Owner::new(&id, started))
    }

    prop_compose! {
        fn call()(
            session in owner(),
            prompt in prop::option::of("[pq]"),
            at in time(),
            undated: bool,
            model in prop::option::of("[mn]"),
            tokens in prop::array::uniform4(0..3u64),
            at_least: bool,
            current: bool,
        ) -> Call {
            let [input, cached, output, thoughts] = tokens;
            let usage = Usage { input, cached, output, thoughts, ..Usage::default() };
            let (key, message) = ("k".into(), "k".into());
            let (session, prompt, model) =
                (session.into(), prompt.map(Into::into), model.map(Into::into));
            Call { key, session, message, prompt, at, undated, model, usage, at_least, current }
        }
    }

    prop_compose! {
        fn tool()(
            session in owner(),
            status in 0..4usize,
            at in time(),
            lines in (0..3u64, 0..3u64),
            server in prop::option::of("[st]"),
        ) -> ToolUse {
            use ToolStatus::{Cancelled, Error, Success, Unfinished};
            ToolUse {
                key: "k".to_owned(),
                session: session.into(),
                message: "m".to_owned(),
                name: "n".to_owned(),
                server,
                status: [Success, Error, Cancelled, Unfinished][status],
                at,
                lines_added: lines.0,
                lines_removed: lines.1,
            }
        }
    }

    macro_rules! laws {
        ($name:ident, $fact:ty, $facts:expr) => {
            proptest! {
                #[test]
                fn $name(a in $facts, b in $facts, c in $facts) {
                    let join = |x: &$fact, y: &$fact| {
                        let mut out = x.clone();
                        out.merge(y);
                        out
                    };
                    prop_assert_eq!(join(&a, &a), a.clone());
                    prop_assert_eq!(join(&a, &b), join(&b, &a));
                    prop_assert_eq!(join(&join(&a, &b), &c), join(&a, &join(&b, &c)));
                }
            }
        };
    }

    laws!(calls_merge_in_any_order, Call, call());
    laws!(tools_merge_in_any_order, ToolUse, tool());
}
