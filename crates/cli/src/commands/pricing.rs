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
                notes(printer, &prices, &unpriced);
            }
        }
    }
    Ok(Exit::Fine)
}

fn notes(printer: &mut Printer, prices: &Table, unpriced: &[String]) {
    let source = prices.sources().first();
    let source = source.map(|source| format!(" ({} {})", source.name, source.revision));
    printer.note(format!(
        "US dollars per million tokens; list prices of {}{}.",
        prices.date(),
        source.unwrap_or_default()
    ));
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

fn table(rows: &[&Row]) -> Rows {
    let mut out = Rows::new([
        Column::long("MODEL"),
        Column::number("INPUT"),
        Column::number("OUTPUT"),
        Column::number("CACHED").spare(2),
        Column::number("ABOVE").spare(3),
        Column::number("INPUT").spare(3),
        Column::number("OUTPUT").spare(3),
        Column::number("CACHED").spare(3),
        Column::text("FROM").spare(4),
        Column::text("").spare(1),
    ]);
    let price = |price: Option<Price>, none: &str| {
        Cell::from(price.map_or_else(|| none.to_owned(), |price| price.to_string()))
    };
    for row in rows {
        let tier = row.tier.as_ref();
        let above = tier.map(|tier| format!("{}k", tier.above / 1000)).unwrap_or_default();
        let own = if row.overridden { "yours" } else { "" };
        let from = row.from.map(|day| day.to_string()).unwrap_or_default();
        out.row([
            Cell::styled(style::NAME, &row.model),
            price(Some(row.input), ""),
            price(Some(row.output), ""),
            price(row.cache_read, "–"),
            above.into(),
            price(tier.map(|tier| tier.input), ""),
            price(tier.map(|tier| tier.output), ""),
            price(tier.and_then(|tier| tier.cache_read), ""),
            Cell::styled(style::DIM, from),
            Cell::styled(style::DIM, own),
        ]);
    }
    out
}
