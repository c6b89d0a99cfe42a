//! Writes the tables as Parquet files: one object per table, month and machine, written whole by its only
//! writer.
//!
//! A manifest per machine records which units each object contains, so that only months that changed are written
//! again. It is written last: an export that is interrupted is done again, and changes no total until then, because
//! views count each call once.

mod manifest;
mod parquet;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use manifest::{Manifest, Object, WrittenUnit};
use store::Store;

use crate::dry_run;
use crate::error::Result;
use crate::receipt::Receipt;
use crate::rows::{Outgoing, Rows, Unit};
use crate::sending::Sending;
use crate::tables::{TABLES, Table};
use crate::value::Value;

/// The version of the layout: the first folder.
const LAYOUT: &str = "v1";
/// The month of rows without a time.
const UNDATED: &str = "undated";

/// Exports what changed, or prints it.
pub(crate) fn export(
    outgoing: &Outgoing<'_>,
    sending: &Sending,
    receipt: &mut Receipt,
    out: &mut dyn Write,
) -> Result<()> {
    let store = Store::open(&sending.url, sending.insecure)?;
    let place = format!("{LAYOUT}/manifest/machine={}.json", outgoing.machine());
    let before = store.get(&place)?.map_or_else(Manifest::default, |text| Manifest::parse(&text));
    let plan = Plan::new(outgoing, &before)?;
    for name in &plan.removed {
        if sending.dry_run {
            dry_run::print_removed(out, name)?;
        }
    }
    receipt.sent = plan.changed.iter().map(|unit| unit.name.to_string()).collect();
    receipt.removed = plan.removed.iter().map(ToString::to_string).collect();
    for (month, tables) in plan.months() {
        let rows = plan.rows(outgoing, month, &tables)?;
        if sending.dry_run {
            dry_run::print(out, &rows)?;
            continue;
        }
        receipt.add(&rows);
        for name in tables {
            let Some(table) = TABLES.iter().find(|table| table.name == name) else { continue };
            let machine = outgoing.machine();
            let place = format!("{LAYOUT}/{name}/month={month}/machine={machine}.parquet");
            match rows.of(table) {
                // Engines cannot read a table without files.
                [] if month != UNDATED => store.delete(&place)?,
                rows => store.put(&place, parquet::file(table, rows)?)?,
            }
            receipt.objects.push(place);
        }
    }
    if !sending.dry_run && plan.after != before {
        store.put(&place, plan.after.to_text()?.into_bytes())?;
    }
    Ok(())
}

/// The objects that must be written.
struct Plan<'a> {
    /// The units that are new or have changed.
    changed: Vec<&'a Unit>,
    /// The names of units that are gone.
    removed: Vec<String>,
    /// The manifest once everything is written.
    after: Manifest,
    dirty: BTreeSet<Object>,
}

impl<'a> Plan<'a> {
    fn new(outgoing: &'a Outgoing<'_>, before: &Manifest) -> Result<Self> {
        let is_same = |unit: &Unit| {
            before.units.get(&*unit.name).is_some_and(|written| written.stamp == unit.stamp)
        };
        let (same, changed): (Vec<&Unit>, Vec<&Unit>) =
            outgoing.units().iter().partition(|unit| is_same(unit));
        let mut after = Manifest::default();
        let same: BTreeSet<&str> = same.iter().map(|unit| &*unit.name).collect();
        let mut dirty = BTreeSet::new();
        if before.units.is_empty() {
            let undated =
                |table: &Table| Object { table: table.name.into(), month: UNDATED.into() };
            dirty.extend(TABLES.iter().map(undated));
        }
        for (name, written) in &before.units {
            if same.contains(name.as_str()) {
                after.units.insert(name.clone(), written.clone());
            } else {
                dirty.extend(written.objects.iter().cloned());
            }
        }
        outgoing.each(&changed, |unit, rows| {
            let objects = objects(&rows);
            dirty.extend(objects.iter().cloned());
            let written = WrittenUnit { stamp: unit.stamp.clone(), objects };
            after.units.insert(unit.name.to_string(), written);
            Ok(())
        })?;
        let names: BTreeSet<&str> = outgoing.units().iter().map(|unit| &*unit.name).collect();
        let gone = before.units.keys().filter(|name| !names.contains(name.as_str()));
        Ok(Self { changed, removed: gone.cloned().collect(), after, dirty })
    }

    /// Returns the tables that must be written, by month.
    fn months(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut out: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Object { table, month } in &self.dirty {
            out.entry(month).or_default().push(table);
        }
        out
    }

    /// Returns the rows of a month in some tables.
    fn rows(&self, outgoing: &Outgoing<'_>, month: &str, tables: &[&str]) -> Result<Rows> {
        let is_in = |unit: &&Unit| {
            let written = self.after.units.get(&*unit.name);
            written.is_some_and(|written| {
                written.objects.iter().any(|o| o.month == month && tables.contains(&&*o.table))
            })
        };
        let units: Vec<&Unit> = outgoing.units().iter().filter(is_in).collect();
        let mut all = Rows::default();
        outgoing.each(&units, |_, rows| {
            let is_wanted = |table: &Table, row: &[Value]| {
                tables.contains(&table.name) && month_of(table, row) == month
            };
            all.extend(&rows, is_wanted);
            Ok(())
        })?;
        Ok(all)
    }
}

/// Returns the objects that contain rows.
fn objects(rows: &Rows) -> BTreeSet<Object> {
    rows.tables()
        .flat_map(|(table, rows)| {
            let months: BTreeSet<String> = rows.iter().map(|row| month_of(table, row)).collect();
            months.into_iter().map(|month| Object { table: table.name.to_owned(), month })
        })
        .collect()
}

/// Returns the month of a row, such as `2026-11`.
fn month_of(table: &Table, row: &[Value]) -> String {
    let place = table.time.and_then(|column| table.place(column));
    match place.and_then(|place| row.get(place)) {
        Some(Value::Time(at)) => at.strftime("%Y-%m").to_string(),
        _ => UNDATED.to_owned(),
    }
}
