//! Prints what would leave: every row, in full.

use std::io::Write;

use serde_json::{Map, Value as Json};

use crate::error::Result;
use crate::rows::Rows;

/// Prints rows, one JSON object per line.
pub(crate) fn print(out: &mut dyn Write, rows: &Rows) -> Result<()> {
    for (table, rows) in rows.tables() {
        for row in rows {
            let mut object = Map::new();
            object.insert("table".to_owned(), table.name.into());
            for (column, value) in table.columns().zip(row) {
                object.insert(column.name.to_owned(), value.json());
            }
            writeln!(out, "{}", Json::Object(object))?;
        }
    }
    Ok(())
}

/// Prints a unit that would be removed from the target.
pub(crate) fn print_removed(out: &mut dyn Write, name: &str) -> Result<()> {
    writeln!(out, "{}", serde_json::json!({ "removed": name }))?;
    Ok(())
}
