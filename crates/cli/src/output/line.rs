//! One line of output: sanitized text with styles.

use std::fmt::Write;

use anstyle::Style;

use super::clean;

/// A line of text, the only thing that can be printed as text. Everything that is added to it is sanitized.
#[derive(Debug, Default, Clone)]
pub(crate) struct Line(String);

impl Line {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn text(mut self, text: impl AsRef<str>) -> Self {
        self.0.push_str(&clean::line(text.as_ref()));
        self
    }

    pub(crate) fn styled(mut self, style: Style, text: impl AsRef<str>) -> Self {
        if !text.as_ref().is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(self.0, "{style}{}{style:#}", clean::line(text.as_ref()));
        }
        self
    }

    /// Appends another line to this one.
    pub(super) fn append(mut self, other: &Self) -> Self {
        self.0.push_str(&other.0);
        self
    }

    pub(super) fn is_blank(&self) -> bool {
        self.0.trim().is_empty()
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Line {
    fn from(text: &str) -> Self {
        Self::new().text(text)
    }
}

impl From<String> for Line {
    fn from(text: String) -> Self {
        Self::new().text(text)
    }
}
