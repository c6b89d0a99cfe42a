//! Adds up the cost of calls, together with its gaps.
//!
//! Every cost that is printed or exported uses this type, so that none is shown as exact if it is
//! only a lower bound.

use jiff::Timestamp;
use serde::Serialize;

use super::cost::{Calls, cost};
use super::table::Table;
use crate::model::{Message, Service, Usage};
use crate::money::Usd;

/// The cost of some calls at list price; serialized, these are the cost fields of every document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Bill {
    /// The sum of the calls that have a price; none if no call has one.
    #[serde(rename = "cost_usd")]
    pub usd: Option<Usd>,
    /// The number of calls without a price, which the sum does not include.
    #[serde(rename = "unpriced_calls")]
    pub unpriced: u64,
    /// The number of calls priced as the same model without the version at the end of its name, or
    /// as another class of service.
    #[serde(rename = "estimated_calls")]
    pub estimated: u64,
    /// The number of calls whose cached tokens were priced as fresh ones.
    #[serde(rename = "upper_bound_calls")]
    pub upper_bound: u64,
    /// Whether files may lack calls, or the final token counts of calls.
    pub at_least: bool,
}

impl Bill {
    /// Adds the cost of other calls.
    pub fn add(&mut self, other: &Self) {
        self.usd = match (self.usd, other.usd) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.unpriced += other.unpriced;
        self.estimated += other.estimated;
        self.upper_bound += other.upper_bound;
        self.at_least |= other.at_least;
    }

    /// Returns the amount added since an earlier bill of the same calls.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let less = |now: u64, before: u64| now.saturating_sub(before);
        let earlier = before.usd.unwrap_or_default().pico();
        Self {
            usd: self.usd.map(|usd| Usd::from_pico(usd.pico().saturating_sub(earlier))),
            unpriced: less(self.unpriced, before.unpriced),
            estimated: less(self.estimated, before.estimated),
            upper_bound: less(self.upper_bound, before.upper_bound),
            at_least: self.at_least,
        }
    }

    /// Returns whether the real cost may be higher: files may have lost calls, or some calls have no price.
    pub fn is_lower_bound(&self) -> bool {
        self.at_least || self.unpriced > 0
    }

    /// Formats the cost for people: `$0.42`, `≥$0.42` for a lower bound, `no price` if no call has
    /// one, and nothing if there are no calls.
    pub fn short(&self) -> Option<String> {
        match self.usd {
            Some(usd) => Some(self.marked(usd)),
            None if self.unpriced > 0 => Some("no price".to_owned()),
            None => None,
        }
    }

    /// Formats an amount, marked as a lower bound if this bill is one.
    pub fn marked(&self, usd: Usd) -> String {
        format!("{}{}", if self.is_lower_bound() { "≥" } else { "" }, usd.short())
    }

    /// Describes the gaps of the cost, for output with room for words.
    pub fn lacks(&self) -> Option<String> {
        let calls = match self.unpriced {
            0 => None,
            1 => Some("1 call without a price".to_owned()),
            n => Some(format!("{n} calls without a price")),
        };
        let lost = self.at_least.then(|| "some files lack calls or final token counts".to_owned());
        let parts: Vec<String> = calls.into_iter().chain(lost).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl<'a> FromIterator<&'a Bill> for Bill {
    fn from_iter<I: IntoIterator<Item = &'a Bill>>(bills: I) -> Self {
        bills.into_iter().fold(Self::default(), |mut sum, bill| {
            sum.add(bill);
            sum
        })
    }
}

impl Table {
    /// Prices one call; a call that does not name a model has no price.
    pub fn bill(
        &self,
        model: Option<&str>,
        at: Option<Timestamp>,
        usage: &Usage,
        service: Service,
    ) -> Bill {
        self.bill_calls(model, at, &Calls::one(usage, service))
    }

    /// Prices the call of a message; a message without one costs nothing.
    pub fn bill_message(&self, message: &Message, at: Option<Timestamp>) -> Bill {
        let bill = |usage| self.bill(message.model.as_deref(), at, usage, message.service);
        message.usage.as_ref().map(bill).unwrap_or_default()
    }

    /// Prices calls that share a row.
    pub fn bill_calls(&self, model: Option<&str>, at: Option<Timestamp>, calls: &Calls) -> Bill {
        let Some(found) = model.and_then(|model| self.lookup_served(model, at, calls.service))
        else {
            return Bill { unpriced: calls.count, ..Bill::default() };
        };
        let cost = cost(found.row, calls);
        Bill {
            usd: Some(cost.usd),
            unpriced: 0,
            estimated: if found.estimated { calls.count } else { 0 },
            upper_bound: if cost.upper_bound { calls.caching } else { 0 },
            at_least: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cents(cents: i128) -> Bill {
        Bill { usd: Some(Usd::from_pico(cents * 10_i128.pow(10))), ..Bill::default() }
    }

    #[test]
    fn a_sum_that_lacks_calls_is_marked() {
        let exact = cents(42);
        let unpriced = Bill { unpriced: 1, ..Bill::default() };
        let bounded = Bill { at_least: true, ..cents(8) };
        let sum = |bills: &[&Bill]| bills.iter().copied().collect::<Bill>().short();
        assert_eq!(sum(&[]), None);
        assert_eq!(sum(&[&exact]).as_deref(), Some("$0.42"));
        assert_eq!(sum(&[&unpriced]).as_deref(), Some("no price"));
        assert_eq!(sum(&[&exact, &unpriced]).as_deref(), Some("≥$0.42"));
        assert_eq!(sum(&[&exact, &bounded]).as_deref(), Some("≥$0.50"));
        // An upper bound is not a lower bound.
        let bill = Bill { upper_bound: 3, estimated: 2, ..cents(1) };
        assert_eq!(bill.short().as_deref(), Some("$0.01"));
    }

    #[test]
    fn a_call_without_a_known_model_has_no_price() {
        let table = Table::embedded();
        let usage = Usage { input: 1_000_000, ..Usage::default() };
        let priced = table.bill(Some("gemini-2.5-flash"), None, &usage, Service::default());
        assert_eq!(priced.short().as_deref(), Some("$0.30"));
        for model in [None, Some("auto"), Some("no-such-model")] {
            let bill = table.bill(model, None, &usage, Service::default());
            assert_eq!(bill, Bill { unpriced: 1, ..Bill::default() }, "{model:?}");
        }
    }
}
