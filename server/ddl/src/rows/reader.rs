//! Rows under DDL: read whole tables, by batches, in a transaction or under locks.
//!
//! Everything goes through the statement's transaction and sees what the statement itself wrote.
//! Before a table is read its writers are locked out ([`block_writers`]), so that a
//! statement ends however many write. What is read is remembered at every isolation level as well:
//! where the store does not lock spans, a row written meanwhile makes one of the two transactions
//! run again.

use std::sync::Arc;

use braid_catalog::Table;
use braid_exec::from_kv;
use braid_kv::{Key, LockRequest, Record, ScanRequest, Scanner, Seq, Span, Transaction};
use braid_rows::{Columns, RowAssembler, RowDecoder, TableRows};
use braid_types::{Result, Row};

use crate::context::DdlContext;

/// Reads are checked at every level; the tag is no constraint's.
pub(crate) const CHECKED: Record = Record::Always { tag: 0 };

/// The rows of a table, in batches.
pub(crate) struct TableReader {
    decoder: RowDecoder,
    scanner: Scanner,
    rows: RowAssembler,
    /// A row has one column family, so it is complete with its pair.
    is_one_pair: bool,
    done: bool,
}

impl TableReader {
    /// A reader of every column of the rows in `span` (the whole table without one).
    pub(crate) fn new(
        txn: &Arc<Transaction>,
        seq: Seq,
        table: &Arc<Table>,
        span: Option<Span>,
    ) -> Result<Self> {
        Self::over(txn, seq, table, span, CHECKED)
    }

    /// A reader of the whole table that is remembered in another way.
    pub(crate) fn recorded(
        txn: &Arc<Transaction>,
        seq: Seq,
        table: &Arc<Table>,
        record: Record,
    ) -> Result<Self> {
        Self::over(txn, seq, table, None, record)
    }

    fn over(
        txn: &Arc<Transaction>,
        seq: Seq,
        table: &Arc<Table>,
        span: Option<Span>,
        record: Record,
    ) -> Result<Self> {
        let rows = TableRows::new(table)?;
        let places: Vec<usize> = (0..table.columns.len()).collect();
        let span = span.unwrap_or_else(|| rows.primary_span());
        let request = ScanRequest::new(span).record(record).shape(rows.shape.as_ref());
        Ok(TableReader {
            decoder: rows.reader(&places),
            scanner: txn.scanner(seq.after(), request),
            rows: RowAssembler::default(),
            is_one_pair: rows.family_count() == 1,
            done: false,
        })
    }

    /// Columns that [`TableReader::next_columns`] can fill.
    pub(crate) fn columns(&self) -> Columns {
        self.decoder.columns()
    }

    /// Some rows, by columns, in the place of those that are there; false at the end.
    pub(crate) async fn next_columns(&mut self, columns: &mut Columns) -> Result<bool> {
        if !self.is_one_pair {
            let rows = self.next().await?.unwrap_or_default();
            columns.start(rows.len());
            for (column, datum) in rows.into_iter().flat_map(|row| row.into_iter().enumerate()) {
                columns.list[column].push(datum);
            }
            return Ok(columns.rows > 0);
        }
        while let Some(batch) = self.scanner.next_batch().await.map_err(from_kv)? {
            if !batch.is_empty() {
                columns.start(batch.len());
                self.decoder.read_columns(batch.iter(), columns)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Some rows; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Row>>> {
        while !self.done {
            let mut rows = Vec::new();
            match self.scanner.next_batch().await.map_err(from_kv)? {
                Some(batch) => {
                    for (key, value) in batch.iter() {
                        let complete = self.rows.add(&self.decoder, key, value)?;
                        rows.extend(complete.map(|(_, row)| row));
                    }
                }
                None => {
                    self.done = true;
                    rows.extend(self.rows.finish().map(|(_, row)| row));
                }
            }
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

/// Whole rows from the start of a request's span, and what is left of it. All pairs of a row are
/// read in one batch: the last row of a full batch is left to the next one.
pub(crate) async fn whole_rows(
    txn: &Arc<Transaction>,
    seq: Seq,
    table: &TableRows,
    decoder: &RowDecoder,
    request: ScanRequest,
) -> Result<(Vec<Row>, Option<Span>)> {
    let end = request.span.end.clone();
    let pairs_max = request.limit_rows.max(table.family_count() * 2);
    let request = request.limit_rows(pairs_max).shape(table.shape.as_ref());
    let mut scanner = txn.scanner(seq, request);
    let mut rows: Vec<Row> = Vec::new();
    let mut partial = RowAssembler::default();
    let mut resume = None;
    // A batch may end anywhere, even within the first row.
    while let Some(pairs) = scanner.next_batch().await.map_err(from_kv)? {
        for (key, value) in pairs.iter() {
            rows.extend(partial.add(decoder, key, value)?.map(|(_, row)| row));
        }
        resume = pairs.resume;
        if !rows.is_empty() || resume.is_none() {
            break;
        }
    }
    let last = partial.finish();
    if resume.is_some() {
        return Ok((rows, last.map(|(key, _)| Span::new(key, end))));
    }
    rows.extend(last.map(|(_, row)| row));
    Ok((rows, None))
}

/// These rows as they are under their locks; those that have gone are left out. Nobody changes them
/// before the transaction ends, so that nothing of them has to be proved.
pub(crate) async fn locked_rows(
    txn: &Transaction,
    seq: Seq,
    table: &TableRows,
    decoder: &RowDecoder,
    rows: &[Row],
) -> Result<Vec<Row>> {
    let keys: Vec<Key> =
        rows.iter().flat_map(|row| table.family_keys(&table.primary_key(row))).collect();
    let request = LockRequest::keys(keys.clone()).passing(true);
    let values = txn.lock(seq, request).await.map_err(from_kv)?.values;
    let mut found = Vec::with_capacity(rows.len());
    let width = table.family_count().max(1);
    for (keys, values) in keys.chunks(width).zip(values.chunks(width)) {
        // Family 0 says whether the row exists.
        if values[0].is_none() {
            continue;
        }
        let stored = values.iter().flatten().map(|value| &value[..]);
        found.push(decoder.row(&keys[0], stored)?);
    }
    Ok(found)
}

/// The rows of a table, with what the transaction and this statement wrote.
pub(crate) fn table_reader(cx: &DdlContext<'_>, table: &Arc<Table>) -> Result<TableReader> {
    TableReader::new(cx.txn(), cx.seq(), table, None)
}

/// Locks a table's rows, present and future ones, until the transaction ends. Writers that came
/// before are waited for; those that come later wait, and plan again with the new descriptor.
/// What the statement reads from here on is what is committed now.
pub(crate) async fn block_writers(cx: &DdlContext<'_>, table: &Arc<Table>) -> Result<()> {
    let span = table.index_span(&table.primary);
    let request = LockRequest::spans(vec![span]);
    cx.txn().lock(cx.seq(), request).await.map_err(from_kv)?;
    cx.txn().snapshots().renew(cx.seq()).await.map_err(from_kv)
}
