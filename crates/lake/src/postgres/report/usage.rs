//! Adds up tokens and costs.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;

use backstory_core::export::usage::{Basis, Document, Faults, RowOut, plain};
use backstory_core::model::{AgentId, Bucket, Usage};
use backstory_core::number::count;
use backstory_core::pricing::Bill;
use backstory_core::query::spending::Spending;
use backstory_core::query::usage::{Answer, Group, Row, Sum};
use clap::{Args, ValueEnum};
use jiff::Zoned;
use postgres::Client;
use serde::Serialize;

use super::filters::{Conditions, OWNER, ReportArgs};
use super::form::{Format, print_json, print_lines, print_plain};
use super::table::Table;
use super::{SUMS, open, sum};
use crate::error::Result;
use crate::postgres::connect::failure;

#[derive(Debug, Args)]
pub(crate) struct UsageReport {
    #[command(flatten)]
    asking: ReportArgs,

    /// The grouping
    #[arg(value_enum, default_value = "daily")]
    group: Grouping,

    /// Split each row by model
    #[arg(long, short)]
    breakdown: bool,

    /// Add the usage of subagents to the session that started them (for `session`)
    #[arg(long)]
    rollup: bool,

    /// The sort order; periods are in chronological order by default
    #[arg(long, value_enum)]
    sort: Option<Sort>,

    /// Show N rows; for periods, the newest
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sort {
    Key,
    Calls,
    Tokens,
    Cost,
}

/// The grouping of calls. Prompts and the windows of plans are those of one person and stay on their machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Grouping {
    Daily,
    Weekly,
    Monthly,
    Hourly,
    Session,
    Project,
    Branch,
    Model,
    Kind,
    Agent,
    Machine,
    Person,
    Team,
    CostCenter,
}

impl Grouping {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn is_time(self) -> bool {
        Group::named(&self.name()).is_some_and(Group::is_time)
    }

    /// Returns the expression for the key of a call. `$10` is the zone, or `$11` the offset of one without a name.
    fn key(self, has_rollup: bool) -> String {
        let time = |form: &str| {
            format!(
                "coalesce(to_char(CASE WHEN $11::text IS NULL THEN occurred_at AT TIME ZONE $10::text
                    ELSE occurred_at AT TIME ZONE $11::text::interval END, '{form}'), 'undated')"
            )
        };
        match self {
            Self::Daily => time("YYYY-MM-DD"),
            Self::Weekly => time(r#"IYYY-"W"IW"#),
            Self::Monthly => time("YYYY-MM"),
            Self::Hourly => time(r#"YYYY-MM-DD"T"HH24"#),
            Self::Session if has_rollup => "coalesce(root, session)".to_owned(),
            Self::Session => "session".to_owned(),
            Self::Project => "coalesce(project, '(hidden)')".to_owned(),
            Self::Branch => "coalesce(project || ':' || branch, '(no branch)')".to_owned(),
            Self::Model => "coalesce(model, 'unknown')".to_owned(),
            Self::Kind => "session_kind".to_owned(),
            Self::Agent => "agent".to_owned(),
            Self::Machine => "coalesce(machine, '(hidden)')".to_owned(),
            Self::Person => "coalesce(person, '(hidden)')".to_owned(),
            Self::Team => "coalesce(team, '(hidden)')".to_owned(),
            Self::CostCenter => "coalesce(cost_center, '(hidden)')".to_owned(),
        }
    }
}

/// The main session of each session, of which the agents may have started others.
const ROOTS: &str = "known AS (SELECT org, session, parent FROM backstory.sessions_once),
        roots (org, session, root) AS (
            SELECT org, session, coalesce(parent, session) FROM known AS s
            WHERE NOT EXISTS (SELECT FROM known AS k WHERE k.org = s.org AND k.session = s.parent)
            UNION ALL
            SELECT k.org, k.session, root FROM known AS k JOIN roots AS r ON r.org = k.org AND r.session = k.parent
        )";

/// The end of the document.
#[derive(Serialize)]
struct More {
    #[serde(skip_serializing_if = "Option::is_none")]
    month: Option<Spending>,
}

