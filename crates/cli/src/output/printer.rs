//! Owns stdout and stderr: the answer goes to stdout, everything else to stderr.

use std::io::{self, BufWriter, IsTerminal, Stderr, Write};
use std::path::{MAIN_SEPARATOR, Path, is_separator};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use backstory_core::export::plain::Plain;
use serde::Serialize;

use super::Terminal;
use super::escape::Escaping;
use super::rows::{Format, Rows};
use super::text;
use super::{Line, Progress, Table, clean, style};
use crate::error::Failure;
use crate::follow_up::FollowUp;

/// The verbosity of stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

pub(crate) struct Printer {
    out: BufWriter<Box<dyn Write>>,
    err: AutoStream<Stderr>,
    terminal: Terminal,
    verbosity: Verbosity,
    color: ColorChoice,
    /// The pager that shows the answer.
    pager: Option<Child>,
    /// The home folder with a trailing separator, which messages write as `~`.
    home: Option<String>,
    /// Completes the commands that messages suggest.
    follow_up: FollowUp,
    /// The buffer that replaces stdout.
    captured: Option<Captured>,
}

/// An answer that is kept in memory.
#[derive(Debug, Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The input of a pager, which takes everything even if the user leaves the pager early: what follows is still
/// decided and said.
struct PagerInput(ChildStdin);

impl Write for PagerInput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Printer {
    pub(crate) fn new(color: ColorChoice, terminal: Terminal, verbosity: Verbosity) -> Self {
        Self {
            out: BufWriter::new(Box::new(AutoStream::new(io::stdout(), color))),
            err: AutoStream::new(io::stderr(), color),
            terminal,
            verbosity,
            color,
            pager: None,
            home: None,
            follow_up: FollowUp::default(),
            captured: None,
        }
    }

    /// Creates a printer that keeps the answer for [`Self::into_answer`], and is silent otherwise.
    pub(crate) fn capturing() -> Self {
        let terminal = Terminal { stdout: false, stderr: false, width: None, err_width: None };
        let captured = Captured::default();
        let out = BufWriter::new(Box::new(captured.clone()) as Box<dyn Write>);
        let captured = Some(captured);
        Self { out, captured, ..Self::new(ColorChoice::Never, terminal, Verbosity::Quiet) }
    }

