use std::collections::BTreeSet;

use backstory_core::collection::Collection;
use backstory_core::export::json::Time;
use backstory_core::query::prompts::{self, Prompt, PromptHead};
use backstory_core::search::{Fields, Finder, Query, Where};
use serde::Serialize;

use super::search::Ask;
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::filters::Filters;
use crate::library::{Library, cannot_open};
use crate::output::number::{count, date, plural};
use crate::output::{Cell, Column, Line, Printer, Table, style};

const EXAMPLES: &str = "\
Examples:
  backstory prompts --since 30d            the prompts of the last 30 days, newest last
  backstory prompts | fzf --tac            pick one
  backstory prompts --project harbor --long
  backstory prompts --grep 'tide -test'    prompts with one word but not another";

/// List everything you typed, across projects: one per line, newest last
///
/// Lists prompts, commands and shell escapes, each once, from sessions and from the agents' input logs (such as
/// `logs.json` of Gemini CLI and `history.jsonl` of Codex CLI), which outlive sessions.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Prompts {
    #[command(flatten)]
    filters: Filters,

    /// Only prompts that contain these words, in the syntax of `search`
    #[arg(long, value_name = "WORDS", help_heading = "Filters")]
    grep: Option<String>,

    /// Show when and where each was typed
    #[arg(long, short)]
    long: bool,

    /// Show the last N prompts
    #[arg(long, short = 'n', value_name = "N", value_parser = crate::filters::limit)]
    limit: Option<usize>,
}

/// `backstory.prompts/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    prompts: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    at: Option<Time>,
    session: Option<&'a str>,
    project: &'a str,
    text: &'a str,
    from: &'static str,
    /// Only prompts are left of its session.
    log_only: bool,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Prompts) -> Result<Exit> {
    super::require_given(ctx)?;
    let words = args
        .grep
        .as_deref()
        .map(|words| Ask::default().query(ctx, words, &Filters::default()))
        .transpose()?;
    let library = Library::open(ctx, printer, &args.filters.project)?;
    let filter = args.filters.filter(ctx, &library.all)?;
    let mut typed = prompts::Prompts::new(&library.archive, &library.all).map_err(cannot_open)?;
    let takes = |prompt: &PromptHead| {
        let owner = match prompt.session.as_deref().and_then(|id| library.all.get(id)) {
            Some(session) => filter.takes_owner(session),
            None => filter.takes_project(&prompt.project) && filter.tags.is_empty(),
        };
        owner && filter.period.includes(prompt.at)
    };
    let last = |count: usize| args.limit.map_or(0, |limit| count.saturating_sub(limit));
    // The newest are last, and older ones than those that are shown are not looked at.
    let shown = args.limit.filter(|_| words.is_none()).unwrap_or(usize::MAX);
    let newest = (0..typed.heads.len()).rev().filter(|at| takes(&typed.heads[*at]));
    let first = newest.take(shown).last().unwrap_or(typed.heads.len());
    let mut heads = typed.heads.split_off(first);
    heads.retain(takes);
    let mut found = typed.read(&heads).map_err(cannot_open)?;
    library.warn_unread(printer);
    if let Some(query) = &words {
        found.retain(|prompt| holds(query, &prompt.text));
    }
    let found = &found[last(found.len())..];
    if ctx.json {
        let prompts = found.iter().map(row).collect();
        printer.json(&Document { schema: "backstory.prompts/1", prompts })?;
        return Ok(if found.is_empty() { Exit::NoMatch } else { Exit::Success });
    }
    if found.is_empty() {
        return Err(super::nothing(ctx, &library.all, &args.filters, "no prompts match"));
    }
    if args.long {
        printer.table(&table(ctx, &library.all, found))?;
    } else {
        for prompt in found {
            printer.title(Line::new().text(one_line(&prompt.text)))?;
        }
    }
    note_log_only(printer, found);
    Ok(super::exit_code(ctx, &library))
}

fn holds(query: &Query, text: &str) -> bool {
    Finder::Words(query).find(&Fields::of_text(Where::Prompt, text), &[Where::Prompt]).is_some()
}

fn row(prompt: &Prompt) -> Row<'_> {
    Row {
        at: prompt.at.map(Time),
        session: prompt.session.as_deref(),
        project: prompt.project.key(),
        text: &prompt.text,
        from: prompt.from.name(),
        log_only: prompt.log_only,
    }
}

fn table(ctx: &Context, all: &Collection, prompts: &[Prompt]) -> Table {
    let mut table = Table::new([
        Column::text("TYPED").spare(1),
        Column::text("PROJECT").spare(2),
        Column::text("SESSION").spare(3),
        Column::text("FROM").spare(4),
        Column::main("TEXT"),
    ]);
    for prompt in prompts {
        let from = if prompt.log_only { "logs only" } else { prompt.from.name() };
        let session = prompt.session.as_deref().and_then(|id| all.get(id));
        let session = session.map(|session| all.short(session)).unwrap_or_default();
        table.row([
            Cell::styled(style::DIM, prompt.at.map(|at| date(at, &ctx.zone)).unwrap_or_default()),
            prompt.project.name.as_str().into(),
            Cell::styled(style::NAME, session),
            Cell::styled(style::DIM, from),
            one_line(&prompt.text).into(),
        ]);
    }
    table
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The maximum number of sessions that are named.
const NAMED: usize = 3;

/// Names the sessions of which only prompts are left.
fn note_log_only(printer: &mut Printer, prompts: &[Prompt]) {
    let left: BTreeSet<&str> = prompts
        .iter()
        .filter(|prompt| prompt.log_only)
        .filter_map(|prompt| prompt.session.as_deref())
        .collect();
    if left.is_empty() {
        return;
    }
    let lines = prompts.iter().filter(|prompt| prompt.log_only).count();
    let mut names: Vec<&str> = left.iter().copied().take(NAMED).collect();
    if left.len() > NAMED {
        names.push("…");
    }
    printer.note(format!(
        "{} of them {} all that is left of {}, in a prompt log: {}",
        count(lines as u64),
        if lines == 1 { "is" } else { "are" },
        plural(left.len() as u64, "session", "sessions"),
        names.join(", ")
    ));
}
