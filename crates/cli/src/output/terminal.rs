//! The terminal that the program runs in.

use std::io::{self, IsTerminal as _};

/// The properties of the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    /// Whether stdout is a terminal.
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    /// The width of stdout and of stderr, if known.
    pub(crate) width: Option<usize>,
    pub(crate) err_width: Option<usize>,
}

impl Terminal {
    pub(crate) fn look() -> Self {
        // A user who sets it overrides the real width, even when stdout is not a terminal.
        let columns = std::env::vars_os().find(|(name, _)| name == "COLUMNS");
        let asked: Option<usize> = columns.and_then(|(_, columns)| columns.to_str()?.parse().ok());
        let asked = asked.filter(|width| *width > 0);
        let wide = |(width, _): (terminal_size::Width, _)| usize::from(width.0);
        let width = || terminal_size::terminal_size_of(io::stdout()).map(wide);
        let err_width = || terminal_size::terminal_size_of(io::stderr()).map(wide);
        Self {
            stdout: io::stdout().is_terminal(),
            stderr: io::stderr().is_terminal(),
            width: asked.or_else(width).filter(|width| *width > 0),
            err_width: asked.or_else(err_width).filter(|width| *width > 0),
        }
    }
}
