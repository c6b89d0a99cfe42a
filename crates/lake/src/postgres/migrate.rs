//! Creates the schema, and brings an older one up to date.

use postgres::error::SqlState;
use postgres::{Client, GenericClient};

use super::connect::failure;
use crate::error::{Error, Result};

/// The migrations in order; a migration that was released never changes.
const MIGRATIONS: &[(&str, &str)] = &[
    ("tables", include_str!("migrations/0001-tables.sql")),
    ("roles", include_str!("migrations/0002-roles.sql")),
    ("calls", include_str!("migrations/0003-calls.sql")),
    ("reports", include_str!("migrations/0004-reports.sql")),
];

/// Creates the table that remembers which migrations were applied.
const START: &str = "CREATE SCHEMA IF NOT EXISTS backstory;
CREATE TABLE IF NOT EXISTS backstory.migrations (
    number  bigint PRIMARY KEY,
    name    text NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
)";

/// Held while migrating, so that two administrators do not migrate at once.
const LOCK: i64 = 0x6261_636b_7374;

/// Returns the statements of all migrations, for people who review or apply them by hand.
pub(crate) fn sql() -> String {
    let mut out = format!("BEGIN;\n\n{START};\n\n");
    for (number, (name, sql)) in (1..).zip(MIGRATIONS) {
        out.push_str(sql);
        let insert = format!("\nINSERT INTO backstory.migrations VALUES ({number}, '{name}');\n\n");
        out.push_str(&insert);
    }
    out + "COMMIT;\n"
}

/// Applies the migrations that a database lacks, all or none, and returns their names.
pub(crate) fn migrate(client: &mut Client) -> Result<Vec<&'static str>> {
    let failed = |error| failure(&error);
    let mut transaction = client.transaction().map_err(failed)?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).map_err(failed)?;
    transaction.batch_execute(START).map_err(failed)?;
    let applied = applied(&mut transaction)?.unwrap_or_default();
    let mut names = Vec::new();
    for (number, (name, sql)) in (1_i64..).zip(MIGRATIONS).skip(applied) {
        transaction.batch_execute(sql).map_err(failed)?;
        let insert = "INSERT INTO backstory.migrations (number, name) VALUES ($1, $2)";
        transaction.execute(insert, &[&number, name]).map_err(failed)?;
        names.push(*name);
    }
    transaction.commit().map_err(failed)?;
    Ok(names)
}

/// Checks that a database has the schema of this program.
pub(crate) fn require(client: &mut Client) -> Result<()> {
    match applied(client)? {
        Some(applied) if applied == MIGRATIONS.len() => Ok(()),
        Some(_) => Err(Error::target(
            "the tables are of an older version; an administrator updates them with `backstory lake migrate`",
        )),
        None => Err(Error::target(
            "the database has no tables yet; an administrator creates them with `backstory lake migrate`",
        )),
    }
}

/// Returns the number of migrations that were applied; none if there is no schema.
fn applied(client: &mut impl GenericClient) -> Result<Option<usize>> {
    let number =
        match client.query_one("SELECT coalesce(max(number), 0) FROM backstory.migrations", &[]) {
            Ok(row) => row.get::<_, i64>(0),
            Err(error)
                if [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME]
                    .iter()
                    .any(|state| error.code() == Some(state)) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(failure(&error)),
        };
    match usize::try_from(number) {
        Ok(number) if number <= MIGRATIONS.len() => Ok(Some(number)),
        _ => Err(Error::target("the tables are of a newer version; update `backstory-lake`")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::tables::{TABLES, Table};
    use crate::value::Kind;

    /// The definitions of a table: its columns and its key, without defaults.
    type Definitions = BTreeSet<String>;

    /// Returns the tables that migrations create, with the columns that later ones add.
    fn migrated(migrations: &[(&str, &str)]) -> BTreeMap<String, Definitions> {
        let mut tables: BTreeMap<String, Definitions> = BTreeMap::new();
        for (_, sql) in migrations {
            let lines = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
            let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
            for statement in words.join(" ").split(';').map(str::trim) {
                let created = statement.strip_prefix("CREATE TABLE backstory.");
                let created = created.and_then(|rest| rest.strip_suffix(')')?.split_once(" ("));
                let altered = statement.strip_prefix("ALTER TABLE backstory.");
                let altered = altered.and_then(|rest| rest.split_once(' '));
                let added = altered.filter(|(_, rest)| rest.starts_with("ADD COLUMN "));
                let Some((name, definitions)) = created.or(added) else { continue };
                let definitions = parts(definitions).into_iter().map(|part| {
                    let part = part.trim().trim_start_matches("ADD COLUMN ");
                    part.split(" DEFAULT ").next().unwrap_or_default().to_owned()
                });
                tables.entry(name.to_owned()).or_default().extend(definitions);
            }
        }
        tables
    }

    /// Splits a text at the commas that are not in parentheses.
    fn parts(text: &str) -> Vec<&str> {
        let mut depth = 0;
        text.split(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            c == ',' && depth == 0
        })
        .collect()
    }

    /// Returns the definitions that a table must have.
    fn listed(table: &Table) -> Definitions {
        let columns = table.columns().map(|column| {
            let kind = match column.kind {
                Kind::Text => "text COLLATE \"C\"",
                Kind::Int => "bigint",
                Kind::Bool => "boolean",
                Kind::Time => "timestamptz",
            };
            let null = if column.is_nullable { "" } else { " NOT NULL" };
            format!("{} {kind}{null}", column.name)
        });
        let key: Vec<&str> = table.key().map(|column| column.name).collect();
        columns.chain([format!("PRIMARY KEY ({})", key.join(", "))]).collect()
    }

    #[test]
    fn the_tables_have_the_columns_of_the_list() {
        let migrated = migrated(MIGRATIONS);
        for table in TABLES {
            assert_eq!(migrated.get(table.name), Some(&listed(table)), "{}", table.name);
        }
    }

    #[test]
    fn a_later_migration_may_add_columns() {
        let migrations = [
            (
                "tables",
                "-- A table.\nCREATE TABLE backstory.t (\n    a bigint NOT NULL,\n    PRIMARY KEY (a, b)\n);",
            ),
            (
                "more",
                "ALTER TABLE backstory.t\n    ADD COLUMN b bigint NOT NULL DEFAULT 0,\n    ADD COLUMN c text;",
            ),
        ];
        let wanted = ["a bigint NOT NULL", "b bigint NOT NULL", "c text", "PRIMARY KEY (a, b)"];
        let wanted: Definitions = wanted.into_iter().map(str::to_owned).collect();
        assert_eq!(migrated(&migrations), BTreeMap::from([("t".to_owned(), wanted)]));
    }

    #[test]
    fn the_dashboard_uses_what_readers_may_use() {
        let dashboard = include_str!("../../../../docs/lake-dashboard.json");
        let (_, granted) = MIGRATIONS[3].1.split_once("GRANT EXECUTE").expect("grants");
        let mut names: Vec<&str> = Vec::new();
        for part in dashboard.split("backstory.").skip(1) {
            let end = part.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(part.len());
            names.push(&part[..end]);
        }
        assert!(names.len() > 5);
        for name in names {
            let is_granted =
                granted.split([' ', ',', '\n']).any(|word| word == format!("backstory.{name}"));
            assert!(is_granted, "{name}");
        }
    }
}
