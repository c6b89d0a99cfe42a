//! Everything that reaches a terminal or a pipe goes through here.
//!
//! Text becomes a [`Line`] first, which cleans it: no file can send control characters to a
//! terminal, because nothing else can be printed.

pub(crate) mod chart;
mod escape;
mod line;
pub(crate) mod markdown;
pub(crate) mod path;
mod printer;
mod progress;
pub(crate) mod rows;
pub(crate) mod style;
mod table;
mod terminal;

pub(crate) use backstory_core::{clean, number};
pub(crate) use line::Line;
pub(crate) use printer::{Printer, Verbosity};
pub(crate) use progress::Progress;
pub(crate) use table::{Cell, Column, Table, cut};
pub(crate) use terminal::Terminal;
