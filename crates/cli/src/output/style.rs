//! The styles of all output. They use the terminal's own palette, so that they suit any theme.

use anstyle::{AnsiColor, Style};

pub(crate) const HEADING: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
pub(crate) const YOU: Style = AnsiColor::Magenta.on_default();
pub(crate) const CODE: Style = AnsiColor::Yellow.on_default();
pub(crate) const FOUND: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Text that was removed.
pub(crate) const GONE: Style = AnsiColor::Red.on_default();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default().bold();

/// The same styles for clap's help.
pub(crate) const HELP: clap::builder::Styles = clap::builder::Styles::styled()
    .header(HEADING)
    .usage(HEADING)
    .literal(NAME)
    .placeholder(DIM)
    .error(ERROR)
    .valid(GOOD)
    .invalid(WARNING);
