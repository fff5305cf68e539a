//! Writes the rows of a table again, and fills new indexes.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::{Index, Table};
use braid_dml::check_all_entries;
use braid_exec::{IndexExprs, from_kv};
use braid_kv::{Key, Span, Value};
use braid_rows::{IndexEntry, IndexRows, PairBuffer, TableRows};
use braid_types::{Datum, Result, Row};

use crate::context::DdlContext;
use crate::rows::delete::delete_rows;
use crate::rows::messages::not_unique;
use crate::rows::reader::{block_writers, table_reader};
use crate::table::descriptor::refuse_rewrite;
use crate::table::exprs::index_row;

/// One index that rows are written to.
struct IndexWriter {
    index: Index,
    rows: IndexRows,
    exprs: IndexExprs,
    seen: HashSet<Key>,
}

impl IndexWriter {
    fn new(cx: &DdlContext<'_>, table: &Arc<Table>, index: &Index) -> Result<Self> {
        Ok(IndexWriter {
            index: index.clone(),
            rows: IndexRows::new(table, index)?,
            exprs: cx.plan(|context| IndexExprs::bind(context, table, index))?,
            seen: HashSet::new(),
        })
    }

    fn write(&mut self, cx: &DdlContext<'_>, table: &Table, row: &[Datum]) -> Result<()> {
        let Some(row) = index_row(cx, &self.exprs, row)? else { return Ok(()) };
        for entry in self.rows.entries(table, &row) {
            self.put(cx, table, &row, entry)?;
        }
        Ok(())
    }

    fn put(
        &mut self,
        cx: &DdlContext<'_>,
        table: &Table,
        row: &[Datum],
        entry: IndexEntry,
    ) -> Result<()> {
        let unique = match entry.must_be_unique {
            true => Some(entry.key.clone()),
            false => self.rows.deferred_key(row),
        };
        if unique.is_some_and(|key| !self.seen.insert(key)) {
            return Err(not_unique(&cx.catalog(), table, &self.index, row));
        }
        cx.txn().put(cx.seq(), entry.key, entry.value).map_err(from_kv)
    }
}

/// Whether a key of rows that are rewritten comes for the first time; `last` is the highest one so
/// far. Rows that come in the order of their keys need no look at those that were written.
fn is_first(cx: &DdlContext<'_>, last: &mut Key, key: Key) -> bool {
    if *last < key {
        *last = key;
        return true;
    }
    !cx.txn().reads().has_own_writes(cx.seq().after(), &Span::key(key))
}

/// Fills a new index of a table from its rows. 23505 if they are not unique.
pub(crate) async fn fill_index(
    cx: &DdlContext<'_>,
    table: &Arc<Table>,
    index: &Index,
) -> Result<()> {
    block_writers(cx, table).await?;
    let mut writer = IndexWriter::new(cx, table, index)?;
    let mut reader = table_reader(cx, table)?;
    while let Some(rows) = reader.next().await? {
        cx.exec.check_interrupts().await?;
        rows.iter().try_for_each(|row| writer.write(cx, table, row))?;
    }
    check_exclusion(cx, table, index).await
}

/// 23P01 if rows of a table exclude each other by that constraint.
async fn check_exclusion(cx: &DdlContext<'_>, table: &Arc<Table>, index: &Index) -> Result<()> {
    match index.exclusion {
        Some(_) => check_all_entries(cx.exec, table, index).await,
        None => Ok(()),
    }
}

/// Rewrites every row of `old` as a row of `new`, whose data gets a new place. `map` makes a
/// row of the new shape. 23505 if a unique key of `new` has duplicates.
pub(crate) async fn rewrite_rows(
    cx: &mut DdlContext<'_>,
    old: &Arc<Table>,
    new: &mut Table,
    mut map: impl FnMut(&DdlContext<'_>, &[Datum]) -> Result<Row>,
) -> Result<()> {
    refuse_rewrite(old)?;
    block_writers(cx, old).await?;
    new.data_id = cx.draft()?.allocate_id(new.id);
    let shape = Arc::new(new.clone());
    let layout = TableRows::new(&shape)?;
    let mut writers = Vec::new();
    for index in &shape.indexes {
        writers.push(IndexWriter::new(cx, &shape, index)?);
    }
    let (mut last, mut buffer) = (Key::new(), PairBuffer::default());
    let mut reader = table_reader(cx, old)?;
    while let Some(rows) = reader.next().await? {
        cx.exec.check_interrupts().await?;
        for row in rows {
            let row = map(cx, &row)?;
            if !is_first(cx, &mut last, layout.first_key(&row)) {
                return Err(not_unique(&cx.catalog(), &shape, &shape.primary, &row));
            }
            layout.each_pair(&row, &mut buffer, |_, key, value| match value {
                Some(value) => {
                    let value = Value::copy_from_slice(value);
                    cx.txn().put(cx.seq(), key, value).map_err(from_kv)
                }
                None => Ok(()),
            })?;
            for writer in &mut writers {
                writer.write(cx, &shape, &row)?;
            }
        }
    }
    for index in &shape.indexes {
        check_exclusion(cx, &shape, index).await?;
    }
    new.primary.passing.clear();
    new.vacated = false;
    delete_rows(cx, old, |_| false)
}