/// Prints the report.
pub(crate) fn run(args: &UsageReport, out: &mut dyn Write) -> Result<()> {
    let mut client = open(&args.asking)?;
    let now = args.asking.now()?;
    let period = args.asking.period(&now)?;
    let chosen = args.asking.chosen(period);
    let mut answer = ask(&mut client, args, args.group, &chosen, &now)?;
    answer.unrecorded = unrecorded(&mut client, &chosen)?;
    sort(&mut answer.rows, args.sort);
    limit(&mut answer.rows, args);
    let rows = || answer.rows.iter().map(|row| RowOut::<()>::new(row, None));
    match args.asking.form.format() {
        Format::Table => return table(args, &answer).print(out),
        Format::Jsonl => return print_lines(out, rows()),
        format @ (Format::Csv | Format::Md) => {
            return print_plain(out, &plain(&answer.rows), format);
        }
        Format::Json => {}
    }
    let is_open = period.until.is_none_or(|until| until > now.timestamp());
    let spent = |period| -> Result<Bill> {
        let chosen = chosen.during(period);
        Ok(ask(&mut client, args, Grouping::Agent, &chosen, &now)?.total.bill)
    };
    let month = if is_open { Spending::of_month(&now, spent)? } else { None };
    let group = args.group.name();
    let (faults, table_date) = circumstances(&mut client)?;
    let basis = Basis { group: &group, tz: zone_name(&now), current: false, faults, table_date };
    print_json(out, &Document::new(basis, &answer, rows().collect(), More { month }))
}

/// Adds up the chosen calls.
fn ask(
    client: &mut Client,
    args: &UsageReport,
    group: Grouping,
    chosen: &Conditions,
    now: &Zoned,
) -> Result<Answer> {
    let has_rollup = args.rollup && group == Grouping::Session;
    let parents = if has_rollup { "LEFT JOIN roots USING (org, session)" } else { "" };
    let (level, columns, sets) = if args.breakdown {
        ("grouping(key) + grouping(name)", "key, name", "(), (key), (key, name)")
    } else {
        ("grouping(key) + 1", "key", "(), (key)")
    };
    // The last condition is always true; it gives the parameters of a zone their types for every grouping.
    let sql = format!(
        "WITH RECURSIVE {ROOTS}, chosen AS (
            SELECT *, {} AS key, coalesce(model, 'unknown') AS name
            FROM backstory.costs_between($1::text::timestamptz, $2::text::timestamptz) AS c {parents}
            WHERE CASE WHEN $3::text[] = '{{}}' THEN session_kind <> 'checkpoint' ELSE session_kind = ANY($3) END
                AND {OWNER}
                AND ($6::text[] = '{{}}' OR EXISTS (
                    SELECT FROM unnest($6) AS w (word) WHERE strpos(lower(coalesce(model, 'unknown')), word) > 0))
                AND coalesce($10::text, $11::text, '') IS NOT NULL
        )
        SELECT ({level})::bigint AS level, {columns}, {SUMS},
            array_agg(DISTINCT agent) AS agents,
            array_agg(DISTINCT name) FILTER (WHERE cost_pico IS NULL) AS unpriced_models
        FROM chosen GROUP BY GROUPING SETS ({sets})",
        group.key(has_rollup)
    );
    let (zone, offset) = zone(now);
    let mut parameters = chosen.parameters().to_vec();
    parameters.extend::<[&(dyn postgres::types::ToSql + Sync); 2]>([&zone, &offset]);
    let rows = client.query(&sql, &parameters).map_err(|error| failure(&error))?;
    let mut answer = Answer {
        rows: Vec::new(),
        total: Sum::default(),
        unpriced_models: Vec::new(),
        agents: Vec::new(),
        unrecorded: Usage::default(),
    };
    let mut models: HashMap<String, Vec<Row>> = HashMap::new();
    for row in rows {
        let new = |key: String| Row { key, text: None, sum: sum(&row), models: Vec::new() };
        match row.get::<_, i64>("level") {
            2 => {
                answer.total = sum(&row);
                answer.unpriced_models =
                    row.get::<_, Option<_>>("unpriced_models").unwrap_or_default();
                let agents: Option<Vec<&str>> = row.get("agents");
                answer.agents = agents.unwrap_or_default().into_iter().map(AgentId::new).collect();
            }
            1 => answer.rows.push(new(row.get("key"))),
            _ => models.entry(row.get("key")).or_default().push(new(row.get("name"))),
        }
    }
    for row in &mut answer.rows {
        row.models = models.remove(&row.key).unwrap_or_default();
        row.models.sort_by(|a, b| a.key.cmp(&b.key));
        row.models.sort_by_key(|row| Reverse(row.sum.usage.input + row.sum.usage.cached));
    }
    answer.rows.sort_by(|a, b| a.key.cmp(&b.key));
    if !group.is_time() {
        answer.rows.sort_by_key(|row| Reverse(row.sum.usage.total()));
    }
    Ok(answer)
}

