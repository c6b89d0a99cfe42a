//! The commands of administrators: removing a machine, and removing old rows.

use jiff::Timestamp;
use postgres::Client;

use super::connect::failure;
use crate::error::{Error, Result};
use crate::tables::TABLES;

/// Removes a machine: all its rows, and its right to push. Returns the number of rows.
pub(super) fn retire(client: &mut Client, machine: &str) -> Result<u64> {
    let failed = |error| failure(&error);
    let mut transaction = client.transaction().map_err(failed)?;
    let mut rows = 0;
    for name in TABLES.iter().map(|table| table.name) {
        let sql = format!("DELETE FROM backstory.{name} WHERE machine = $1");
        rows += transaction.execute(&sql, &[&machine]).map_err(failed)?;
    }
    let mut known = rows;
    for name in ["progress", "machines"] {
        let sql = format!("DELETE FROM backstory.{name} WHERE machine = $1");
        known += transaction.execute(&sql, &[&machine]).map_err(failed)?;
    }
    if known == 0 {
        return Err(Error::target(format!("there is no machine `{machine}`")));
    }
    transaction.commit().map_err(failed)?;
    Ok(rows)
}

/// Removes what happened before a time, and keeps machines from pushing it again. Returns the number of rows.
pub(super) fn purge(client: &mut Client, before: Timestamp) -> Result<u64> {
    let failed = |error| failure(&error);
    let before = before.to_string();
    let mut transaction = client.transaction().map_err(failed)?;
    transaction
        .execute(
            "UPDATE backstory.settings SET purged_before = greatest(purged_before, $1::text::timestamptz)",
            &[&before],
        )
        .map_err(failed)?;
    let mut rows = 0;
    for table in TABLES {
        // A session is as old as its last update.
        let updated = table.place("updated").map(|_| "updated");
        let Some(time) = updated.or(table.time) else { continue };
        let sql =
            format!("DELETE FROM backstory.{} WHERE {time} < $1::text::timestamptz", table.name);
        rows += transaction.execute(&sql, &[&before]).map_err(failed)?;
    }
    transaction.commit().map_err(failed)?;
    Ok(rows)
}
