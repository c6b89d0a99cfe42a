use std::collections::BTreeMap;

use backstory_core::collection::Collection;
use backstory_core::export::json::UsageRow;
use backstory_core::model::SessionKind;
use backstory_core::query::usage::{Answer, Group, Question, Row, Sum, usage};
use clap::ValueEnum;
use serde::Serialize;

use super::budget::Budget;
use super::show::ViewArg;
use crate::context::{Billing, Context};
use crate::error::{Exit, Failure, Result};
use crate::filters::{Filters, Kind};
use crate::library::Library;
use crate::output::chart::bar;
use crate::output::number::{count, percent, plural};
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory usage                           tokens and cost by day
  backstory usage model --since this-month  by model, this month
  backstory usage session --sort cost -n 5  the five most expensive sessions
  backstory usage project --breakdown       by project, and in each by model
  backstory usage prompt -p harbor          what each prompt cost
  backstory usage --budget 200/month        exits with 1 when more than that was spent
  backstory usage monthly --json | jq -r '.rows[] | [.key, .cost_usd] | @tsv'

INPUT is fresh input, what came from the cache stands beside it. Cost is the recorded calls at list
price: docs/accounting.md tells what no file holds.";

/// Count tokens and cost by day, session, project, model and more
///
/// Counted over all that happened, each model call once: also what was rewound, compressed away or
/// failed, for it was paid for; never twice, however many files repeat it.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Usage {
    /// How to group
    #[arg(value_enum, default_value = "daily")]
    group: GroupArg,

    #[command(flatten)]
    filters: Filters,

    /// Only these kinds of session; saved chats count only when asked for
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Filters")]
    kind: Vec<Kind>,

    /// Split each row by model
    #[arg(long, short)]
    breakdown: bool,

    /// Add what subagents used to the session that started them (for `session`)
    #[arg(long)]
    rollup: bool,

    /// What comes first; times are in their own order unless this is given
    #[arg(long, value_enum)]
    sort: Option<Sort>,

    /// How many rows
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// `current` counts only what the agent would still load: less than what was paid for
    #[arg(long, value_enum, default_value = "full")]
    view: ViewArg,

    /// Compare with a budget in dollars: 200/month, 50/week, 10/day; exit with 1 when it is spent
    #[arg(long, value_name = "SUM/PERIOD")]
    budget: Option<Budget>,

    /// How to print it
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum GroupArg {
    Daily,
    Weekly,
    Monthly,
    Hourly,
    Session,
    Prompt,
    Project,
    Model,
    Kind,
    Agent,
    Machine,
}

