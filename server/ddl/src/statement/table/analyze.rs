//! ANALYZE: counts rows, their bytes and distinct values, exactly while tables are small.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use braid_catalog::{Object, Relation, Table, TableStatistics, is_temporary};
use braid_exec::from_kv;
use braid_kv::TxnOptions;
use braid_sql::ast::ObjectName;
use braid_types::Result;

use crate::context::DdlContext;
use crate::names::lookup::{parts, undefined};
use crate::rows::reader::TableReader;

/// Beyond this number of rows distinct values are estimated from the first ones.
const SAMPLE_ROWS: u64 = 100_000;

/// The tables of these names; other relations are left out. 42P01 for a name that means nothing.
pub(crate) fn named(cx: &mut DdlContext<'_>, names: &[ObjectName]) -> Result<Vec<Arc<Table>>> {
    let mut tables = Vec::new();
    for name in names {
        match cx.find(name)? {
            Some(Relation::Table(table)) => tables.push(table),
            Some(_) => {}
            None => return Err(undefined("relation", &parts(name))),
        }
    }
    Ok(tables)
}

pub(crate) async fn run(cx: &mut DdlContext<'_>, names: &[ObjectName]) -> Result<()> {
    let catalog = cx.catalog();
    let mut tables = named(cx, names)?;
    for table in &tables {
        cx.check_owner(Object::Table(table))?;
    }
    if names.is_empty() {
        let user = cx.user();
        let mine =
            |table: &&Arc<Table>| catalog.privileges().acts_as_owner(user, Object::Table(table));
        tables.extend(catalog.tables().in_database(cx.path().database).filter(mine).cloned());
    }
    for table in tables {
        let statistics = count(cx, &table).await?;
        if is_temporary(table.id) {
            cx.catalog().statistics_shared().set(table.id, statistics);
            continue;
        }
        let kv = cx.txn().database();
        cx.cache.save_statistics(kv, table.id, statistics).await.map_err(from_kv)?;
    }
    Ok(())
}

async fn count(cx: &DdlContext<'_>, table: &Arc<Table>) -> Result<TableStatistics> {
    let options = TxnOptions { read_only: true, ..TxnOptions::default() };
    // What other transactions cannot see is not counted, except in temporary tables.
    let txn = match is_temporary(table.id) {
        true => cx.txn().clone(),
        false => cx.txn().database().begin(options),
    };
    let seq = txn.next_statement();
    let mut reader = TableReader::new(&txn, seq, table, None);
    let hasher = RandomState::new();
    let mut distinct: Vec<HashSet<u64>> = vec![HashSet::new(); table.columns.len()];
    let (mut rows_read, mut bytes) = (0_u64, 0_u64);
    while let Some(rows) = reader.next().await? {
        cx.exec.breathe().await?;
        for row in rows {
            rows_read += 1;
            bytes += row.iter().map(|datum| datum.size_bytes() as u64).sum::<u64>();
            if rows_read <= SAMPLE_ROWS {
                for (seen, datum) in distinct.iter_mut().zip(&row) {
                    seen.insert(hasher.hash_one(datum));
                }
            }
        }
    }
    if !Arc::ptr_eq(&txn, cx.txn()) {
        txn.rollback().await;
    }
    let sampled = rows_read.min(SAMPLE_ROWS);
    let scale = |seen: &HashSet<u64>| {
        let seen = seen.len() as u64;
        // Values that hardly repeat in the sample go on like that; others have all been seen.
        if seen * 10 > sampled * 9 && sampled > 0 { seen * rows_read / sampled } else { seen }
    };
    // No row has the keys of indexes that are expressions.
    let columns = table.columns.iter().zip(&distinct).filter(|(column, _)| !column.is_key_expr);
    Ok(TableStatistics {
        rows: rows_read,
        row_bytes: bytes.checked_div(rows_read).unwrap_or(0),
        distinct: columns.map(|(column, seen)| (column.id, scale(seen))).collect(),
    })
}
