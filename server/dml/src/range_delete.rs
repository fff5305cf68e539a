//! DELETE as range deletes: one for each span of the primary key, over the
//! table and all that cascades from it ([`braid_plan::RangeDelete`] says when). Many rows of a
//! table in which nothing is interleaved go in the same way ([`plain_range_delete`]).
//!
//! ```text
//!   lock the spans ──▶ count the table's own rows ──▶ entries of indexes elsewhere ──▶ delete
//!                      (not for RETURNING NOTHING)    (only if there are any)
//! ```
//!
//! The exclusive lock on the spans makes writers below them wait. The lock reports commits between
//! the snapshot and the lock. So no row is left over: a child that was committed before the lock is
//! in the span, and a later one fails by its own check of the parent.

use std::sync::Arc;

use braid_catalog::{IndexNumber, Table};
use braid_exec::{Evaluator, IndexExprs, KeyBounds, MultiScan, Reader, from_kv};
use braid_kv::{Error as Kv, Isolation, LockRequest, Record, RetryReason, ScanRequest, Span};
use braid_plan::{PlanContext, RangeDelete, Scan};
use braid_rows::{IndexRows, RowAssembler, RowKeys};
use braid_types::{Result, Row};

/// Pairs in the spans of a plain table from which on they are deleted as ranges.
const RANGE_PAIRS_MIN: usize = 4_096;

/// Deletes the rows of a scan's spans with all rows below them; how many rows of the scan's own
/// table there were, 0 if they are not to be counted.
pub(crate) async fn range_delete(
    evaluator: &Evaluator,
    scan: &Scan,
    range: &RangeDelete,
    counts: bool,
) -> Result<usize> {
    let spans = KeyBounds::new(scan)?.spans(evaluator).await?;
    if spans.is_empty() {
        return Ok(0);
    }
    delete_spans(evaluator, &scan.table, range, (spans, Vec::new()), counts).await
}

/// The same for a table in which nothing is interleaved, if it is worth it: a range delete keeps
/// inserts out of its spans and is cleaned up after. `None` if the rows have to go one by one.
///
/// Below SERIALIZABLE they do, because an insert would wait there that PostgreSQL lets through. At
/// SERIALIZABLE it would make the DELETE run again.
pub(crate) async fn plain_range_delete(
    evaluator: &Evaluator,
    scan: &Scan,
    range: &RangeDelete,
    counts: bool,
) -> Result<Option<usize>> {
    let txn = &evaluator.run.cx.txn;
    if txn.isolation() != Isolation::Serializable || !txn.database().store().locks_spans() {
        return Ok(None);
    }
    let spans = KeyBounds::new(scan)?.spans(evaluator).await?;
    if !are_many(evaluator, &spans).await? {
        return Ok(None);
    }
    let table = &scan.table;
    // Without bounds the entries of an index are those of all rows.
    let outside = range.outside.iter().flat_map(|(_, numbers)| numbers);
    let outside: Vec<&IndexNumber> = outside.collect();
    let whole = table.indexes.iter().filter(|index| !outside.contains(&&index.number));
    let whole = whole.map(|index| table.index_span(index)).collect();
    delete_spans(evaluator, table, range, (spans, whole), counts).await.map(Some)
}

