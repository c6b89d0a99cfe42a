use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::path::PathBuf;

use backstory_core::discover::Source;
use backstory_core::model::{Message, Session};
use backstory_core::redact::{Count, Redactor, Rules};
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::output::number::plural;
use crate::output::rows::{Format, Rows};
use crate::output::{Column, Printer};

/// The amount of input that is searched for secrets before anything is written, so that each is removed
/// everywhere.
const HELD: u64 = 64 * 1024 * 1024;

const EXAMPLES: &str = "\
Examples:
  backstory redact < build.log > clean.log    replace secrets with markers
  git diff | backstory redact --check         exit with 1 if it contains a secret
  backstory redact --rules                    the kinds of secrets";

/// Remove secrets from any text: a filter for standard input
///
/// Replaces each secret with a marker such as `[redacted:github-token:1]`; equal secrets get equal markers.
/// Their number is printed on stderr. Exports are redacted the same way. Your own rules and exceptions go
/// into the config file (docs/redaction.md).
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Redact {
    /// Read this file instead of standard input
    file: Option<PathBuf>,

    /// Only count; exit with 1 if anything was found
    #[arg(long)]
    check: bool,

    /// List the kinds of secrets
    #[arg(long, conflicts_with_all = ["file", "check"])]
    rules: bool,

    /// The format of the list
    #[arg(long, value_enum, default_value = "table", requires = "rules")]
    format: Format,
}

#[derive(Serialize)]
struct Counts<'a> {
    schema: &'static str,
    found: u64,
    kinds: Vec<CountRow<'a>>,
}

#[derive(Serialize)]
struct CountRow<'a> {
    kind: &'a str,
    found: u64,
    distinct: u64,
}

#[derive(Serialize)]
struct RuleList<'a> {
    schema: &'static str,
    rows: Vec<RuleRow<'a>>,
}

#[derive(Serialize)]
struct RuleRow<'a> {
    kind: &'a str,
    enabled: bool,
    opt_in: bool,
    keywords: &'a [String],
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Redact) -> Result<Exit> {
    let rules = rules(ctx)?;
    if args.rules {
        return list(ctx, printer, args, &rules);
    }
    if args.file.is_none() && io::stdin().is_terminal() {
        printer.note("Reading from the terminal; Ctrl-D ends the text.");
    }
    let mut input: Box<dyn Read> = match &args.file {
        None => Box::new(io::stdin().lock()),
        Some(file) => Box::new(File::open(file).map_err(|error| cannot_read(ctx, args, error))?),
    };
    let mut redactor = Redactor::new(&rules);
    if !args.check {
        let mut out = printer.data()?;
        redact(&mut redactor, &mut input, &mut out)
            .map_err(|error| cannot_read(ctx, args, error))?;
        out.flush()?;
        drop(out);
        note_counts(printer, &redactor.counts(), "removed");
        return Ok(Exit::Success);
    }
    redact(&mut redactor, &mut input, &mut io::sink())
        .map_err(|error| cannot_read(ctx, args, error))?;
    let counts = redactor.counts();
    if ctx.json {
        printer.json(&Counts {
            schema: "backstory.redact/1",
            found: total(&counts),
            kinds: counts
                .iter()
                .map(|Count { kind, found, distinct }| CountRow {
                    kind,
                    found: *found,
                    distinct: *distinct,
                })
                .collect(),
        })?;
    }
    note_counts(printer, &counts, "found");
    Ok(if counts.is_empty() { Exit::Success } else { Exit::NoMatch })
}

/// Redacts the text twice and writes the second result. Only the first `HELD` bytes are read twice.
fn redact(
    redactor: &mut Redactor<'_>,
    input: &mut impl Read,
    out: &mut (impl Write + ?Sized),
) -> io::Result<()> {
    let mut held = Vec::new();
    input.by_ref().take(HELD).read_to_end(&mut held)?;
    redactor.stream(&mut &*held, &mut io::sink())?;
    if redactor.is_empty() && (held.len() as u64) < HELD {
        return out.write_all(&held);
    }
    redactor.learn();
    redactor.stream(&mut held.chain(input), out)
}

/// Returns the built-in rules with those of the config file.
pub(super) fn rules(ctx: &Context) -> Result<Rules> {
    Rules::with(&ctx.redact).map_err(|error| {
        let file = ctx.config.as_deref().map(|file| ctx.show(file)).unwrap_or_default();
        Failure::new(format!("cannot use `[redact]` in the config file `{file}`"))
            .because(error)
            .hint("docs/redaction.md shows the syntax")
    })
}

