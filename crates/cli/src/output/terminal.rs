//! The terminal that the program runs in.

use std::io::{self, IsTerminal as _};

/// The properties of the terminal.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terminal {
    /// Whether stdout is a terminal.
    pub(crate) stdout: bool,
    pub(crate) stderr: bool,
    pub(crate) width: Option<usize>,
}

impl Terminal {
    pub(crate) fn look() -> Self {
        let stdout = io::stdout().is_terminal();
        let size = stdout.then(|| terminal_size::terminal_size_of(io::stdout())).flatten();
        // A user who sets it overrides the real width, even when stdout is not a terminal.
        let columns = std::env::vars_os().find(|(name, _)| name == "COLUMNS");
        let asked = columns.and_then(|(_, columns)| columns.to_str()?.parse().ok());
        let seen = size.map(|(width, _)| usize::from(width.0));
        let width = asked.or(seen).filter(|width| *width > 0);
        Self { stdout, stderr: io::stderr().is_terminal(), width }
    }
}
