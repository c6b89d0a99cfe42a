//! The lines below the table: the basis of the numbers, and their uncertainties.

use backstory_core::agent::Agents;
use backstory_core::export::usage::Faults;
use backstory_core::money::Usd;
use backstory_core::query::spending::Spending;
use serde::Serialize;

use super::Page;
use crate::commands::show::ViewArg;
use crate::context::Billing;
use crate::output::number::{percent, plural};

/// The prompts that led to calls.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Prompts {
    pub(super) count: u64,
    /// The average and the median cost of those that have one.
    mean_usd: Option<Usd>,
    median_usd: Option<Usd>,
}

impl Prompts {
    /// Counts prompts by their costs; none for one without a price.
    pub(super) fn of(costs: &[Option<Usd>]) -> Self {
        let mut known: Vec<Usd> = costs.iter().copied().flatten().collect();
        known.sort_unstable();
        let sum: i128 = known.iter().map(|cost| cost.pico()).sum();
        let mean = i128::try_from(known.len()).ok().and_then(|count| sum.checked_div(count));
        Self {
            count: costs.len() as u64,
            mean_usd: mean.map(Usd::from_pico),
            median_usd: median(&known),
        }
    }

    fn line(&self) -> String {
        let prompts = plural(self.count, "prompt", "prompts");
        match (self.mean_usd, self.median_usd) {
            (Some(mean), Some(median)) => {
                format!("{prompts}: {} each on average, median {}.", mean.short(), median.short())
            }
            _ => format!("{prompts}."),
        }
    }
}

/// Returns the middle of sorted costs, or the mean of the two in the middle.
fn median(sorted: &[Usd]) -> Option<Usd> {
    let below = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    let above = sorted.get(sorted.len() / 2)?;
    Some(Usd::from_pico(i128::midpoint(below.pico(), above.pico())))
}

/// Describes the spending in the current month.
fn month_line(month: &Spending) -> String {
    format!(
        "This month: {}; at this pace, {} by its end.",
        month.bill.marked(month.spent_usd),
        month.bill.marked(month.forecast_usd)
    )
}

impl Page<'_> {
    pub(super) fn footer(&self) -> Vec<String> {
        let total = &self.answer.total;
        let usage = &total.usage;
        let mut lines = Vec::new();
        lines.extend(self.month.map(month_line));
        lines.extend(self.prompts.as_ref().map(Prompts::line));
        lines.push(format!(
            "{} of input came from the cache; {} of output was thoughts.",
            percent(usage.cached, usage.prompt()),
            percent(usage.thoughts, usage.thoughts + usage.output)
        ));
        if self.args.view == ViewArg::Current {
            lines.push(
                "Only what the agent would still load; `--view full` counts everything that was paid for."
                    .to_owned(),
            );
        }
        let what = match self.ctx.billing {
            Billing::Api => "Cost is an estimate",
            Billing::Vertex => "Cost is an estimate for Vertex AI",
            Billing::Licence => "Cost is the value at list price, not what a licence costs",
        };
        lines.push(format!(
            "{what}: list prices of {}, days in {}.",
            self.library.prices.date(),
            self.ctx.zone_name()
        ));
        lines.extend(self.unrecorded());
        let bill = &total.bill;
        let mut doubts = Vec::new();
        if bill.is_lower_bound() {
            doubts.push("≥ marks a lower bound".to_owned());
        }
        if bill.unpriced > 0 {
            // A model with a price was served by a provider that has none.
            let prices = &self.library.prices;
            let models = self.answer.unpriced_models.iter().map(|model| {
                let is_priced = prices.lookup(model, None).is_some();
                if is_priced { format!("{model} of another provider") } else { model.clone() }
            });
            doubts.push(format!(
                "{} no price ({})",
                plural(bill.unpriced, "call has", "calls have"),
                models.collect::<Vec<_>>().join(", ")
            ));
        }
        if bill.at_least {
            doubts.push("some files lack calls or final token counts".to_owned());
        }
        if bill.estimated > 0 {
            let calls = plural(bill.estimated, "call", "calls");
            doubts.push(format!("{calls} priced as a similar model or service"));
        }
        if bill.upper_bound > 0 {
            let calls = plural(bill.upper_bound, "call", "calls");
            doubts
                .push(format!("{calls} priced at an upper bound, because there is no cache price"));
        }
        if total.undated > 0 {
            let calls = plural(total.undated, "call", "calls");
            doubts.push(format!("{calls} without a time"));
        }
        let faults = self.faults();
        if faults.records > 0 {
            doubts.push(format!(
                "{} in {}",
                plural(faults.records, "fault", "faults"),
                plural(faults.files, "file", "files")
            ));
        }
        if !doubts.is_empty() {
            lines.push(format!("Note: {}. `backstory verify` lists each.", doubts.join("; ")));
        }
        if bill.unpriced > 0 {
            lines.push("`backstory pricing` shows how to add or refresh prices.".to_owned());
        }
        lines
    }

    /// Names the calls that no file records, and their tokens where an agent reports them.
    fn unrecorded(&self) -> Option<String> {
        let agents = self.answer.agents.iter().filter_map(|id| Agents::default().get(id));
        let named = agents.filter(|agent| !agent.unrecorded_calls().is_empty());
        let calls: Vec<String> =
            named.map(|agent| format!("{} ({})", agent.unrecorded_calls(), agent.name())).collect();
        let tokens = self.answer.unrecorded.total();
        let reported = match tokens {
            0 => String::new(),
            _ => format!("; they used at least {}", plural(tokens, "token", "tokens")),
        };
        (!calls.is_empty())
            .then(|| format!("Not in the files, and not counted: {}{reported}.", calls.join("; ")))
    }

    /// Counts unreadable records and impossible token counts.
    pub(super) fn faults(&self) -> Faults {
        let faults = self.library.faults;
        Faults { files: faults.files, records: faults.records + faults.numbers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_lies_in_the_middle() {
        let of = |costs: &[i128]| {
            let costs: Vec<Usd> = costs.iter().map(|cost| Usd::from_pico(*cost)).collect();
            median(&costs).map(Usd::pico)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some(7));
        assert_eq!(of(&[30, 690]), Some(360));
        assert_eq!(of(&[1, 2, 9]), Some(2));
        assert_eq!(of(&[1, 2, 4, 9]), Some(3));
    }
}