/// Removes secrets from exported data; without rules, it removes nothing.
pub(super) struct Censor<'a> {
    redactor: Option<RefCell<Redactor<'a>>>,
    is_rehearsing: Cell<bool>,
}

impl<'a> Censor<'a> {
    pub(super) fn new(rules: Option<&'a Rules>) -> Self {
        let redactor = rules.map(|rules| RefCell::new(Redactor::new(rules)));
        Self { redactor, is_rehearsing: Cell::new(false) }
    }

    pub(super) fn clean(&self, session: &mut Session, messages: &mut [Message]) {
        if let Some(redactor) = &self.redactor {
            let mut redactor = redactor.borrow_mut();
            redactor.session(session);
            for message in messages {
                redactor.message(message);
            }
        }
    }

    /// Returns a redacted copy of a session.
    pub(super) fn session(&self, session: &Session) -> Session {
        let mut session = session.clone();
        self.clean(&mut session, &mut []);
        session
    }

    /// Redacts the paths of a session's files.
    pub(super) fn clean_files(&self, files: &mut [Source]) {
        if let Some(redactor) = &self.redactor {
            let mut redactor = redactor.borrow_mut();
            for file in files {
                redactor.path(&mut file.path);
            }
        }
    }

    /// Runs `content` without writing anything, so that a secret recognized in one place is removed
    /// everywhere.
    pub(super) fn rehearse(
        &self,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(redactor) = &self.redactor {
            self.is_rehearsing.set(true);
            let result = content(&mut io::sink());
            self.is_rehearsing.set(false);
            result?;
            redactor.borrow_mut().learn();
        }
        Ok(())
    }

    /// Returns whether the texts are only read, so that nothing needs to be formatted.
    pub(super) fn is_rehearsing(&self) -> bool {
        self.is_rehearsing.get()
    }

    /// Gives access to the redactor, for writers that call it themselves.
    pub(super) fn with<T>(&self, work: impl FnOnce(Option<&mut Redactor<'a>>) -> T) -> T {
        match &self.redactor {
            Some(redactor) => work(Some(&mut redactor.borrow_mut())),
            None => work(None),
        }
    }

    /// Prints the number of removed secrets.
    pub(super) fn note_removed(self, printer: &mut Printer) {
        if let Some(redactor) = self.redactor {
            note_counts(printer, &redactor.into_inner().counts(), "removed");
        }
    }
}

/// Prints the number of secrets, by kind.
fn note_counts(printer: &mut Printer, counts: &[Count], what: &str) {
    if counts.is_empty() {
        return;
    }
    let kinds: Vec<String> =
        counts.iter().map(|count| format!("{} {}", count.found, count.kind)).collect();
    let secrets = plural(total(counts), "secret", "secrets");
    printer.note(format!("{secrets} {what}: {}", kinds.join(", ")));
}

fn total(counts: &[Count]) -> u64 {
    counts.iter().map(|count| count.found).sum()
}

fn list(ctx: &Context, printer: &mut Printer, args: &Redact, rules: &Rules) -> Result<Exit> {
    let rows = rules.kinds().iter().map(|kind| RuleRow {
        kind: &kind.name,
        enabled: kind.enabled,
        opt_in: kind.opt_in,
        keywords: &kind.keywords,
    });
    let format = args.format.or_json(ctx.json);
    match format {
        Format::Json => {
            printer.json(&RuleList { schema: "backstory.redact/1", rows: rows.collect() })?;
        }
        Format::Jsonl => printer.json_lines(rows)?,
        _ => {
            let mut table =
                Rows::new([Column::text("KIND"), Column::text("ON"), Column::text("KEYWORDS")]);
            for row in rows {
                let on = if row.enabled { "yes" } else { "no" };
                let keywords = row.keywords.join(" ");
                table.row([row.kind.into(), on.into(), keywords.as_str().into()]);
            }
            printer.rows(&table, format)?;
        }
    }
    Ok(Exit::Success)
}

/// Describes a read error; write errors already describe themselves.
fn cannot_read(ctx: &Context, args: &Redact, error: io::Error) -> Failure {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return error.into();
    }
    let what = match &args.file {
        Some(file) => format!("`{}`", ctx.show(file)),
        None => "standard input".to_owned(),
    };
    Failure::new(format!("cannot redact {what}")).because(error)
}
