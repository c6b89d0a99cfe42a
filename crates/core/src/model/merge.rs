//! Merges several readings of one fact.
//!
//! Merging is commutative, associative and idempotent: the result is the same in any order and
//! however often. Every field is merged by its own maximum or minimum, so the laws hold field by
//! field.

use super::call::{Call, ToolUse};
use super::tool::ToolStatus;
use super::usage::Bucket;

impl Call {
    /// Merges another reading of the same call.
    pub fn merge(&mut self, other: &Self) {
        self.prompt = self.prompt.min(other.prompt);
        // A time of its own beats a borrowed one; of two, the earlier wins.
        let time = |call: &Self| (call.at.is_none(), call.undated, call.at);
        if time(other) < time(self) {
            (self.at, self.undated) = (other.at, other.undated);
        }
        // The reading with more tokens is the later one, because counts only ever grow.
        let tokens =
            |call: &Self| (call.usage.total(), Bucket::ALL.map(|bucket| call.usage.get(bucket)));
        if tokens(other) > tokens(self) {
            self.usage = other.usage;
        }
        self.service = self.service.max(other.service);
        self.model = self.model.max(other.model);
        if other.message < self.message {
            self.message.clone_from(&other.message);
        }
        // If a log contains it too, nothing was lost around it.
        self.at_least &= other.at_least;
        self.current |= other.current;
    }
}

impl ToolUse {
    /// Merges another reading of the same tool use.
    pub fn merge(&mut self, other: &Self) {
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

/// Ranks states, so that a finished one beats an unfinished one.
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
    use crate::model::service::Service;
    use crate::model::usage::Usage;

    fn time() -> impl Strategy<Value = Option<Timestamp>> {
        prop::option::of((0..5i64).prop_map(|s| Timestamp::from_second(s).unwrap()))
    }

    prop_compose! {
        fn call()(
            message in "[ab]",
            prompt in prop::option::of(0..2u32),
            at in time(),
            undated: bool,
            model in prop::option::of(0..2u32),
            tokens in prop::array::uniform8(0..3u64),
            at_least: bool,
            current: bool,
            searches in 0..3u32,
        ) -> Call {
            let mut usage = Usage::default();
            for (bucket, tokens) in Bucket::ALL.into_iter().zip(tokens) {
                *usage.get_mut(bucket) = tokens;
            }
            let service = Service { searches, ..Service::default() };
            let (message, is_extra) = (message.into(), false);
            Call { message, prompt, at, undated, model, usage, service, at_least, current, is_extra }
        }
    }

    prop_compose! {
        fn tool()(
            status in 0..4usize,
            at in time(),
            lines in (0..3u64, 0..3u64),
            server in prop::option::of("[st]"),
        ) -> ToolUse {
            use ToolStatus::{Cancelled, Error, Success, Unfinished};
            ToolUse {
                message: "m".into(),
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
