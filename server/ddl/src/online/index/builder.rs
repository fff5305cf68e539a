//! What makes the entries of an index from the rows of its table.

use std::sync::Arc;

use braid_catalog::{Backfill, Index, IndexNumber, IndexState, Table};
use braid_exec::IndexExprs;
use braid_rows::{IndexDecoder, IndexRows, RowDecoder, TableRows};
use braid_types::{Datum, Error, Result, Row, SqlState};

use crate::context::DdlContext;
use crate::rows::messages::not_unique;

/// What a batch needs to make entries of rows.
pub(super) struct Builder {
    pub(super) table: Arc<Table>,
    pub(super) rows: TableRows,
    pub(super) decoder: RowDecoder,
    entries: IndexDecoder,
    pub(super) index: IndexRows,
    pub(super) number: IndexNumber,
    pub(super) exprs: IndexExprs,
}

impl Builder {
    /// For an index of a table; `None` if the index is not there.
    pub(super) fn new(
        cx: &DdlContext<'_>,
        table: Arc<Table>,
        number: IndexNumber,
    ) -> Result<Option<Self>> {
        let Some(index) = table.index(number) else { return Ok(None) };
        let exprs = cx.plan(|context| IndexExprs::bind(context, &table, index))?;
        let rows = TableRows::new(&table)?;
        let places: Vec<usize> = (0..table.columns.len()).collect();
        let index = IndexRows::new(&table, index)?;
        let (decoder, entries) = (rows.reader(&places), index.reader(&table, &places));
        Ok(Some(Self { decoder, entries, index, rows, number, exprs, table }))
    }

    pub(super) fn backfill(&self) -> Backfill {
        Backfill { table: self.table.id, index: self.number }
    }

    /// The index in the descriptor that the builder was made from.
    pub(super) fn descriptor(&self) -> Result<&Index> {
        let found = self.table.index(self.number);
        found.ok_or_else(|| Error::internal("an index has vanished while it was built"))
    }

    /// The places of the columns from which entries are made.
    pub(super) fn places_read(&self) -> Vec<usize> {
        match self.exprs.is_computed() {
            true => (0..self.table.columns.len()).collect(),
            false => self.index.places(),
        }
    }

    /// A row with the columns that an entry has, its primary key among them.
    pub(super) fn entry_columns(&self, key: &[u8], value: &[u8]) -> Result<Row> {
        self.entries.decode(key, value)
    }
}

/// Whether this gateway builds the index: another one that has taken it for gone may do so now, or
/// may have finished it.
pub(super) fn is_mine(cx: &DdlContext<'_>, index: &Index) -> bool {
    index.state == IndexState::Building && index.builder == cx.cache.gateway()
}

/// Somebody has dropped it, or another gateway has taken this one for gone.
pub(super) fn vanished() -> Error {
    let message = "the index is not being built here any more";
    Error::new(SqlState::UndefinedObject, message)
}

/// 23505 of a row whose key another row has.
pub(super) fn duplicate(cx: &DdlContext<'_>, builder: &Builder, row: &[Datum]) -> Error {
    match builder.table.index(builder.number) {
        Some(index) => not_unique(&cx.catalog(), &builder.table, index, row),
        None => Error::internal("an index has vanished while it was built"),
    }
}
