//! Below the table: what the numbers stand on, and what is doubtful.

use super::Page;
use super::document::Faults;
use crate::commands::show::ViewArg;
use crate::context::Billing;
use crate::output::number::{percent, plural};

impl Page<'_> {
    pub(super) fn footer(&self) -> Vec<String> {
        let total = &self.answer.total;
        let usage = &total.usage;
        let mut lines = Vec::new();
        lines.push(format!(
            "Cache hits {} of the prompts, thoughts {} of the output.",
            percent(usage.cached, usage.cached + usage.input),
            percent(usage.thoughts, usage.thoughts + usage.output)
        ));
        if self.args.view == ViewArg::Current {
            lines.push(
                "Only what the agent would still load; `--view full` is what was paid for."
                    .to_owned(),
            );
        }
        let what = match self.ctx.billing {
            Billing::Api => "Cost is an estimate",
            Billing::Vertex => "Cost is an estimate for Vertex AI",
            Billing::Licence => "Cost is the value at list price, not what a licence costs",
        };
        lines.push(format!(
            "{what}: prices of {}, days of {}. Helper calls (compression, summaries, routing, search) \
             are in no file.",
            self.library.prices.date(),
            self.ctx.zone_name()
        ));
        let mut doubts = Vec::new();
        if total.billed.unpriced > 0 {
            doubts.push(format!(
                "{} without a price ({})",
                plural(total.billed.unpriced, "call", "calls"),
                self.answer.unpriced_models.join(", ")
            ));
        }
        if total.billed.estimated > 0 {
            let calls = plural(total.billed.estimated, "call", "calls");
            doubts.push(format!("{calls} priced by a similar name"));
        }
        if total.billed.upper_bound > 0 {
            let calls = plural(total.billed.upper_bound, "call", "calls");
            doubts.push(format!("{calls} at most that much (no cache price)"));
        }
        if total.undated > 0 {
            let calls = plural(total.undated, "call", "calls");
            doubts.push(format!("{calls} without a time of their own"));
        }
        if total.at_least {
            doubts.push("`≥` is at least, for old `.json` sessions can have lost calls".to_owned());
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
            lines.push(format!("Mind: {}. `backstory verify` lists each.", doubts.join("; ")));
        }
        lines
    }

    /// What could not be read, and token counts that cannot be right.
    pub(super) fn faults(&self) -> Faults {
        let faults = self.library.faults;
        Faults { files: faults.files, records: faults.records + faults.numbers }
    }
}