impl From<GroupArg> for Group {
    fn from(group: GroupArg) -> Self {
        match group {
            GroupArg::Daily => Self::Daily,
            GroupArg::Weekly => Self::Weekly,
            GroupArg::Monthly => Self::Monthly,
            GroupArg::Hourly => Self::Hourly,
            GroupArg::Session => Self::Session,
            GroupArg::Prompt => Self::Prompt,
            GroupArg::Project => Self::Project,
            GroupArg::Model => Self::Model,
            GroupArg::Kind => Self::Kind,
            GroupArg::Agent => Self::Agent,
            GroupArg::Machine => Self::Machine,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    Key,
    Calls,
    Tokens,
    Cost,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Usage) -> Result<Exit> {
    super::require_given(ctx)?;
    let library = Library::open(ctx, printer, &args.filters.project)?;
    let question = question(ctx, args, &library.all)?;
    let ask = |question: &Question| {
        usage(&library.archive, question, &library.prices).map_err(super::cannot_count)
    };
    let mut answer = ask(&question)?;
    sort(&mut answer.rows, args.sort);
    if let Some(limit) = args.limit {
        answer.rows.truncate(limit);
    }
    let format = args.format.or_json(ctx.json);
    let page = Page { ctx, args, library: &library, answer: &answer };
    match format {
        Format::Json => printer.json(&page.document())?,
        Format::Jsonl => printer.json_lines(answer.rows.iter().map(RowOut::new))?,
        Format::Csv | Format::Md => printer.rows(&page.plain(), format)?,
        Format::Table => page.print(printer)?,
    }
    if answer.total.calls == 0 && format == Format::Table {
        return Err(nothing(ctx, &library.all));
    }
    if let Some(budget) = &args.budget
        && !budget.check(ctx, printer, |period| {
            let total = Question { period, group: Group::Agent, ..question.clone() };
            Ok(ask(&total)?.total.billed.usd.unwrap_or_default())
        })?
    {
        return Ok(Exit::Nothing);
    }
    if answer.total.calls == 0 {
        return Ok(Exit::Nothing);
    }
    Ok(if ctx.strict && page.faults().records > 0 { Exit::Nothing } else { Exit::Fine })
}

fn question(ctx: &Context, args: &Usage, all: &Collection) -> Result<Question> {
    let filter = args.filters.filter(ctx)?;
    Ok(Question {
        group: args.group.into(),
        period: filter.period,
        sessions: super::wanted_sessions(all, &filter, &args.kind),
        models: filter.models.clone(),
        breakdown: args.breakdown,
        rollup: args.rollup,
        current: args.view == ViewArg::Current,
        checkpoints: args.kind.contains(&Kind::Checkpoint),
    })
}

fn sort(rows: &mut [Row], by: Option<Sort>) {
    match by {
        None => {}
        Some(Sort::Key) => rows.sort_by(|a, b| a.key.cmp(&b.key)),
        Some(Sort::Calls) => rows.sort_by_key(|row| std::cmp::Reverse(row.sum.calls)),
        Some(Sort::Tokens) => rows.sort_by_key(|row| std::cmp::Reverse(row.sum.usage.total())),
        Some(Sort::Cost) => rows.sort_by_key(|row| std::cmp::Reverse(row.sum.billed.usd)),
    }
}

/// `backstory.usage/1`
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    group: &'static str,
    tz: String,
    view: &'static str,
    rows: Vec<RowOut<'a>>,
    total: SumOut,
    faults: Faults,
    pricing: Pricing<'a>,
}

#[derive(Serialize)]
struct RowOut<'a> {
    key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(flatten)]
    sum: SumOut,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<RowOut<'a>>,
}

impl<'a> RowOut<'a> {
    fn new(row: &'a Row) -> Self {
        Self {
            key: &row.key,
            text: row.text.as_deref(),
            sum: SumOut::new(&row.sum),
            models: row.models.iter().map(RowOut::new).collect(),
        }
    }
}

#[derive(Serialize)]
struct SumOut {
    calls: u64,
    sessions: u64,
    #[serde(flatten)]
    usage: UsageRow,
    cost_usd: Option<String>,
    unpriced_calls: u64,
    estimated_calls: u64,
    upper_bound_calls: u64,
    undated_calls: u64,
    at_least: bool,
}

impl SumOut {
    fn new(sum: &Sum) -> Self {
        Self {
            calls: sum.calls,
            sessions: sum.sessions,
            usage: UsageRow::new(&sum.usage),
            cost_usd: sum.billed.usd.map(|usd| usd.to_string()),
            unpriced_calls: sum.billed.unpriced,
            estimated_calls: sum.billed.estimated,
            upper_bound_calls: sum.billed.upper_bound,
            undated_calls: sum.undated,
            at_least: sum.at_least,
        }
    }
}

#[derive(Serialize)]
struct Faults {
    files: u64,
    records: u64,
}

#[derive(Serialize)]
struct Pricing<'a> {
    table_date: String,
    unpriced_models: &'a [String],
}

struct Page<'a> {
    ctx: &'a Context,
    args: &'a Usage,
    library: &'a Library,
    answer: &'a Answer,
}

