//! The statements that bring rows into a table, derived from its columns, and the form in which rows are copied.

use std::fmt::Write;

use crate::tables::{Column, TABLES, Table};
use crate::value::Value;

/// The statements of one table. Rows are copied to a temporary table first, so that a batch is either there or not.
pub(super) struct Statements {
    pub(super) table: &'static Table,
    /// Creates the temporary table.
    pub(super) create: String,
    /// Copies rows to it.
    pub(super) copy: String,
    /// Inserts rows that are new, and updates rows that differ.
    pub(super) upsert: String,
    /// Deletes rows of an organisation, a machine and some units that were not copied.
    pub(super) delete_others: String,
    /// Deletes all rows of an organisation, a machine and some units.
    pub(super) delete: String,
}

/// Returns the statements of all tables.
pub(super) fn statements() -> Vec<Statements> {
    TABLES.iter().map(Statements::new).collect()
}

impl Statements {
    fn new(table: &'static Table) -> Self {
        let name = table.name;
        let columns = list(table.columns(), "");
        let key = list(table.key(), "");
        let is_key = |column: &Column| table.key().any(|key| key.name == column.name);
        let others = || table.columns().filter(|column| !is_key(column));
        let set: Vec<String> =
            others().map(|column| format!("{0} = excluded.{0}", column.name)).collect();
        let rank = table.place("owner_rank").map_or("", |_| ", owner_rank");
        let delete = format!(
            "DELETE FROM backstory.{name} AS t WHERE t.org = $1 AND t.machine = $2 AND {} = ANY($3::text[])",
            unit(table)
        );
        Self {
            table,
            create: format!(
                "CREATE TEMPORARY TABLE stage_{name} (LIKE backstory.{name}) ON COMMIT DELETE ROWS"
            ),
            copy: format!("COPY pg_temp.stage_{name} ({columns}) FROM STDIN"),
            // Rows are locked in the order of their keys, so that two pushes never wait for each other.
            upsert: format!(
                "INSERT INTO backstory.{name} AS t ({columns})
                 SELECT DISTINCT ON ({key}) {columns} FROM pg_temp.stage_{name} ORDER BY {key}{rank}
                 ON CONFLICT ({key}) DO UPDATE SET {}
                 WHERE ({}) IS DISTINCT FROM ({})",
                set.join(", "),
                list(others(), "t."),
                list(others(), "excluded."),
            ),
            delete_others: format!(
                "{delete} AND NOT EXISTS (SELECT FROM pg_temp.stage_{name} AS s WHERE ({}) = ({}))",
                list(table.key(), "s."),
                list(table.key(), "t."),
            ),
            delete,
        }
    }
}

fn list(columns: impl Iterator<Item = &'static Column>, prefix: &str) -> String {
    columns.map(|column| format!("{prefix}{}", column.name)).collect::<Vec<_>>().join(", ")
}

/// Returns the expression for the name of the unit that a row belongs to.
fn unit(table: &Table) -> &'static str {
    if table.place("session").is_some() {
        "t.session"
    } else if table.place("source").is_some() {
        "'faults-' || t.source"
    } else {
        "'prices'"
    }
}

/// Appends a row in the text format of `COPY`.
pub(super) fn append(out: &mut String, row: &[Value]) {
    for (n, value) in row.iter().enumerate() {
        if n > 0 {
            out.push('\t');
        }
        // Writing to a string cannot fail.
        let _ = match value {
            Value::Null => out.write_str("\\N"),
            Value::Text(text) => {
                escape(out, text);
                Ok(())
            }
            Value::Int(number) => write!(out, "{number}"),
            Value::Bool(is) => out.write_str(if *is { "t" } else { "f" }),
            // PostgreSQL writes years before the first in another way, and its reports cannot count from infinity.
            Value::Time(at) if at.to_zoned(jiff::tz::TimeZone::UTC).year() < 1 => {
                out.write_str("0001-01-01T00:00:00Z")
            }
            Value::Time(at) => write!(out, "{at:.6}"),
        };
    }
    out.push('\n');
}

/// Appends a text; PostgreSQL has no NUL.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_line_of_fields() {
        let time = |text: &str| Value::Time(text.parse().expect("a time"));
        let row = [
            Value::Null,
            Value::Text("a\tb\\N\r\nc\0".into()),
            Value::Int(-7),
            Value::Bool(true),
            time("2026-03-01T10:04:00.123456789Z"),
            time("-000044-03-15T00:00:00Z"),
        ];
        let mut out = String::new();
        append(&mut out, &row);
        let text = "a\\tb\\\\N\\r\\nc\u{fffd}";
        let want =
            format!("\\N\t{text}\t-7\tt\t2026-03-01T10:04:00.123456Z\t0001-01-01T00:00:00Z\n");
        assert_eq!(out, want);
    }

    #[test]
    fn every_table_knows_the_unit_of_its_rows() {
        for table in TABLES {
            let has = |name| table.place(name).is_some();
            assert!(has("session") || has("source") || table.name == "prices", "{}", table.name);
        }
    }
}
