//! Takes secrets out of text before it leaves the machine.
//!
//! `rules.toml` lists what a secret looks like. A text is searched once for the literals of all rules (`scan`), and a
//! rule looks only where one of its literals is: by a regex, by the name in front of a value (`name`), by the
//! heading above it (`table`), or by the bounds of a key (`block`). Matching runs on a view without colours, invisible characters and escapes (`view`).
//! What is found gives way to a marker that is the same for the same secret (`apply`), and is taken out wherever it
//! occurs again (`known`). Messages and documents are redacted string by string, unescaped (`json`, `session`).

mod apply;
mod block;
mod cookie;
mod identifier;
mod json;
mod keywords;
mod known;
mod literal;
mod name;
mod rule;
mod scan;
mod sentence;
mod separator;
mod session;
mod stream;
mod table;
mod value;
mod view;
mod words;

pub use apply::{Count, Redactor};
pub use rule::{Choice, Kind, RuleError, Rules, UserRule};
