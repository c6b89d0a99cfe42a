use backstory_core::pricing::{Row, Source};
use backstory_core::query::usage::models;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::Library;
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};

const EXAMPLES: &str = "\
Examples:
  backstory pricing                       the prices of the models you used
  backstory pricing --all                 the whole table
  backstory pricing gemini-3              models with that in their name
  backstory --pricing mine.json pricing   with your own prices; docs/pricing.md shows the form";

/// Show the price table: models, prices, dates, and what has no price
///
/// Prices are US dollars per million tokens. The table comes with the program and is dated; your own
/// rows come from `--pricing FILE` or the config file.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Pricing {
    /// Only models with this in their name
    model: Option<String>,

    /// Every model, not only those in your sessions
    #[arg(long)]
    all: bool,

    /// How to print it
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    table_date: String,
    sources: &'a [Source],
    rows: Vec<RowOut>,
    unpriced_models: Vec<String>,
    aliases: Vec<Alias<'a>>,
}

#[derive(Serialize)]
struct Alias<'a> {
    model: &'a str,
    is: &'a str,
}

#[derive(Serialize)]
struct RowOut {
    model: String,
    from: Option<String>,
    to: Option<String>,
    input: String,
    output: String,
    cache_read: Option<String>,
    tier: Option<TierOut>,
    overridden: bool,
}

#[derive(Serialize)]
struct TierOut {
    above: u64,
    input: String,
    output: String,
    cache_read: Option<String>,
}

impl RowOut {
    fn new(row: &Row) -> Self {
        Self {
            model: row.model.clone(),
            from: row.from.map(|date| date.to_string()),
            to: row.to.map(|date| date.to_string()),
            input: row.input.to_string(),
            output: row.output.to_string(),
            cache_read: row.cache_read.map(|price| price.to_string()),
            tier: row.tier.as_ref().map(|tier| TierOut {
                above: tier.above,
                input: tier.input.to_string(),
                output: tier.output.to_string(),
                cache_read: tier.cache_read.map(|price| price.to_string()),
            }),
            overridden: row.overridden,
        }
    }
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Pricing) -> Result<Exit> {
    super::require_given(ctx)?;
    let prices = super::prices(ctx)?;
    let library = Library::open(ctx, printer, &[])?;
    let used = models(&library.archive).map_err(super::cannot_count)?;
    let unpriced: Vec<String> =
        used.iter().filter(|model| prices.lookup(model, None).is_none()).cloned().collect();
    let priced: Vec<&str> = used
        .iter()
        .filter_map(|model| prices.lookup(model, None).map(|found| found.row.model.as_str()))
        .collect();
    let is_wanted = |row: &&Row| match &args.model {
        Some(part) => row.model.contains(part.as_str()),
        None => args.all || ctx.json || priced.is_empty() || priced.contains(&row.model.as_str()),
    };
    let rows: Vec<RowOut> = prices.rows().filter(is_wanted).map(RowOut::new).collect();
    if rows.is_empty() {
        return Err(Failure::nothing("no model in the price table fits")
            .hint("`backstory pricing --all` lists them"));
    }
    let format = args.format.or_json(ctx.json);
    match format {
        Format::Json => printer.json(&Document {
            schema: "backstory.pricing/1",
            table_date: prices.date().to_string(),
            sources: prices.sources(),
            rows,
            unpriced_models: unpriced,
            aliases: prices.aliases().map(|(model, is)| Alias { model, is }).collect(),
        })?,
        Format::Jsonl => printer.json_lines(rows.iter())?,
        _ => {
            printer.rows(&table(&rows), format)?;
            if format == Format::Table {
                printer
                    .note(format!("US dollars per million tokens; prices of {}.", prices.date()));
                if !unpriced.is_empty() {
                    printer.note(format!(
                        "In your sessions, without a price: {}.",
                        unpriced.join(", ")
                    ));
                }
            }
        }
    }
    Ok(Exit::Fine)
}

fn table(rows: &[RowOut]) -> Rows {
    let mut out = Rows::new([
        Column::text("MODEL"),
        Column::number("INPUT"),
        Column::number("OUTPUT"),
        Column::number("CACHED"),
        Column::number("ABOVE"),
        Column::number("INPUT"),
        Column::number("OUTPUT"),
        Column::number("CACHED"),
        Column::text("FROM"),
        Column::text(""),
    ]);
    for row in rows {
        let tier = row.tier.as_ref();
        let above = tier.map(|tier| format!("{}k", tier.above / 1000)).unwrap_or_default();
        let own = if row.overridden { "yours" } else { "" };
        out.row([
            Cell::styled(style::NAME, &row.model),
            row.input.as_str().into(),
            row.output.as_str().into(),
            row.cache_read.as_deref().unwrap_or("–").into(),
            above.into(),
            tier.map(|tier| tier.input.clone()).unwrap_or_default().into(),
            tier.map(|tier| tier.output.clone()).unwrap_or_default().into(),
            tier.and_then(|tier| tier.cache_read.clone()).unwrap_or_default().into(),
            Cell::styled(style::DIM, row.from.clone().unwrap_or_default()),
            Cell::styled(style::DIM, own),
        ]);
    }
    out
}
