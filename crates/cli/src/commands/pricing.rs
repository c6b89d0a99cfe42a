use backstory_core::money::Price;
use backstory_core::pricing::{Row, Source, Table};
use backstory_core::query::usage::models;
use serde::Serialize;

use crate::context::Context;
use crate::error::{Exit, Failure, Result};
use crate::library::Library;
use crate::library::prices;
use crate::output::rows::{Format, Rows};
use crate::output::{Cell, Column, Printer, style};

/// The address of LiteLLM's current table, one of the formats that `--pricing` reads.
const NEWER: &str =
    "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json";

const EXAMPLES: &str = "\
Examples:
  backstory pricing                       the prices of the models you used
  backstory pricing --all                 the whole table
  backstory pricing gemini-3              models with that in their name
  backstory --pricing mine.json pricing   with your own prices over the built-in ones
  curl -sLo prices.json https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json
  backstory --pricing prices.json usage   with today's list prices

docs/pricing.md describes both formats.";

/// Show the price table, and the models without a price
///
/// Prices are in US dollars per million tokens. The built-in table is dated; your own rows come from
/// `--pricing FILE` or the config file.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Pricing {
    /// Only models with this text in their name
    model: Option<String>,

    /// Show every model, not only those in your sessions
    #[arg(long)]
    all: bool,

    /// The output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    table_date: String,
    sources: &'a [Source],
    /// The address of newer prices, for `--pricing`.
    refresh: &'static str,
    rows: Vec<&'a Row>,
    unpriced_models: Vec<String>,
    aliases: Vec<Alias<'a>>,
}

#[derive(Serialize)]
struct Alias<'a> {
    model: &'a str,
    is: &'a str,
}

pub(super) fn run(ctx: &Context, printer: &mut Printer, args: &Pricing) -> Result<Exit> {
    super::require_given(ctx)?;
    let prices = prices(ctx)?;
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
    let rows: Vec<&Row> = prices.rows().filter(is_wanted).collect();
    if rows.is_empty() {
        return Err(Failure::nothing("no models in the price table match")
            .hint("`backstory pricing --all` lists them"));
    }
    let format = args.format.or_json(ctx.json);
    match format {
        Format::Json => printer.json(&Document {
            schema: "backstory.pricing/1",
            table_date: prices.date().to_string(),
            sources: prices.sources(),
            refresh: NEWER,
            rows,
            unpriced_models: unpriced,
            aliases: prices.aliases().map(|(model, is)| Alias { model, is }).collect(),
        })?,
        Format::Jsonl => printer.json_lines(rows.iter())?,
        _ => {
            printer.rows(&table(&rows), format)?;
            if format == Format::Table {
                notes(printer, &prices, &rows, &unpriced);
            }
        }
    }
    Ok(Exit::Success)
}

fn notes(printer: &mut Printer, prices: &Table, rows: &[&Row], unpriced: &[String]) {
    printer.note(format!(
        "US dollars per million tokens; list prices of {}. `>272k` is the price of prompts longer than that.",
        prices.date()
    ));
    let is_used = |id: &str| rows.iter().any(|row| row.source.as_deref() == Some(id));
    for source in prices.sources().iter().filter(|source| is_used(&source.id)) {
        printer
            .note(format!("{}: {} ({}, {})", source.id, source.name, source.revision, source.date));
    }
    for own in prices.overrides() {
        printer.note(format!("With {} rows from `{}`.", own.rows, own.name));
    }
    if !unpriced.is_empty() {
        printer.note(format!("Models in your sessions without a price: {}.", unpriced.join(", ")));
    }
    printer.note(format!(
        "To refresh: save {NEWER} and pass it with `--pricing FILE`, or name it as `pricing` in the \
         config file. docs/pricing.md shows how to write rows of your own."
    ));
}

/// Returns a line for each set of prices: those of each class of service, below and above its limit.
fn table(rows: &[&Row]) -> Rows {
    let mut out = Rows::new([
        Column::long("MODEL"),
        Column::text("SERVICE").spare(1),
        Column::number("INPUT"),
        Column::number("OUTPUT"),
        Column::number("CACHED").spare(2),
        Column::number("WRITE 5M").spare(3),
        Column::number("WRITE 1H").spare(3),
        Column::text("FROM").spare(4),
        Column::text("ALSO").spare(4),
        Column::text("SOURCE").spare(5),
    ]);
    let price = |price: Option<Price>, none: &str| {
        Cell::from(price.map_or_else(|| none.to_owned(), |price| price.to_string()))
    };
    let dim = |text: &str| Cell::styled(style::DIM, text);
    for row in rows {
        let service = row.service.name();
        let from = row.from.map(|day| day.to_string()).unwrap_or_default();
        let source = if row.overridden { "yours" } else { row.source.as_deref().unwrap_or("") };
        out.row([
            Cell::styled(style::NAME, &row.model),
            service.into(),
            price(Some(row.input), ""),
            price(Some(row.output), ""),
            price(row.cache_read, "–"),
            price(row.cache_write_5m, ""),
            price(row.cache_write_1h, ""),
            dim(&from),
            dim(&also(row)),
            dim(source),
        ]);
        let Some(tier) = row.tier else { continue };
        out.row([
            Cell::styled(style::NAME, &row.model),
            format!("{service} >{}k", tier.above / 1000).into(),
            price(Some(tier.input), ""),
            price(Some(tier.output), ""),
            price(tier.cache_read, ""),
            price(tier.cache_write_5m, ""),
            price(tier.cache_write_1h, ""),
            dim(&from),
            dim(""),
            dim(source),
        ]);
    }
    out
}

/// Formats what else changes the cost of a call.
fn also(row: &Row) -> String {
    let us = row.us_percent.map(|percent| format!("US {percent}%"));
    let search = row.web_search.map(|fee| format!("search {fee}/1000"));
    us.into_iter().chain(search).collect::<Vec<_>>().join(", ")
}
