//! Tests counting on made-up homes: in every group and zone, the rows add up to the tokens that
//! were written.

use backstory_core::archive::{Archive, rollup_answers};
use backstory_core::pricing::Table;
use backstory_core::query::Reports;
use backstory_core::query::usage::{Group, Question, Sum};
use backstory_core::time::Period;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::discover_at;
use crate::trees::tree;

pub(crate) fn question(group: Group) -> Question {
    Question {
        group,
        period: Period::default(),
        sessions: None,
        models: Vec::new(),
        breakdown: true,
        rollup: false,
        current: false,
        checkpoints: false,
    }
}

/// Returns all numbers that are added up.
fn numbers(sum: &Sum) -> [u64; 9] {
    let usage = &sum.usage;
    let Sum { calls, undated, bill, .. } = sum;
    let cost = bill.usd.unwrap_or_default().pico();
    let cost = u64::try_from(cost).unwrap();
    let tokens = [usage.input, usage.cached, usage.output, usage.thoughts, usage.tool];
    let [input, cached, output, thoughts, tool] = tokens;
    [*calls, input, cached, output, thoughts, tool, usage.other, *undated, cost]
}

fn added<'a>(sums: impl Iterator<Item = &'a Sum>) -> [u64; 9] {
    sums.map(numbers).fold([0; 9], |all, one| std::array::from_fn(|n| all[n] + one[n]))
}

proptest! {
    // Each case writes files.
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_group_adds_up_in_every_zone(tree in tree(), zones in prop::collection::vec(any::<Index>(), 20)) {
        let folder = tempfile::tempdir().unwrap();
        tree.plant(folder.path());
        let found = discover_at(folder.path());
        let archive = Archive::of(&found).unwrap();
        let names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
        prop_assert!(names.len() > 400, "only {} zones", names.len());
        for zone in zones {
            let name = zone.get(&names);
            let Ok(zone) = TimeZone::get(name) else { continue };
            let prices = Table::embedded();
            let reports = Reports::new(&archive, &zone, &prices);
            for group in Group::ALL {
                let answer = reports.usage(&question(group)).unwrap();
                prop_assert_eq!(answer.total.calls, tree.calls.len() as u64);
                prop_assert_eq!(answer.total.usage.total(), tree.calls.values().sum::<u64>());
                let total = numbers(&answer.total);
                prop_assert_eq!(added(answer.rows.iter().map(|row| &row.sum)), total, "{:?} {}", group, name);
                for row in &answer.rows {
                    let parts = added(row.models.iter().map(|part| &part.sum));
                    prop_assert_eq!(parts, numbers(&row.sum), "{:?} {} {}", group, name, row.key);
                }
                let keys: std::collections::BTreeSet<&str> = answer.rows.iter().map(|row| row.key.as_str()).collect();
                prop_assert_eq!(keys.len(), answer.rows.len(), "{:?} {}", group, name);
                prop_assert!(!keys.contains("undated"), "every session has a start");
            }
        }
    }
}

/// Other limits would make every query read single calls.
#[test]
fn sums_answer_by_the_embedded_prices() {
    assert!(rollup_answers(&Period::default(), &Table::embedded()));
}