impl Page<'_> {
    fn document(&self) -> Document<'_> {
        Document {
            schema: "backstory.usage/1",
            group: Group::from(self.args.group).name(),
            tz: self.ctx.zone_name(),
            view: if self.args.view == ViewArg::Current { "current" } else { "full" },
            rows: self.answer.rows.iter().map(RowOut::new).collect(),
            total: SumOut::new(&self.answer.total),
            faults: self.faults(),
            pricing: Pricing {
                table_date: self.library.prices.date().to_string(),
                unpriced_models: &self.answer.unpriced_models,
            },
        }
    }

    /// What could not be read, and token counts that cannot be right.
    fn faults(&self) -> Faults {
        let faults = self.library.faults;
        Faults { files: faults.files, records: faults.records + faults.numbers }
    }

    fn print(&self, printer: &mut Printer) -> Result<()> {
        if self.answer.total.calls == 0 {
            return Ok(());
        }
        printer.rows(&self.table(printer.width()), Format::Table)?;
        for line in self.footer() {
            printer.note(line);
        }
        Ok(())
    }

    fn table(&self, width: Option<usize>) -> Rows {
        let group = Group::from(self.args.group);
        let key = Column::long(match group {
            Group::Daily => "DAY",
            Group::Weekly => "WEEK",
            Group::Monthly => "MONTH",
            Group::Hourly => "HOUR",
            Group::Session => "SESSION",
            Group::Prompt => "PROMPT",
            Group::Project => "PROJECT",
            Group::Model => "MODEL",
            Group::Kind => "KIND",
            Group::Agent => "AGENT",
            Group::Machine => "MACHINE",
        });
        let mut rows = Rows::new([
            key,
            Column::number("CALLS"),
            Column::number("INPUT"),
            Column::number("CACHED"),
            Column::number("OUTPUT"),
            Column::number("THOUGHTS"),
            Column::number("TOTAL"),
            Column::number("COST"),
            Column::text(""),
        ]);
        let most = self.answer.rows.iter().map(|row| row.sum.usage.total()).max().unwrap_or(0);
        // A chart only where it fits beside the numbers.
        let chart = width.filter(|width| *width >= 110).map_or(0, |width| (width - 95).min(24));
        let titles = self.titles();
        for row in &self.answer.rows {
            let shown = self.shown(row, &titles);
            let line = bar(row.sum.usage.total(), most, chart);
            rows.row(cells(Cell::styled(style::NAME, shown), &row.sum, &line));
            for part in &row.models {
                let name = Cell::styled(style::DIM, format!("  {}", part.key));
                rows.row(cells(name, &part.sum, ""));
            }
        }
        if self.answer.rows.len() > 1 {
            rows.row(cells(Cell::styled(style::HEADING, "total"), &self.answer.total, ""));
        }
        rows
    }

    fn titles(&self) -> BTreeMap<&str, String> {
        let sessions = self.library.all.sessions.iter().filter(|_| self.args.group == GroupArg::Session);
        sessions.map(|s| (s.id.as_str(), s.title().0)).collect()
    }

    /// A key as people know it.
    fn shown(&self, row: &Row, titles: &BTreeMap<&str, String>) -> String {
        match self.args.group {
            GroupArg::Session => {
                let short: String = row.key.chars().take(8).collect();
                let title = titles.get(row.key.as_str()).cloned().unwrap_or_default();
                format!("{short}  {}", title.chars().take(48).collect::<String>())
            }
            GroupArg::Prompt => {
                let text = row.text.as_deref().unwrap_or("(no prompt)");
                text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect()
            }
            GroupArg::Project => self.ctx.show(std::path::Path::new(&row.key)),
            _ => row.key.clone(),
        }
    }

    /// Below the table: what the numbers stand on.
    fn footer(&self) -> Vec<String> {
        let total = &self.answer.total;
        let usage = &total.usage;
        let mut lines = Vec::new();
        lines.push(format!(
            "Cache hits {} of the prompts, thoughts {} of the output.",
            percent(usage.cached, usage.cached + usage.input),
            percent(usage.thoughts, usage.thoughts + usage.output)
        ));
        if self.args.view == ViewArg::Current {
            lines.push(
                "Only what the agent would still load; `--view full` is what was paid for."
                    .to_owned(),
            );
        }
        let what = match self.ctx.billing {
            Billing::Api => "Cost is an estimate",
            Billing::Vertex => "Cost is an estimate for Vertex AI",
            Billing::Licence => "Cost is the value at list price, not what a licence costs",
        };
        lines.push(format!(
            "{what}: prices of {}, days of {}. Helper calls (compression, summaries, routing, search) \
             are in no file.",
            self.library.prices.date(),
            self.ctx.zone_name()
        ));
        let mut doubts = Vec::new();
        if total.billed.unpriced > 0 {
            doubts.push(format!(
                "{} without a price ({})",
                plural(total.billed.unpriced, "call", "calls"),
                self.answer.unpriced_models.join(", ")
            ));
        }
        if total.billed.estimated > 0 {
            let calls = plural(total.billed.estimated, "call", "calls");
            doubts.push(format!("{calls} priced by a similar name"));
        }
        if total.billed.upper_bound > 0 {
            let calls = plural(total.billed.upper_bound, "call", "calls");
            doubts.push(format!("{calls} at most that much (no cache price)"));
        }
        if total.undated > 0 {
            let calls = plural(total.undated, "call", "calls");
            doubts.push(format!("{calls} without a time of their own"));
        }
        if total.at_least {
            doubts.push("at least: old `.json` sessions can have lost calls".to_owned());
        }
        let faults = self.faults();
        if faults.records > 0 {
            doubts.push(format!(
                "{} in {}",
                plural(faults.records as u64, "fault", "faults"),
                plural(faults.files as u64, "file", "files")
            ));
        }
        if !doubts.is_empty() {
            lines.push(format!("Mind: {}. `backstory verify` lists each.", doubts.join("; ")));
        }
        lines
    }

    /// For other programs.
    fn plain(&self) -> Rows {
        let names = [
            "key", "calls", "sessions", "input", "cached", "output", "thoughts", "tool", "other",
            "total", "cost_usd",
        ];
        let mut rows = Rows::new(names.map(Column::text));
        for row in &self.answer.rows {
            let (sum, usage) = (&row.sum, &row.sum.usage);
            let numbers = [
                sum.calls,
                sum.sessions,
                usage.input,
                usage.cached,
                usage.output,
                usage.thoughts,
                usage.tool,
                usage.other,
                usage.total(),
            ];
            let mut cells = vec![Cell::from(&row.key)];
            cells.extend(numbers.iter().map(|number| Cell::from(number.to_string())));
            cells.push(sum.billed.usd.map(|usd| usd.to_string()).unwrap_or_default().into());
            rows.row(cells);
        }
        rows
    }
}

fn cells(key: Cell, sum: &Sum, chart: &str) -> Vec<Cell> {
    let usage = &sum.usage;
    let sign = if sum.at_least { "≥" } else { "" };
    let cost = match sum.billed.usd {
        Some(usd) => format!("{sign}{}", usd.short()),
        None => "no price".to_owned(),
    };
    vec![
        key,
        count(sum.calls).into(),
        count(usage.input + usage.tool).into(),
        count(usage.cached).into(),
        count(usage.output + usage.other).into(),
        count(usage.thoughts).into(),
        count(usage.total()).into(),
        cost.into(),
        Cell::styled(style::NAME, chart),
    ]
}

/// Nothing was counted: say what there would be.
fn nothing(ctx: &Context, all: &Collection) -> Failure {
    if all.sessions.is_empty() {
        return super::empty(ctx, &all.found);
    }
    let calls: usize = all
        .sessions
        .iter()
        .filter(|s| s.kind != SessionKind::Checkpoint)
        .map(|s| s.calls)
        .sum();
    Failure::nothing("no model call fits").hint(format!(
        "there are {} in all; `backstory usage` without filters counts them",
        plural(calls as u64, "call", "calls")
    ))
}
