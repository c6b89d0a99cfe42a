//! Owns stdout and stderr: stdout is the answer, stderr is talk.

use std::io::{self, BufWriter, Stderr, Stdout, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::escape::Escaping;
use super::{Line, Progress, Table, clean, style};
use crate::context::Terminal;
use crate::error::Failure;

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

pub(crate) struct Printer {
    out: BufWriter<AutoStream<Stdout>>,
    err: AutoStream<Stderr>,
    terminal: Terminal,
    verbosity: Verbosity,
}

impl Printer {
    pub(crate) fn new(color: ColorChoice, terminal: Terminal, verbosity: Verbosity) -> Self {
        Self {
            out: BufWriter::new(AutoStream::new(io::stdout(), color)),
            err: AutoStream::new(io::stderr(), color),
            terminal,
            verbosity,
        }
    }

    /// Changes the colours; nothing may have been printed yet.
    pub(crate) fn recolor(&mut self, color: ColorChoice) {
        *self = Self::new(color, self.terminal, self.verbosity);
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    pub(crate) fn line(&mut self, line: impl Into<Line>) -> io::Result<()> {
        writeln!(self.out, "{}", line.into().as_str())
    }

    pub(crate) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        table.lines(self.terminal.width).into_iter().try_for_each(|line| self.line(line))
    }

    /// A paragraph, indented, in lines that fit the terminal and the eye.
    pub(crate) fn prose(&mut self, style: Style, text: &str) -> io::Result<()> {
        const INDENT: &str = "  ";
        let room = self.terminal.width.unwrap_or(100).clamp(40, 100) - INDENT.len();
        let mut line = String::new();
        for word in text.split(' ') {
            if !line.is_empty() && line.width() + 1 + word.width() > room {
                self.line(Line::new().text(INDENT).styled(style, &line))?;
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(Line::new().text(INDENT).styled(style, line))
    }

    /// One JSON document.
    pub(crate) fn json(&mut self, document: &impl Serialize) -> io::Result<()> {
        let mut out = self.data()?;
        serde_json::to_writer_pretty(&mut out, document)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Bytes as they are, for files and other programs; JSON is made safe where a person looks.
    pub(crate) fn data(&mut self) -> io::Result<Box<dyn Write>> {
        self.out.flush()?;
        let out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
        Ok(if self.terminal.stdout { Box::new(Escaping::new(out)) } else { Box::new(out) })
    }

    /// Says that the answer is not quite what one might expect.
    pub(crate) fn warn(&mut self, text: impl AsRef<str>) {
        if self.verbosity > Verbosity::Quiet {
            self.say(style::WARNING, "warning: ", text.as_ref());
        }
    }

    /// Says what only the curious want to know.
    pub(crate) fn detail(&mut self, text: impl AsRef<str>) {
        if self.is_verbose() {
            self.say(style::DIM, "", text.as_ref());
        }
    }

    pub(crate) fn failure(&mut self, failure: &Failure) {
        self.say(style::ERROR, "error: ", &failure.what);
        for cause in failure.causes() {
            self.say(style::DIM, "  caused by: ", &cause);
        }
        for hint in &failure.hints {
            self.say(style::HINT, "  hint: ", hint);
        }
    }

    /// A counter on stderr for `total` files, where somebody sees it.
    pub(crate) fn progress(&self, total: usize) -> Progress {
        Progress::new(self.terminal.stderr && self.verbosity > Verbosity::Quiet, total)
    }

    /// Brings out all that is still held back.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Where stderr is closed there is nobody to tell, so its errors are dropped.
    fn say(&mut self, style: Style, label: &str, text: &str) {
        let indent = " ".repeat(label.len().min(4));
        let text = clean::block(text.trim_end()).replace('\n', &format!("\n{indent}"));
        let _ = self.out.flush();
        let _ = writeln!(self.err, "{style}{label}{style:#}{text}");
    }
}