/// Whether the spans have enough rows for a range delete to be worth it.
async fn are_many(evaluator: &Evaluator, spans: &[Span]) -> Result<bool> {
    let request =
        |span| ScanRequest::new(span).keys_only().record(Record::Never).limit_rows(RANGE_PAIRS_MIN);
    let mut scan = in_order(spans);
    let mut pairs = 0;
    while let Some(batch) = scan.next(&evaluator.run, request).await? {
        evaluator.run.check_interrupts().await?;
        pairs += batch.len();
        if pairs >= RANGE_PAIRS_MIN {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Locks the spans of the table's rows and whole indexes, and deletes them.
async fn delete_spans(
    evaluator: &Evaluator,
    table: &Arc<Table>,
    range: &RangeDelete,
    (spans, indexes): (Vec<Span>, Vec<Span>),
    counts: bool,
) -> Result<usize> {
    let run = &evaluator.run;
    let (txn, seq) = (&run.cx.txn, run.cx.seq);
    let all: Vec<Span> = spans.iter().chain(&indexes).cloned().collect();
    let locked = run.wait(txn.lock(seq, LockRequest::spans(all))).await?;
    let changed = locked.changed.iter().any(|changed| *changed);
    if changed && txn.isolation() == Isolation::ReadCommitted {
        // With the locks in hand the statement looks again.
        return Err(from_kv(Kv::retry(RetryReason::WriteConflict, None)));
    }
    let rows = if counts { count(evaluator, table, &spans).await? } else { 0 };
    for (table, numbers) in &range.outside {
        delete_entries(evaluator, table, numbers, &spans).await?;
    }
    for span in spans.into_iter().chain(indexes) {
        txn.writes().delete_span(seq, span).map_err(from_kv)?;
    }
    Ok(rows)
}

/// The spans as a scan takes them: the next one last.
fn in_order(spans: &[Span]) -> MultiScan {
    MultiScan::new(spans.iter().rev().cloned().collect(), false)
}

/// How many rows of a table lie in spans, by their keys alone.
async fn count(evaluator: &Evaluator, table: &Arc<Table>, spans: &[Span]) -> Result<usize> {
    let reader = Reader::new(table, &[], true)?;
    let request = |span| ScanRequest::new(span).keys_only().shape(reader.rows.shape.as_ref());
    let mut scan = in_order(spans);
    let mut row_keys = RowKeys::default();
    let mut rows = 0;
    while let Some(batch) = scan.next(&evaluator.run, request).await? {
        evaluator.run.check_interrupts().await?;
        if reader.rows.family_count() == 1 {
            rows += batch.len();
            continue;
        }
        for (key, _) in batch.iter() {
            rows += usize::from(row_keys.next(&reader.decoder, key)?.is_some());
        }
    }
    Ok(rows)
}

/// Deletes the entries that the rows of a table in these spans have in indexes elsewhere.
async fn delete_entries(
    evaluator: &Evaluator,
    table: &Arc<Table>,
    numbers: &[IndexNumber],
    spans: &[Span],
) -> Result<()> {
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let reader = Reader::new(table, &all, true)?;
    let indexes = numbers.iter().filter_map(|number| table.index(*number));
    let run = &evaluator.run;
    let plan = PlanContext {
        catalog: &run.cx.catalog,
        path: &run.cx.path,
        env: &*run.cx.env,
        text: "",
        param_types: &[],
        variables: None,
    };
    let indexes = indexes
        .map(|index| Ok((IndexRows::new(table, index)?, IndexExprs::bind(&plan, table, index)?)))
        .collect::<Result<Vec<(IndexRows, IndexExprs)>>>()?;
    // A row that a unique partial index leaves out may have the key of one that is in it.
    let delete = |row: &Row| {
        let cx = evaluator.context();
        indexes.iter().try_for_each(|(index, exprs)| match exprs.row(row, &cx)? {
            Some(row) => {
                index.each_key(&row, |key| run.cx.txn.delete(run.cx.seq, key).map_err(from_kv))
            }
            None => Ok(()),
        })
    };
    let request = |span| ScanRequest::new(span).shape(reader.rows.shape.as_ref());
    let mut scan = in_order(spans);
    let mut rows = RowAssembler::default();
    while let Some(batch) = scan.next(run, request).await? {
        run.check_interrupts().await?;
        for (key, value) in batch.iter() {
            if let Some((_, row)) = rows.add(&reader.decoder, key, value)? {
                delete(&row)?;
            }
        }
    }
    rows.finish().map_or(Ok(()), |(_, row)| delete(&row))
}
