mod blocks;
mod document;
mod footer;
mod limits;
mod table;

use backstory_core::collection::Collection;
use backstory_core::export::usage::plain;
use backstory_core::model::SessionKind;
use backstory_core::money::Usd;
use backstory_core::query::spending::Spending;
use backstory_core::query::usage::{Answer, Group, Question, Row};
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::budget::{Budget, BudgetState};
use super::show::ViewArg;
use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::filters::{Filters, Kind};
use crate::library::Library;
use crate::output::Printer;
use crate::output::number::plural;
use crate::output::rows::Format;

const EXAMPLES: &str = "\
Examples:
  backstory usage                           tokens and cost by day
  backstory usage model --since this-month  by model, this month
  backstory usage session --sort cost -n 5  the five most expensive sessions
  backstory usage project --breakdown       by project, split by model
  backstory usage branch -p harbor          by git branch
  backstory usage prompt -p harbor          the cost of each prompt
  backstory usage blocks --since 2d         the five-hour windows of Claude plans, with a forecast
  backstory usage limits                    how much of your plan is used, and when it resets
  backstory usage --budget 200/month        exit with 1 if more than that was spent
  backstory usage monthly --json | jq -r '.rows[] | [.key, .cost_usd] | @tsv'

INPUT is fresh input, including that from tools; CACHED is input from the cache. Cost is that of the
recorded calls at list price; docs/accounting.md lists the calls that agents do not record.";

/// Count tokens and cost by day, session, project, model and more
///
/// Counts each model call once, however many files repeat it. Calls that were rewound, compressed away or
/// failed count too, because they were paid for.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Usage {
    /// The grouping, or `limits` for the limits of your plan
    #[arg(value_name = "GROUP", default_value = "daily", value_parser = subjects())]
    subject: Subject,

    #[command(flatten)]
    filters: Filters,

    /// Only sessions of these kinds; saved chats count only when asked for
    #[arg(long, value_enum, value_delimiter = ',', help_heading = "Filters")]
    kind: Vec<Kind>,

    /// Split each row by model
    #[arg(long, short)]
    breakdown: bool,

    /// Show every change, not only the last one (for `limits`)
    #[arg(long)]
    history: bool,

    /// Add the usage of subagents to the session that started them (for `session`)
    #[arg(long)]
    rollup: bool,

    /// The sort order; periods are in chronological order by default
    #[arg(long, value_enum)]
    sort: Option<Sort>,

    /// Show N rows; for periods, the newest
    #[arg(long, short = 'n', value_name = "N", value_parser = crate::filters::limit)]
    limit: Option<usize>,

    /// `current` counts only messages that the agent would still load, which is less than was paid for
    #[arg(long, value_enum, default_value = "full")]
    view: ViewArg,

    /// Compare with a budget in dollars: 200/month, 50/week, 10/day; exit with 1 if it is exceeded
    #[arg(long, value_name = "SUM/PERIOD")]
    budget: Option<Budget>,

    /// The output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// The subject of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Usage(Group),
    Limits,
}

const LIMITS: &str = "limits";

/// Parses the name of a group, or `limits`.
fn subjects() -> impl TypedValueParser<Value = Subject> {
    let names = Group::ALL.map(Group::name).into_iter().chain([LIMITS]);
    PossibleValuesParser::new(names).try_map(|name| match Group::named(&name) {
        Some(group) => Ok(Subject::Usage(group)),
        None if name == LIMITS => Ok(Subject::Limits),
        None => Err("unknown group"),
    })
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
    let Subject::Usage(group) = args.subject else { return limits::run(ctx, printer, args) };
    if args.history {
        return Err(Failure::new("`--history` works only with `limits`")
            .hint("`backstory usage limits --history`"));
    }
    if args.rollup && group != Group::Session {
        return Err(Failure::new(
            "`--rollup` adds up sessions and works only with the group `session`",
        )
        .hint("`backstory usage session --rollup`"));
    }
    let library = open(ctx, printer, args, group)?;
    let question = question(ctx, args, group, &library.all)?;
    let mut reports = library.reports();
    // It is loaded for this group.
    if group == Group::Branch {
        reports = reports.with_list(&library.all);
    }
    let mut answer = reports.usage(&question).map_err(super::cannot_count)?;
    sort(&mut answer.rows, args.sort);
    let all = answer.rows.len();
    let of_rows = (group == Group::Prompt).then(|| {
        // Calls without a prompt are in a row without text.
        let prompts = answer.rows.iter().filter(|row| row.text.is_some());
        prompts.map(|row| row.sum.bill.usd).collect()
    });
    limit(&mut answer.rows, args, group);
    let spent = |period| {
        let total = Question { period, ..question.clone() };
        reports.cost(&total).map_err(super::cannot_count)
    };
    let budget = args.budget.as_ref().map(|budget| budget.state(ctx, spent));
    let budget = budget.transpose()?;
    let is_open = question.period.until.is_none_or(|until| until > ctx.now);
    let has_forecast = budget.is_none() && is_open && group != Group::Blocks;
    let month = if has_forecast { Spending::of_month(&ctx.zoned_now(), spent)? } else { None };
    let format = args.format.or_json(ctx.json);
    let prompts: Option<Vec<Option<Usd>>> = match group {
        // Other formats have only rows.
        Group::Session | Group::Project | Group::Branch
            if matches!(format, Format::Json | Format::Table) =>
        {
            Some(reports.prompt_costs(&question).map_err(super::cannot_count)?)
        }
        _ => of_rows,
    };
    let left = all - answer.rows.len();
    let page = Page {
        ctx,
        args,
        group,
        library: &library,
        answer: &answer,
        left,
        budget: budget.as_ref(),
        month: month.as_ref(),
        prompts: prompts.filter(|costs| !costs.is_empty()).map(|costs| footer::Prompts::of(&costs)),
    };
    match format {
        Format::Json => printer.json(&page.document())?,
        Format::Jsonl => printer.json_lines(page.rows_out())?,
        Format::Csv | Format::Md => printer.plain(&plain(&page.answer.rows), format)?,
        Format::Table => page.print(printer)?,
    }
    if let Some(budget) = budget {
        // With a budget, the exit code reports whether it is exceeded, even if there are no calls.
        budget.print(printer, format == Format::Table)?;
        return Ok(if budget.is_over { Exit::NoMatch } else { Exit::Success });
    }
    if answer.total.calls == 0 && format == Format::Table {
        return nothing(ctx, printer, args);
    }
    if answer.total.calls == 0 {
        return Ok(Exit::NoMatch);
    }
    Ok(ctx.exit_code(page.faults().records > 0))
}

