//! The price table of a run.

use backstory_core::pricing::{PricingError, Table};

use crate::context::Context;
use crate::error::{Failure, Result};

/// Returns the built-in price table with the user's own rows on top.
pub(crate) fn prices(ctx: &Context) -> Result<Table> {
    let mut table = Table::embedded();
    let bad = |name: &str, error: PricingError| {
        Failure::new(format!("cannot use the prices of `{name}`"))
            .because(error)
            .hint("docs/pricing.md describes both formats: backstory's own and LiteLLM's JSON")
    };
    if !ctx.prices.is_empty() {
        table = table
            .with_rows(ctx.prices.clone(), "the config file")
            .map_err(|error| bad("[[prices]] in the config file", error))?;
    }
    if let Some(file) = &ctx.pricing {
        let name = ctx.show(file);
        let text = std::fs::read_to_string(file).map_err(|error| {
            Failure::new(format!("cannot read the prices of `{name}`")).because(error)
        })?;
        table = table.with_file(&text, &name).map_err(|error| bad(&name, error))?;
    }
    Ok(table)
}
