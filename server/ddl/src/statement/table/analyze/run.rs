//! Reads the tables of an ANALYZE and stores what is found.

use std::sync::Arc;
use std::time::Instant;

use braid_catalog::partitions::leaves;
use braid_catalog::{
    AnalyzedBy, Changes, ColumnStatistics, GroupStatistics, Object, Relation, Table,
    TableStatistics, ValueStatistics, is_temporary,
};
use braid_exec::from_kv;
use braid_kv::TxnOptions;
use braid_sql::ast::{Ident, MaintainedTable};
use braid_types::{Datum, Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::{parts, undefined};
use crate::rows::reader::TableReader;

use super::column::{self, Counted};
use super::counts::{ColumnCount, Counts};
use super::sample::SampledRow;

/// How long the job rests for each part of a table that it has read, in times of the reading.
const RESTS_OF_JOB: u32 = 3;
/// Common values of a column, and parts of its histogram, at most: PostgreSQL's default.
const TARGET: usize = 100;
/// Bytes of all common values and bounds of a table. With more the target is halved.
const STORED_BYTES_MAX: usize = 1 << 20;

/// The tables of these names; other relations are left out. 42P01 for a name that means nothing.
/// 42703 and 42701 for columns that it does not have, or that are named twice.
pub(crate) fn named(cx: &mut DdlContext<'_>, names: &[MaintainedTable]) -> Result<Vec<Arc<Table>>> {
    let mut tables = Vec::new();
    for MaintainedTable { name, columns } in names {
        match cx.find(name)? {
            Some(Relation::Table(table)) => {
                check_columns(&table, columns)?;
                // The rows are those of the partitions.
                if table.partitioning.is_some() {
                    tables.extend(leaves(&cx.catalog(), &table)?);
                }
                tables.push(table);
            }
            Some(_) => {}
            None => return Err(undefined("relation", &parts(name))),
        }
    }
    Ok(tables)
}

fn check_columns(table: &Table, columns: &[Ident]) -> Result<()> {
    let columns: Vec<String> = columns.iter().map(braid_sql::fold).collect();
    for (place, name) in columns.iter().enumerate() {
        let relation = &table.name;
        if !table.columns.iter().any(|column| column.name == *name) {
            let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
            return Err(Error::new(SqlState::UndefinedColumn, message));
        }
        if columns[..place].contains(name) {
            let message =
                format!("column \"{name}\" of relation \"{relation}\" appears more than once");
            return Err(Error::new(SqlState::DuplicateColumn, message));
        }
    }
    Ok(())
}

pub(crate) async fn run(cx: &mut DdlContext<'_>, names: &[MaintainedTable]) -> Result<()> {
    let catalog = cx.catalog();
    let mut tables = named(cx, names)?;
    let user = cx.user();
    let is_mine =
        |table: &Arc<Table>| catalog.privileges().acts_as_owner(user, Object::Table(table));
    for table in tables.iter().filter(|table| !is_mine(table)) {
        let message =
            format!("skipping \"{}\" --- only table or database owner can analyze it", table.name);
        cx.notices.push(Error::new(SqlState::Warning, message));
    }
    tables.retain(is_mine);
    if names.is_empty() {
        let all = catalog.tables().in_database(cx.path().database);
        tables.extend(all.filter(|table| is_mine(table)).cloned());
    }
    for table in tables {
        analyze(cx, &table, AnalyzedBy::User).await?;
    }
    Ok(())
}

/// Reads a table and stores what is found.
pub async fn analyze(cx: &DdlContext<'_>, table: &Arc<Table>, by: AnalyzedBy) -> Result<()> {
    let counted = cx.cache.statistics().counted(table.id);
    let statistics = count(cx, table, by).await?;
    store(cx, table, statistics, counted).await?;
    cx.cache.statistics().note_run(table.id, by);
    Ok(())
}

/// Replaces what is known of a table; `counted` is what that contains.
pub(super) async fn store(
    cx: &DdlContext<'_>,
    table: &Table,
    statistics: TableStatistics,
    counted: Changes,
) -> Result<()> {
    if is_temporary(table.id) {
        cx.cache.statistics().replace(table.id, statistics, counted);
        return Ok(());
    }
    let kv = cx.txn().database();
    cx.cache.save_statistics(kv, table.id, statistics, counted).await.map_err(from_kv)
}

/// Nothing is known of a table any more.
pub(super) async fn forget(cx: &DdlContext<'_>, table: &Table) -> Result<()> {
    if is_temporary(table.id) {
        cx.cache.statistics().clear(table.id);
        return Ok(());
    }
    cx.cache.forget_statistics(cx.txn().database(), table.id).await.map_err(from_kv)
}

impl Counts {
    async fn finish(self, cx: &DdlContext<'_>, table: &Table) -> Result<TableStatistics> {
        let (rows, is_whole) = self.sample.finish();
        let sampled = Sampled { rows, is_whole, of: self.rows };
        let mut target = TARGET;
        let columns = loop {
            let columns = columns(cx, table, &self.columns, &sampled, target).await?;
            if target == 0 || size_bytes(&columns) <= STORED_BYTES_MAX {
                break columns;
            }
            target /= 2;
        };
        let groups = self.groups.iter().map(|(places, distinct)| {
            let mut columns: Vec<_> = places.iter().map(|place| table.columns[*place].id).collect();
            columns.sort_unstable();
            let (distinct, rows) = (distinct.count(), self.rows as f64);
            let distinct =
                if distinct > 0.1 * rows { -(distinct / rows).min(1.0) } else { distinct };
            GroupStatistics { columns, distinct }
        });
        Ok(TableStatistics {
            rows: self.rows,
            row_bytes: self.bytes.checked_div(self.rows).unwrap_or(0),
            columns: columns.into(),
            groups: groups.collect(),
        })
    }
}

/// The sampled rows of a table.
struct Sampled {
    rows: Vec<SampledRow>,
    /// They are all rows.
    is_whole: bool,
    /// The number of the table's rows.
    of: u64,
}

async fn columns(
    cx: &DdlContext<'_>,
    table: &Table,
    counts: &[ColumnCount],
    sampled: &Sampled,
    target: usize,
) -> Result<Vec<ColumnStatistics>> {
    let mut all = Vec::new();
    for (place, (column, count)) in table.columns.iter().zip(counts).enumerate() {
        if column.is_key_expr {
            continue;
        }
        // Sorting thousands of values takes milliseconds for each column.
        cx.exec.check_interrupts().await?;
        let counted = Counted {
            ty: &column.ty,
            rows: sampled.of,
            nulls: count.nulls,
            bytes: count.bytes,
            distinct: count.distinct.count(),
        };
        let values: Vec<Option<&Datum>> =
            sampled.rows.iter().map(|row| row.values[place].as_ref()).collect();
        let (distinct, values) = column::of(&counted, &values, sampled.is_whole, target);
        all.push(ColumnStatistics { column: column.id, distinct, values: Some(values) });
    }
    Ok(all)
}

/// Bytes of the values that are stored.
fn size_bytes(columns: &[ColumnStatistics]) -> usize {
    let of_values = |values: &ValueStatistics| {
        let common = values.common.iter().map(|(value, _)| value);
        common.chain(&values.histogram).map(Datum::size_bytes).sum::<usize>()
    };
    columns.iter().filter_map(|column| column.values.as_ref()).map(of_values).sum()
}

async fn count(cx: &DdlContext<'_>, table: &Arc<Table>, by: AnalyzedBy) -> Result<TableStatistics> {
    let options = TxnOptions { read_only: true, ..TxnOptions::default() };
    // What other transactions cannot see is not counted, except in temporary tables.
    let txn = match is_temporary(table.id) {
        true => cx.txn().clone(),
        false => cx.txn().database().begin(options),
    };
    let seq = txn.next_statement();
    let mut reader = TableReader::new(&txn, seq, table, None)?;
    let (mut counts, mut batch) = (Counts::new(table), reader.columns());
    let mut begun = Instant::now();
    while reader.next_columns(&mut batch).await? {
        cx.exec.check_interrupts().await?;
        counts.add(&batch);
        if by == AnalyzedBy::Job {
            tokio::time::sleep(begun.elapsed() * RESTS_OF_JOB).await;
            begun = Instant::now();
        }
    }
    if !Arc::ptr_eq(&txn, cx.txn()) {
        txn.rollback().await;
    }
    counts.finish(cx, table).await
}
