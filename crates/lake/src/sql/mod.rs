//! The views of each engine, from one text.

mod dialect;
mod expand;

use std::fmt::Write;

use dialect::Dialect;

use crate::args::{Engine, Sql};
use crate::error::{Error, Result};
use crate::tables::{Role, TABLES, Table};

/// Returns the statements that create the views over the Parquet files.
pub(crate) fn views(sql: &Sql, min_group: u32) -> Result<String> {
    let dialect = match sql.engine {
        Engine::Duckdb => &dialect::DUCKDB,
        Engine::Clickhouse => &dialect::CLICKHOUSE,
        Engine::Spark => &dialect::SPARK,
        Engine::Postgresql => return Ok(crate::postgres::sql()),
    };
    let month = sql.month.as_deref();
    let is_quoted = |month: &str| month.contains(['\'', '`', '/', '\\']);
    if month.is_some_and(is_quoted) || sql.url.contains(['\'', '`', '\\']) {
        return Err(Error::target("a URL or a month has no quotes"));
    }
    let url = sql.url.trim_end_matches('/');
    let mut out: String = TABLES.iter().map(|table| base(dialect, table, url, month)).collect();
    out += &expand::expand(include_str!("views.sql"), dialect, min_group.max(1));
    Ok(out)
}

/// Returns the statements that make the files of a table readable under its name. Prices have no month.
fn base(dialect: &Dialect, table: &Table, url: &str, month: Option<&str>) -> String {
    let month = month.filter(|_| table.time.is_some());
    let files = format!("{url}/v1/{}", table.name);
    dialect.table(table.name, &files, month)
}

/// Returns the definition of all columns, as the documentation contains it.
pub(crate) fn columns() -> String {
    let mut out = String::new();
    for table in TABLES {
        let _ = write!(out, "### `{}`\n\n{}\n\n", table.name, table.about.trim());
        out += "| column | type | |\n| --- | --- | --- |\n";
        for column in table.columns() {
            let key = if column.role == Role::Key { ", key" } else { "" };
            let null = if column.is_nullable { ", may be null" } else { "" };
            let (name, kind, about) = (column.name, column.kind.name(), column.about());
            let _ = writeln!(out, "| `{name}` | {kind}{key}{null} | {about} |");
        }
        out.push('\n');
    }
    out
}