/// Returns the tokens of calls that no file records. They belong to the last call of their session.
fn unrecorded(client: &mut Client, chosen: &Conditions) -> Result<Usage> {
    if !chosen.models.is_empty() {
        return Ok(Usage::default());
    }
    let sums: Vec<String> = Bucket::ALL
        .iter()
        .map(|bucket| {
            let name = bucket.name();
            format!(
                "least(coalesce(sum(unrecorded_{name}), 0), 9223372036854775807)::bigint AS {name}"
            )
        })
        .collect();
    let sql = format!(
        "SELECT {} FROM backstory.sessions_once AS s
         WHERE unrecorded_input IS NOT NULL
            AND ($3::text[] = '{{}}' OR kind = ANY($3)) AND {OWNER} AND $6::text[] = '{{}}'
            AND CASE WHEN $1::text IS NULL AND $2::text IS NULL THEN true ELSE (
                SELECT max(c.occurred_at) FROM backstory.calls_once AS c WHERE c.org = s.org AND c.session = s.session)
                BETWEEN coalesce($1::text::timestamptz, '-infinity')
                    AND coalesce($2::text::timestamptz - interval '1 microsecond', 'infinity') END",
        sums.join(", ")
    );
    let row = client.query_one(&sql, &chosen.parameters()).map_err(|error| failure(&error))?;
    let mut usage = Usage::default();
    for bucket in Bucket::ALL {
        let tokens: Option<i64> = row.get(bucket.name());
        *usage.get_mut(bucket) = tokens.map(i64::cast_unsigned).unwrap_or_default();
    }
    Ok(usage)
}

/// Returns the faults, and the date of the newest prices.
fn circumstances(client: &mut Client) -> Result<(Faults, String)> {
    let sql = "SELECT files, records, (SELECT max(version) FROM backstory.prices_once) FROM backstory.faults_once";
    let row = client.query_one(sql, &[]).map_err(|error| failure(&error))?;
    let number = |at: usize| row.get::<_, i64>(at).cast_unsigned();
    let faults = Faults { files: number(0), records: number(1) };
    Ok((faults, row.get::<_, Option<String>>(2).unwrap_or_default()))
}

/// Returns the name of a zone, or the offset of one that has none.
fn zone(now: &Zoned) -> (Option<String>, Option<String>) {
    match now.time_zone().iana_name() {
        Some(name) => (Some(name.to_owned()), None),
        None => (None, Some(format!("{} seconds", now.offset().seconds()))),
    }
}

fn zone_name(now: &Zoned) -> String {
    match now.time_zone().iana_name() {
        Some("Etc/UTC") => "UTC".to_owned(),
        Some(name) => name.to_owned(),
        None => now.offset().to_string(),
    }
}

fn sort(rows: &mut [Row], by: Option<Sort>) {
    match by {
        None => {}
        Some(Sort::Key) => rows.sort_by(|a, b| a.key.cmp(&b.key)),
        Some(Sort::Calls) => rows.sort_by_key(|row| Reverse(row.sum.calls)),
        Some(Sort::Tokens) => rows.sort_by_key(|row| Reverse(row.sum.usage.total())),
        Some(Sort::Cost) => rows.sort_by_key(|row| Reverse(row.sum.bill.usd)),
    }
}

/// Limits the rows: for times to the newest, otherwise to the first.
fn limit(rows: &mut Vec<Row>, args: &UsageReport) {
    let Some(limit) = args.limit.filter(|limit| *limit < rows.len()) else { return };
    if args.group.is_time() && args.sort.is_none() {
        rows.drain(..rows.len() - limit);
    } else {
        rows.truncate(limit);
    }
}

fn table(args: &UsageReport, answer: &Answer) -> Table {
    let group = args.group.name().to_uppercase();
    let mut table = Table::new([&group, "CALLS", "INPUT", "CACHED", "OUTPUT", "TOTAL", "COST"], 1);
    let mut add = |key: &str, sum: &Sum| {
        let usage = &sum.usage;
        let tokens =
            [sum.calls, usage.input + usage.tool, usage.cached, usage.output + usage.thoughts];
        let mut cells = vec![key.to_owned()];
        cells.extend(tokens.into_iter().chain([usage.total()]).map(count));
        cells.push(sum.bill.short().unwrap_or_default());
        table.row(&cells);
    };
    for row in &answer.rows {
        add(&row.key, &row.sum);
        row.models.iter().for_each(|model| add(&format!("  {}", model.key), &model.sum));
    }
    add("total", &answer.total);
    table
}
