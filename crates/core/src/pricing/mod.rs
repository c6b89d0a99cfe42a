//! What calls cost: the price table, how a model is found in it, and the sum for one call.
//!
//! The table is embedded and dated, because a report must come out the same without a network; the
//! user lays rows of their own over it. Cost is worked out when it is asked for and stored nowhere, so
//! that a better table corrects the past as well. The rules are explained in `docs/pricing.md`.

mod bill;
mod cost;
mod dates;
mod error;
mod file;
mod litellm;
mod lookup;
mod row;
mod table;

pub use bill::{Bill, Calls, NotABill};
pub use cost::{Cost, cost, cost_of_prompt};
pub use error::{PricingError, Unit};
pub use lookup::Found;
pub use row::{PriceRow, Row, Tier};
pub use table::{Override, Source, Table};
