//! The flags that select what a report is about: those of the local commands.

use backstory_core::time::{self, Period};
use clap::{Args, ValueEnum};
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use super::form::Form;
use crate::error::{Error, Result};

/// The database of a report, its filters and its form.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The database: `postgres://USER@HOST/DATABASE`
    #[arg(value_name = "URL", env = "BACKSTORY_LAKE")]
    pub(super) url: String,

    /// Allow connections without TLS to other machines
    #[arg(long)]
    pub(super) insecure: bool,

    #[command(flatten)]
    pub(super) form: Form,

    /// Show times in this zone: `Europe/Berlin`, `UTC`, `local`, `+02:00`
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    tz: Option<String>,

    /// Only this project; part of its name is enough (repeatable)
    #[arg(long, short, value_name = "NAME", help_heading = "Filters")]
    project: Vec<String>,

    /// Only this model; part of its name is enough (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    model: Vec<String>,

    /// Only this agent (repeatable)
    #[arg(long, value_name = "AGENT", help_heading = "Filters")]
    agent: Vec<String>,

    /// Only sessions from this machine (repeatable)
    #[arg(long, value_name = "ID", help_heading = "Filters")]
    machine: Vec<String>,

    /// Only sessions that worked on this git branch last (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    branch: Vec<String>,

    /// Only this team (repeatable)
    #[arg(long, value_name = "NAME", help_heading = "Filters")]
    team: Vec<String>,

    /// Only sessions of these kinds; saved chats count only when asked for
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Filters")]
    pub(super) kind: Vec<Kind>,

    /// Only activity since this time: 2026-08-01, 30m, 7d, yesterday, monday, 'last week', 2026-08
    #[arg(long, value_name = "WHEN", help_heading = "Filters")]
    since: Option<String>,

    /// Only activity up to the end of this time
    #[arg(long, value_name = "WHEN", help_heading = "Filters")]
    until: Option<String>,

    /// Only activity in this day, week, month or year: yesterday, monday, 2026-08
    #[arg(long, value_name = "WHEN", conflicts_with_all = ["since", "until"], help_heading = "Filters")]
    on: Option<String>,
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

/// The conditions of a report, as parameters of a statement.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    pub(super) since: Option<String>,
    pub(super) until: Option<String>,
    pub(super) kinds: Vec<String>,
    pub(super) agents: Vec<String>,
    pub(super) projects: Vec<String>,
    pub(super) models: Vec<String>,
    pub(super) machines: Vec<String>,
    pub(super) branches: Vec<String>,
    pub(super) teams: Vec<String>,
}

/// The parameters of [`Conditions::parameters`] as a condition on rows with these columns; models are another one,
/// because sessions have several.
pub(super) const OWNER: &str = "($4::text[] = '{}' OR agent = ANY($4))
    AND ($5::text[] = '{}' OR EXISTS (SELECT FROM unnest($5) AS w (word) WHERE strpos(lower(project), word) > 0))
    AND ($7::text[] = '{}' OR machine = ANY($7))
    AND ($8::text[] = '{}' OR branch = ANY($8))
    AND ($9::text[] = '{}' OR team = ANY($9))";

impl Conditions {
    /// Returns the parameters $1 to $9 of a statement.
    pub(super) fn parameters(&self) -> [&(dyn postgres::types::ToSql + Sync); 9] {
        let Self { since, until, kinds, agents, projects, models, machines, branches, teams } =
            self;
        [since, until, kinds, agents, projects, models, machines, branches, teams]
    }

    /// Returns the same conditions for another period.
    pub(super) fn during(&self, period: Period) -> Self {
        let text = |at: Option<Timestamp>| at.map(|at| at.to_string());
        Self { since: text(period.since), until: text(period.until), ..self.clone() }
    }
}

impl ReportArgs {
    /// Returns the time in the zone of the report. `BACKSTORY_NOW` sets it, as for `backstory`.
    pub(super) fn now(&self) -> Result<Zoned> {
        let zone = match self.tz.as_deref() {
            None | Some("local") => TimeZone::system(),
            Some(name) => DateTimeParser::new()
                .parse_time_zone(name)
                .map_err(|_| Error::target(format!("`--tz`: there is no time zone `{name}`")))?,
        };
        let now = match crate::env("BACKSTORY_NOW") {
            Some(now) => now.parse().map_err(|_| {
                Error::target(format!("`BACKSTORY_NOW`: `{now}` is not a valid time"))
            })?,
            None => crate::now(),
        };
        Ok(now.to_zoned(zone))
    }

    /// Returns the period of the report.
    pub(super) fn period(&self, now: &Zoned) -> Result<Period> {
        let parse = |flag: &str, word: &Option<String>| match word {
            None => Ok(None),
            Some(word) => time::parse_period(word, now).map(Some).ok_or_else(|| {
                let forms = time::FORMS;
                Error::target(format!("`{flag}`: `{word}` is not a valid time; write {forms}"))
            }),
        };
        if let Some((since, until)) = parse("--on", &self.on)? {
            return Ok(Period { since: Some(since), until: Some(until) });
        }
        Ok(Period {
            since: parse("--since", &self.since)?.map(|(start, _)| start),
            until: parse("--until", &self.until)?.map(|(_, end)| end),
        })
    }

    /// Returns the conditions of the report.
    pub(super) fn chosen(&self, period: Period) -> Conditions {
        let lower = |words: &[String]| words.iter().map(|word| word.to_lowercase()).collect();
        let kinds = self.kind.iter().filter_map(ValueEnum::to_possible_value);
        let chosen = Conditions {
            kinds: kinds.map(|kind| kind.get_name().to_owned()).collect(),
            agents: self.agent.clone(),
            projects: lower(&self.project),
            models: lower(&self.model),
            machines: self.machine.clone(),
            branches: self.branch.clone(),
            teams: self.team.clone(),
            ..Conditions::default()
        };
        chosen.during(period)
    }
}
