//! Writes what changed since the last push: a batch of units per transaction, together with their stamps, so that a
//! push that ends at any moment has written whole units and the next one continues.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::Write;

use jiff::Timestamp;
use postgres::Client;
use postgres::error::SqlState;

use super::connect::failure;
use super::stage::{self, Statements};
use crate::dry_run;
use crate::error::{Error, Result};
use crate::receipt::Receipt;
use crate::rows::{Outgoing, Rows, Unit};
use crate::tables::Table;
use crate::value::Value;

/// The size of a batch in bytes.
const BATCH: usize = 4 << 20;

/// The maximum number of units of a batch.
const UNITS: usize = 1000;

/// A push in progress.
pub(super) struct Push<'a> {
    pub(super) client: Client,
    pub(super) receipt: &'a mut Receipt,
    pub(super) batch_size: Option<usize>,
}

impl Push<'_> {
    /// Checks that the login may write the rows of this machine. The server's own reason would not say what to do.
    pub(super) fn check_login(&mut self) -> Result<()> {
        let Receipt { organisation, person, machine, .. } = &*self.receipt;
        let sql = "SELECT NOT row_security_active('backstory.calls')
            OR pg_has_role(current_user, 'backstory_admin', 'MEMBER')
            OR EXISTS (SELECT FROM backstory.own_machines WHERE (org, person, machine) = ($1, $2, $3))";
        let is_allowed = match self.client.query_one(sql, &[organisation, person, machine]) {
            Ok(row) => row.get(0),
            // Any other reason is that there are no tables yet, which is reported later.
            Err(error) => error.code() != Some(&SqlState::INSUFFICIENT_PRIVILEGE),
        };
        if is_allowed {
            return Ok(());
        }
        let sql = "SELECT format('SELECT backstory.add_machine(%L, %L, %L, %L)', current_user, $1::text, $2::text, $3::text)";
        let row = self.client.query_one(sql, &[organisation, person, machine]);
        let statement: String = row.map_err(|error| failure(&error))?.get(0);
        Err(Error::target(format!(
            "the database does not let this login push for this machine; an administrator allows it with: {statement}"
        )))
    }

    /// Prints what would be written and removed.
    pub(super) fn dry_run(&mut self, outgoing: &Outgoing<'_>, out: &mut dyn Write) -> Result<()> {
        let known = self.known()?;
        outgoing.each(&changed(outgoing, &known), |_, rows| dry_run::print(out, &rows))?;
        gone(outgoing, &known).iter().try_for_each(|name| dry_run::print_removed(out, name))
    }

    /// Writes the units that changed, and removes those that are no longer in the archive.
    pub(super) fn run(mut self, outgoing: &Outgoing<'_>) -> Result<()> {
        let statements = stage::statements();
        for table in &statements {
            self.client.batch_execute(&table.create).map_err(|error| failure(&error))?;
        }
        let known = self.known()?;
        let oldest = self.oldest()?;
        let size = self.batch_size.unwrap_or(BATCH);
        let mut batch = Batch::default();
        outgoing.each(&changed(outgoing, &known), |unit, rows| {
            batch.add(unit, &rows, oldest);
            if batch.size >= size || batch.units.len() >= UNITS {
                self.write(&statements, std::mem::take(&mut batch))?;
            }
            Ok(())
        })?;
        if !batch.units.is_empty() {
            self.write(&statements, batch)?;
        }
        let gone = gone(outgoing, &known);
        for names in gone.chunks(UNITS) {
            self.remove(&statements, names)?;
        }
        Ok(())
    }

    /// Returns the stamps of the units that were pushed before.
    fn known(&mut self) -> Result<HashMap<String, String>> {
        let Receipt { organisation, machine, .. } = &*self.receipt;
        let sql = "SELECT unit, stamp FROM backstory.progress WHERE org = $1 AND machine = $2";
        let rows = self.client.query(sql, &[organisation, machine]);
        let rows = rows.map_err(|error| failure(&error))?;
        Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
    }

    /// Returns the time before which an administrator has purged everything.
    fn oldest(&mut self) -> Result<Option<Timestamp>> {
        let sql =
            "SELECT (extract(epoch FROM purged_before) * 1000000)::bigint FROM backstory.settings";
        let row = self.client.query_one(sql, &[]).map_err(|error| failure(&error))?;
        let oldest: Option<i64> = row.get(0);
        Ok(oldest.and_then(|oldest| Timestamp::from_microsecond(oldest).ok()))
    }

    fn write(&mut self, statements: &[Statements], batch: Batch) -> Result<()> {
        let Receipt { organisation, person, machine, .. } = &*self.receipt;
        let names: Vec<&str> = batch.units.iter().map(|(name, _)| name.as_str()).collect();
        let stamps: Vec<&str> = batch.units.iter().map(|(_, stamp)| stamp.as_str()).collect();
        let failed = |error| failure(&error);
        let mut transaction = self.client.transaction().map_err(failed)?;
        lock(&mut transaction, organisation, machine)?;
        for Statements { table, copy, .. } in statements {
            if let Some((_, rows)) = batch.rows.get(table.name) {
                let mut writer = transaction.copy_in(copy).map_err(failed)?;
                writer.write_all(rows.as_bytes()).map_err(Error::target)?;
                writer.finish().map_err(failed)?;
            }
        }
        for Statements { table, upsert, delete_others, .. } in statements {
            if batch.rows.contains_key(table.name) {
                transaction.execute(upsert, &[]).map_err(failed)?;
            }
            transaction.execute(delete_others, &[organisation, machine, &names]).map_err(failed)?;
        }
        transaction
            .execute(
                "DELETE FROM backstory.progress
                 WHERE org = $1 AND machine = $2 AND unit = ANY($3) AND person <> $4",
                &[organisation, machine, &names, person],
            )
            .map_err(failed)?;
        transaction
            .execute(
                "INSERT INTO backstory.progress (org, person, machine, unit, stamp)
                 SELECT $1::text, $4::text, $2::text, unit, stamp FROM unnest($3::text[], $5::text[]) AS u (unit, stamp)
                 ON CONFLICT (org, person, machine, unit)
                 DO UPDATE SET stamp = excluded.stamp, pushed = now()",
                &[organisation, machine, &names, person, &stamps],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        for (table, (count, _)) in batch.rows {
            *self.receipt.rows.entry(table).or_default() += count;
        }
        self.receipt.sent.extend(batch.units.into_iter().map(|(name, _)| name));
        Ok(())
    }

    fn remove(&mut self, statements: &[Statements], names: &[String]) -> Result<()> {
        let Receipt { organisation, machine, .. } = &*self.receipt;
        let failed = |error| failure(&error);
        let mut transaction = self.client.transaction().map_err(failed)?;
        lock(&mut transaction, organisation, machine)?;
        let progress = "DELETE FROM backstory.progress
            WHERE org = $1 AND machine = $2 AND unit = ANY($3)";
        for delete in statements.iter().map(|table| table.delete.as_str()).chain([progress]) {
            transaction.execute(delete, &[organisation, machine, &names]).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        self.receipt.removed.extend_from_slice(names);
        Ok(())
    }
}

/// Waits for another push of the same machine to finish its batch.
fn lock(transaction: &mut postgres::Transaction<'_>, org: &String, machine: &String) -> Result<()> {
    let sql = "SELECT pg_advisory_xact_lock(hashtextextended($1::text || ' ' || $2::text, 0))";
    transaction.execute(sql, &[org, machine]).map_err(|error| failure(&error))?;
    Ok(())
}

fn changed<'a>(outgoing: &'a Outgoing<'_>, known: &HashMap<String, String>) -> Vec<&'a Unit> {
    let is_new = |unit: &&Unit| known.get(&*unit.name).is_none_or(|stamp| *stamp != unit.stamp);
    outgoing.units().iter().filter(is_new).collect()
}

fn gone(outgoing: &Outgoing<'_>, known: &HashMap<String, String>) -> Vec<String> {
    let units: HashSet<&str> = outgoing.units().iter().map(|unit| &*unit.name).collect();
    let mut gone: Vec<String> =
        known.keys().filter(|name| !units.contains(name.as_str())).cloned().collect();
    gone.sort_unstable();
    gone
}

/// Units that are written together.
#[derive(Default)]
struct Batch {
    /// The names and stamps of the units.
    units: Vec<(String, String)>,
    /// The number of rows and their text, by table.
    rows: BTreeMap<&'static str, (u64, String)>,
    size: usize,
}

impl Batch {
    fn add(&mut self, unit: &Unit, rows: &Rows, oldest: Option<Timestamp>) {
        self.units.push((unit.name.to_string(), unit.stamp.clone()));
        for (table, rows) in rows.tables() {
            let (count, text) = self.rows.entry(table.name).or_default();
            let before = text.len();
            for row in rows.iter().filter(|row| !is_purged(table, row, oldest)) {
                stage::append(text, row);
                *count += 1;
            }
            self.size += text.len() - before;
        }
    }
}

/// Returns whether a row is of a time that was purged. A session is as old as its last update.
fn is_purged(table: &Table, row: &[Value], oldest: Option<Timestamp>) -> bool {
    let column = table.place("updated").or_else(|| table.place(table.time?));
    let at = match column.and_then(|column| row.get(column)) {
        Some(Value::Time(at)) => Some(*at),
        _ => None,
    };
    oldest.zip(at).is_some_and(|(oldest, at)| at < oldest)
}
