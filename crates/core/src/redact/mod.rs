//! Removes secrets from text before it leaves the machine.
//!
//! `rules.toml` describes the forms of secrets. A text is searched once for the literals of all rules
//! (`scan`), and a rule is only tried where one of its literals occurs: by a regex, by the name in front of a
//! value (`name`), by the heading above it (`table`), in a manifest (`manifest`), or by the bounds of a key (`block`). Matching runs on a
//! view without colours, invisible characters and escapes (`view`). Each secret is replaced by a marker,
//! which is the same for equal secrets (`apply`), and is removed wherever it occurs again (`known`). Messages
//! and documents are redacted string by string, unescaped (`json`, `session`).

mod alphabet;
mod apply;
mod block;
mod cookie;
mod form;
mod group;
mod identifier;
mod json;
mod keywords;
mod known;
mod literal;
mod manifest;
mod memo;
mod name;
mod name_class;
mod rule;
mod scan;
mod sentence;
mod separator;
mod session;
mod stream;
mod table;
mod value;
mod view;
mod window;
mod words;
mod work;

pub use apply::{Count, Redactor};
pub use rule::{Choice, Kind, RuleError, Rules, UserRule};
