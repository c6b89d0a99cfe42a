//! All output to a terminal or a pipe.
//!
//! Text becomes a [`Line`] first, which sanitizes it. Nothing else can be printed, so no file can send
//! control characters to a terminal.
//!
//! `printer` owns stdout and stderr, `table` and `grid` fit rows to the terminal, `rows` prints them in other formats
//! too, and `text` measures, cuts and wraps. `escape` makes JSON safe for a terminal.

pub(crate) mod chart;
pub(crate) mod diff;
mod escape;
mod grid;
mod line;
pub(crate) mod markdown;
pub(crate) mod path;
mod printer;
mod progress;
pub(crate) mod rows;
pub(crate) mod style;
mod table;
mod terminal;
mod text;

pub(crate) use backstory_core::{clean, number};
pub(crate) use line::Line;
pub(crate) use printer::{Printer, Verbosity};
pub(crate) use progress::Progress;
pub(crate) use table::{Cell, Column, Table};
pub(crate) use terminal::Terminal;
pub(crate) use text::{cut, cut_front};
