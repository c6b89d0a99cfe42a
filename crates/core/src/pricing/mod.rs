//! Prices calls: the price table, the lookup of a model in it, and the cost of a call.
//!
//! The table is embedded and dated, because a report must be reproducible without a network; the
//! user can override rows. Costs are computed when they are needed and never stored, so that a
//! better table corrects the past as well. The rules are explained in `docs/pricing.md`.

mod bill;
mod cost;
mod dates;
mod error;
mod file;
mod litellm;
mod lookup;
mod row;
mod table;

pub use bill::Bill;
pub use cost::Cost;
#[doc(hidden)]
pub use cost::{Calls, cost};
pub use error::{PricingError, Unit};
pub use lookup::PriceMatch;
pub use row::{PriceRow, Row, Tier};
pub use table::{Override, Source, Table};
