//! The flags that filter a list, shared by every command that has one.

use backstory_core::agent::Agents;
use backstory_core::collection::Collection;
use backstory_core::model::SessionKind;
use backstory_core::query::Filter;
use backstory_core::time::{self, Period};
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;

use crate::context::Context;
use crate::error::{Failure, Result};
use crate::here;
use crate::output::rows::Format;

#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Filters")]
pub(crate) struct Filters {
    /// Only this project: its name, part of its path, a prefix of its hash, or `.` for this folder's (repeatable)
    #[arg(long, short, value_name = "NAME")]
    pub(crate) project: Vec<String>,

    /// Only sessions that used this model; part of its name is enough (repeatable)
    #[arg(long, value_name = "NAME")]
    model: Vec<String>,

    /// Only this agent (repeatable)
    #[arg(long, value_name = "AGENT", value_parser = agents())]
    agent: Vec<String>,

    /// Only sessions with this tag (repeatable)
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,

    /// Only sessions from this machine (repeatable)
    #[arg(long, value_name = "NAME")]
    machine: Vec<String>,

    /// Only sessions that worked on this git branch last (repeatable)
    #[arg(long, value_name = "NAME")]
    branch: Vec<String>,

    /// Only activity since this time: 2026-08-01, 30m, 7d, yesterday, monday, 'last week', 2026-08
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,

    /// Only activity up to the end of this time
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,

    /// Only activity in this day, week, month or year: yesterday, monday, 2026-08
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["since", "until"])]
    on: Option<String>,
}

/// The flags of a list of things that happened in sessions.
#[derive(Debug, clap::Args)]
pub(crate) struct Listing {
    #[command(flatten)]
    pub(crate) filters: Filters,

    /// Only sessions of these kinds
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Filters")]
    pub(crate) kind: Vec<Kind>,

    /// Show at most N rows, of a log the last [default: a screenful; no limit with --json and other formats]
    #[arg(long, short = 'n', value_name = "N", value_parser = limit)]
    limit: Option<usize>,

    /// The output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

impl Listing {
    /// Returns the format, and the most rows to show in it; `most` is a screenful.
    pub(crate) fn format(&self, ctx: &Context, most: usize) -> (Format, usize) {
        let format = self.format.or_json(ctx.json);
        let usual = if format == Format::Table { most } else { usize::MAX };
        (format, self.limit.unwrap_or(usual))
    }
}

/// Parses the name of an agent.
fn agents() -> PossibleValuesParser {
    let names: Vec<String> = Agents::default().iter().map(|agent| agent.id().to_string()).collect();
    PossibleValuesParser::new(names)
}

/// Parses the number of rows to show.
pub(crate) fn limit(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a number of 1 or more".to_owned()),
        Ok(number) => Ok(number),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Conversations
    Main,
    /// Agents started by another agent
    Subagent,
    /// Jobs that ran in the background
    Background,
    /// Saved chats, restore points, shared histories
    Checkpoint,
}

impl From<Kind> for SessionKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Main => Self::Main,
            Kind::Subagent => Self::Subagent,
            Kind::Background => Self::Background,
            Kind::Checkpoint => Self::Checkpoint,
        }
    }
}

impl Filters {
    /// Returns whether any filter is set.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { project, model, agent, tag, machine, branch, since, until, on } = self;
        let words = [project, model, agent, tag, machine, branch];
        words.iter().all(|words| words.is_empty())
            && [since, until, on].iter().all(|when| when.is_none())
    }

    /// Returns the filter; `all` are the sessions among which a folder is looked up.
    pub(crate) fn filter(&self, ctx: &Context, all: &Collection) -> Result<Filter> {
        let project = |word: &String| match ctx.typed_folder(word) {
            Some(folder) => here::project(ctx, all, &folder),
            None => Ok(word.clone()),
        };
        Ok(Filter {
            projects: self.project.iter().map(project).collect::<Result<_>>()?,
            agents: self.agent.clone(),
            models: self.model.clone(),
            tags: self.tag.clone(),
            machines: self.machine.clone(),
            branches: self.branch.clone(),
            period: self.period(ctx)?,
            kinds: Vec::new(),
            all: false,
        })
    }

    /// Returns the parts of model names that were asked for.
    pub(crate) fn models(&self) -> &[String] {
        &self.model
    }

    /// Returns the period that was asked for.
    pub(crate) fn period(&self, ctx: &Context) -> Result<Period> {
        if let Some((start, end)) = when(ctx, "--on", self.on.as_deref())? {
            if start == end {
                let word = self.on.as_deref().unwrap_or_default();
                return Err(Failure::new(format!("`--on`: `{word}` is a moment, not a period"))
                    .hint("name a day, a week, a month or a year, or use `--since`"));
            }
            return Ok(Period { since: Some(start), until: Some(end) });
        }
        Ok(Period {
            since: when(ctx, "--since", self.since.as_deref())?.map(|(start, _)| start),
            until: when(ctx, "--until", self.until.as_deref())?.map(|(_, end)| end),
        })
    }
}

fn when(
    ctx: &Context,
    flag: &str,
    word: Option<&str>,
) -> Result<Option<(jiff::Timestamp, jiff::Timestamp)>> {
    let Some(word) = word else { return Ok(None) };
    match ctx.parse_period(word) {
        Some(period) => Ok(Some(period)),
        None => Err(Failure::new(format!("`{flag}`: `{word}` is not a valid time"))
            .hint(format!("write {}", time::FORMS))),
    }
}