/// Opens only as much of the library as the question needs.
fn open(ctx: &Context, printer: &mut Printer, args: &Usage, group: Group) -> Result<Library> {
    let needs_sessions = !args.filters.is_empty()
        || !args.kind.is_empty()
        || matches!(group, Group::Session | Group::Branch | Group::Blocks);
    if needs_sessions {
        return Library::open(ctx, printer, &args.filters.project);
    }
    let needs_more = matches!(group, Group::Prompt | Group::Project)
        || args.view == ViewArg::Current
        || args.budget.is_some();
    if needs_more {
        Library::open_for_sums(ctx, printer)
    } else {
        Library::open_to_count(ctx, printer)
    }
}

fn question(ctx: &Context, args: &Usage, group: Group, all: &Collection) -> Result<Question> {
    let mut filter = args.filters.filter(ctx, all)?;
    if group == Group::Blocks {
        blocks::choose_agent(&mut filter, all);
    }
    Ok(Question {
        group,
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
        Some(Sort::Cost) => rows.sort_by_key(|row| std::cmp::Reverse(row.sum.bill.usd)),
    }
}

/// Limits the rows: for times to the newest, otherwise to the first.
fn limit(rows: &mut Vec<Row>, args: &Usage, group: Group) {
    let Some(limit) = args.limit.filter(|limit| *limit < rows.len()) else { return };
    if group.is_time() && args.sort.is_none() {
        rows.drain(..rows.len() - limit);
    } else {
        rows.truncate(limit);
    }
}

/// The number of rows from which on a table is paged.
const LONG: usize = 20;

/// An answer with everything that printing it needs.
struct Page<'a> {
    ctx: &'a Context,
    args: &'a Usage,
    group: Group,
    library: &'a Library,
    answer: &'a Answer,
    /// The number of rows that are not shown.
    left: usize,
    budget: Option<&'a BudgetState>,
    month: Option<&'a Spending>,
    prompts: Option<footer::Prompts>,
}

impl Page<'_> {
    fn print(&self, printer: &mut Printer) -> Result<()> {
        if self.answer.total.calls == 0 {
            return Ok(());
        }
        if self.ctx.pages && self.answer.rows.len() > LONG {
            super::page(self.ctx, printer, None)?;
        }
        printer.rows(&self.table(printer.width()), Format::Table)?;
        // The notes are below the pages.
        printer.flush()?;
        if self.left > 0 {
            let rows = plural(self.left as u64, "more row", "more rows");
            printer.note(format!("{rows}; the total includes them."));
        }
        for line in self.running_lines().into_iter().chain(self.footer()) {
            printer.note(line);
        }
        Ok(())
    }
}

/// Explains that nothing was counted, and what would be.
fn nothing(ctx: &Context, printer: &mut Printer, args: &Usage) -> Result<Exit> {
    let all = Library::open(ctx, printer, &[])?.all;
    if all.sessions.is_empty() || crate::here::unknown(&all, &args.filters.project).is_some() {
        return Err(super::nothing(ctx, &all, &args.filters, "no model calls match"));
    }
    let counted = all.sessions.iter().filter(|s| s.kind != SessionKind::Checkpoint);
    let calls: usize = counted.map(|s| s.calls).sum();
    if calls == 0 {
        let sessions = plural(all.sessions.len() as u64, "session", "sessions");
        return Err(Failure::nothing(format!("no model calls are recorded in {sessions}")));
    }
    let failure = Failure::nothing("no model calls match");
    Err(if args.filters.is_empty() && args.kind.is_empty() {
        failure
    } else {
        failure.hint(format!(
            "there are {} in all; `backstory usage` without filters counts them",
            plural(calls as u64, "call", "calls")
        ))
    })
}
