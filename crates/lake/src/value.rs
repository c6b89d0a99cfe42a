//! The values of columns, in the types that all engines have.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value as Json;

/// A text that rows share.
pub(crate) type Text = Arc<str>;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Int,
    Bool,
    /// A time in UTC, in microseconds.
    Time,
}

impl Kind {
    /// Returns the name for the documentation.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Int => "integer",
            Self::Bool => "boolean",
            Self::Time => "time",
        }
    }
}

/// A value of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Text(Text),
    Int(i64),
    Bool(bool),
    Time(Timestamp),
}

impl Value {
    /// Returns the value as JSON, with times as text.
    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Text(text) => (&**text).into(),
            Self::Int(number) => (*number).into(),
            Self::Bool(is) => (*is).into(),
            Self::Time(at) => format!("{at:.6}").into(),
        }
    }
}

/// A type of which the fields of rows are.
pub(crate) trait Field {
    const KIND: Kind;
    const NULLABLE: bool = false;
    fn value(self) -> Value;
}

impl Field for Text {
    const KIND: Kind = Kind::Text;
    fn value(self) -> Value {
        Value::Text(self)
    }
}

impl Field for i64 {
    const KIND: Kind = Kind::Int;
    fn value(self) -> Value {
        Value::Int(self)
    }
}

impl Field for bool {
    const KIND: Kind = Kind::Bool;
    fn value(self) -> Value {
        Value::Bool(self)
    }
}

impl Field for Timestamp {
    const KIND: Kind = Kind::Time;
    fn value(self) -> Value {
        Value::Time(self)
    }
}

impl<F: Field> Field for Option<F> {
    const KIND: Kind = F::KIND;
    const NULLABLE: bool = true;
    fn value(self) -> Value {
        self.map_or(Value::Null, Field::value)
    }
}

/// The largest count that leaves. Nothing real is as large, and engines that add up 64 bits fail, or are wrong without a
/// word, if a damaged log may claim more.
const LARGEST: i64 = 1_000_000_000_000;

/// Converts a count; one that is too large becomes the largest one.
pub(crate) fn count(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX).min(LARGEST)
}
