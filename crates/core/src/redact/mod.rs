//! Takes secrets out of text before it leaves the machine.
//!
//! `rules.toml` says what a secret looks like. A text is searched once for the literals of all
//! rules (`scan`), a rule looks only where one of its literals stands, and what it finds gives way to a marker
//! that is the same for the same secret (`apply`). Messages and documents are redacted string by
//! string, unescaped, so that no escape hides a secret (`json`, `session`).

mod apply;
mod json;
mod rule;
mod scan;
mod session;
mod stream;
mod value;

pub use apply::{Count, Redactor};
pub use rule::{Choice, Kind, RuleError, Rules, UserRule};