    /// Returns the answer that was kept.
    pub(crate) fn into_answer(mut self) -> io::Result<Vec<u8>> {
        self.flush()?;
        let answer = self.captured.take().unwrap_or_default();
        Ok(std::mem::take(&mut *answer.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Sets what depends on the run; must be called before anything is printed.
    pub(crate) fn adopt(&mut self, color: ColorChoice, home: Option<&Path>, follow_up: &FollowUp) {
        *self = Self::new(color, self.terminal, self.verbosity);
        self.follow_up = follow_up.clone();
        let home = home.and_then(Path::to_str);
        self.home =
            home.map(|home| format!("{}{MAIN_SEPARATOR}", home.trim_end_matches(is_separator)));
    }

    /// Returns whether stdout is a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal.stdout
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    /// Prints a line, wrapped at words if the terminal is narrower.
    pub(crate) fn line(&mut self, line: impl Into<Line>) -> io::Result<()> {
        let lines = match self.terminal.width {
            Some(width) => line.into().wrapped(width),
            None => vec![line.into()],
        };
        lines.iter().try_for_each(|line| writeln!(self.out, "{}", line.render()))
    }

    /// Prints a line that is cut if the terminal is narrower.
    pub(crate) fn title(&mut self, line: Line) -> io::Result<()> {
        self.line(line.cut(self.terminal.width))
    }

    /// Prints a line for other programs, such as a command to copy, which is never wrapped.
    pub(crate) fn verbatim(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", Line::from(text).render())
    }

    pub(crate) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    pub(crate) fn table(&mut self, table: &Table) -> io::Result<()> {
        table.lines(self.terminal.width).into_iter().try_for_each(|line| self.line(line))
    }

    pub(crate) fn rows(&mut self, rows: &Rows, format: Format) -> io::Result<()> {
        if matches!(format, Format::Csv | Format::Md) {
            return self.plain(&rows.plain(), format);
        }
        let lines = rows.table(self.terminal.width);
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Prints rows for other programs: as CSV, otherwise as Markdown.
    pub(crate) fn plain(&mut self, rows: &Plain, format: Format) -> io::Result<()> {
        let text = if format == Format::Csv { rows.csv() } else { rows.markdown() };
        let mut out = self.data()?;
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Prints rows as JSON, one per line.
    pub(crate) fn json_lines(
        &mut self,
        rows: impl Iterator<Item = impl Serialize>,
    ) -> io::Result<()> {
        let mut out = self.data()?;
        for row in rows {
            serde_json::to_writer(&mut out, &row)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }

    /// Returns the width that output is fitted to, if there is one.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.terminal.width
    }

    /// Returns the width of the terminal, or `None` if stdout is not one.
    pub(crate) fn width(&self) -> Option<usize> {
        self.terminal.stdout.then(|| self.terminal.width.unwrap_or(80))
    }

    /// Prints an indented paragraph, wrapped to a readable width within the terminal.
    pub(crate) fn prose(&mut self, style: Style, text: &str) -> io::Result<()> {
        const READABLE: usize = 100;
        let width = self.terminal.width.unwrap_or(READABLE).min(READABLE);
        let lines = Line::new().text("  ").styled(style, text).wrapped(width);
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Prints one JSON document.
    pub(crate) fn json(&mut self, document: &impl Serialize) -> io::Result<()> {
        let mut out = self.data()?;
        serde_json::to_writer_pretty(&mut out, document)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// Returns a writer for raw bytes, for files and other programs; JSON is escaped on a terminal.
    pub(crate) fn data(&mut self) -> io::Result<Box<dyn Write>> {
        self.out.flush()?;
        if let Some(captured) = &self.captured {
            return Ok(Box::new(captured.clone()));
        }
        let out = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
        Ok(if self.terminal.stdout { Box::new(Escaping::new(out)) } else { Box::new(out) })
    }

    /// Prints a warning: the answer may not be what the user expects.
    pub(crate) fn warn(&mut self, text: impl AsRef<str>) {
        if self.verbosity > Verbosity::Quiet {
            self.say(style::WARNING, "warning: ", text.as_ref());
        }
    }

    /// Prints a note about the answer that is not part of it.
    pub(crate) fn note(&mut self, text: impl AsRef<str>) {
        if self.verbosity > Verbosity::Quiet {
            self.say(style::DIM, "", text.as_ref());
        }
    }

    /// Prints a detail, with `-v` only.
    pub(crate) fn detail(&mut self, text: impl AsRef<str>) {
        if self.is_verbose() {
            self.say(style::DIM, "", text.as_ref());
        }
    }

    pub(crate) fn failure(&mut self, failure: &Failure) {
        self.say(style::ERROR, "error: ", &failure.what);
        if let Some((text, at)) = &failure.place {
            let room = self.terminal.err_width.map_or(usize::MAX, |width| width.max(20) - 4);
            let (text, mark) = text::point(text, at, room);
            self.say(Style::new(), "    ", &text);
            self.say(Style::new(), "    ", &mark);
        }
        for cause in failure.causes() {
            self.say(style::DIM, "  caused by: ", &cause);
        }
        for hint in &failure.hints {
            self.say(style::HINT, "  hint: ", hint);
        }
    }

    /// Prints a usage error as the parser of the command line wrote it.
    pub(crate) fn mistake(&mut self, text: &str) {
        let text = text.strip_prefix("error: ").unwrap_or(text).trim_end();
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        self.say(style::ERROR, "error: ", first);
        for line in rest.split('\n') {
            self.say(Style::new(), "", line);
        }
    }

    /// Returns whether somebody can answer a question.
    pub(crate) fn can_ask(&self) -> bool {
        self.terminal.stderr && io::stdin().is_terminal()
    }

    /// Asks for a line of text; none without a terminal, or if there is no answer.
    pub(crate) fn question(&mut self, question: &str) -> io::Result<Option<String>> {
        if !self.can_ask() {
            return Ok(None);
        }
        self.flush()?;
        self.say(style::HEADING, "", &format!("{question}:"));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(Some(answer.trim().to_owned()).filter(|answer| !answer.is_empty()))
    }

    /// Asks a yes-or-no question. Without a terminal the answer is no.
    pub(crate) fn ask(&mut self, question: &str) -> io::Result<bool> {
        if !self.can_ask() {
            return Ok(false);
        }
        self.flush()?;
        self.say(style::HEADING, "", &format!("{question} [y/N] "));
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Returns a counter for reading `total` files, which is visible on a terminal only.
    pub(crate) fn progress(&self, total: usize) -> Progress {
        self.counter(("reading", "files"), total)
    }

    /// Returns a counter for other work; `words` are a verb and a noun.
    pub(crate) fn counter(&self, words: (&'static str, &'static str), total: usize) -> Progress {
        let shown = self.terminal.stderr && self.verbosity > Verbosity::Quiet;
        Progress::new(shown, words, total)
    }

    /// Sends all further output through a pager if stdout is a terminal. `command` is run by the shell;
    /// `jump` is a text to start at.
    pub(crate) fn page(&mut self, command: &str, jump: Option<&str>) -> io::Result<()> {
        if !self.terminal.stdout {
            return Ok(());
        }
        self.out.flush()?;
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut pager = Command::new(shell)
            .args([flag, command])
            // `less` shows colours only with `-R`, and ends by itself with `-F` if one page is enough.
            .env("LESS", jump.map_or_else(|| "-FRX".to_owned(), |text| format!("-FRX +/{text}")))
            .stdin(Stdio::piped())
            .spawn()?;
        if let Some(input) = pager.stdin.take() {
            let input = PagerInput(input);
            let plain = self.color == ColorChoice::Never;
            self.out = BufWriter::new(if plain {
                Box::new(anstream::StripStream::new(Box::new(input) as Box<dyn Write>))
            } else {
                Box::new(input)
            });
        }
        self.pager = Some(pager);
        Ok(())
    }

    /// Flushes everything and waits until the pager is closed.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        if let Some(mut pager) = self.pager.take() {
            self.out = BufWriter::new(Box::new(io::sink()));
            // The codes with which a shell says that it cannot run a command.
            if matches!(pager.wait()?.code(), Some(126 | 127)) {
                return Err(io::Error::other("the pager cannot be run; `PAGER` names another"));
            }
        }
        flushed
    }

    /// Shortens quoted paths, because errors from the library contain whole ones.
    fn shortened(&self, text: &str) -> String {
        match &self.home {
            Some(home) => text.replace(&format!("`{home}"), &format!("`~{MAIN_SEPARATOR}")),
            None => text.to_owned(),
        }
    }

    /// Prints to stderr. Errors are dropped: if stderr is closed, there is nowhere to report them.
    fn say(&mut self, style: Style, label: &str, text: &str) {
        let text = self.follow_up.complete(&self.shortened(text.trim_end()));
        let text = clean::message(&text);
        let _ = self.out.flush();
        for (n, part) in text.split('\n').enumerate() {
            let indent = " ".repeat(label.len().min(4));
            let line = match n {
                0 => Line::new().styled(style, label).text(part).hang(&indent),
                _ => Line::new().text(&indent).text(part),
            };
            let lines = match self.terminal.err_width {
                Some(width) => line.wrapped(width),
                None => vec![line],
            };
            for line in lines {
                let _ = writeln!(self.err, "{}", line.render());
            }
        }
    }
}
