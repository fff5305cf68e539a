//! DELETE.

use std::collections::HashSet;
use std::sync::Arc;

use braid_exec::{BoxedOperator, Evaluator, MemoryReservation, Operator, key_bytes, row_bytes};
use braid_plan::{Delete, Expr, Node, RangeDelete, Scan};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::foreign_keys::ForeignKeys;
use crate::foreign_keys::queue::Queue;
use crate::range_delete::{plain_range_delete, range_delete};
use crate::table_writer::TableWriter;

/// DELETE; it gives RETURNING's rows.
pub struct DeleteOperator {
    input: BoxedOperator,
    evaluator: Evaluator,
    writer: TableWriter,
    width: usize,
    /// Whether the input may give a row several times.
    repeats: bool,
    returning: Vec<Expr>,
    foreign_keys: ForeignKeys,
    /// If the rows go in range deletes: their scan, and what the schema says.
    range: Option<(Scan, Arc<RangeDelete>)>,
    /// The same for a table in which nothing is interleaved, if there turn out to be many rows.
    plain_range: Option<(Scan, RangeDelete)>,
    counts: bool,
    done: bool,
}

impl DeleteOperator {
    /// A DELETE over its input.
    pub fn new(
        input: BoxedOperator,
        plan: &Delete,
        evaluator: Evaluator,
        queue: &Arc<Queue>,
    ) -> Result<Self> {
        Ok(Self {
            input,
            writer: TableWriter::new(&plan.table, &[], &[], &plan.index_exprs, evaluator.clone())?,
            width: plan.table.columns.len(),
            repeats: !matches!(plan.input, Node::Scan(_)),
            returning: plan.returning.iter().map(|(_, e)| e.clone()).collect(),
            foreign_keys: ForeignKeys::new(&evaluator.run, queue, &plan.table, &plan.cascades),
            range: plan
                .ranges(evaluator.run.cx.range_delete)
                .and_then(std::result::Result::ok)
                .map(|(scan, range)| (scan.clone(), range.clone())),
            plain_range: plan
                .plain_ranges(evaluator.run.cx.range_delete)
                .map(|(scan, range)| (scan.clone(), range)),
            counts: !plan.returning_nothing,
            evaluator,
            done: false,
        })
    }

    async fn run(&mut self) -> Result<Option<Vec<Row>>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let table = self.writer.rows.table.id;
        let shared = self.evaluator.run.shares_changes(table);
        if let (Some((scan, range)), false) = (&self.range, shared) {
            let rows = range_delete(&self.evaluator, scan, range, self.counts).await?;
            self.evaluator.run.add_changed(rows);
            self.writer.note_deleted(rows);
            return Ok(None);
        }
        if let (Some((scan, range)), false) = (&self.plain_range, shared)
            && let Some(rows) =
                plain_range_delete(&self.evaluator, scan, range, self.counts).await?
        {
            self.evaluator.run.add_changed(rows);
            self.writer.note_deleted(rows);
            return Ok(None);
        }
        let waits = self.returning.iter().any(Expr::waits);
        let mut held = MemoryReservation::new(&self.evaluator.run);
        let mut seen = HashSet::new();
        let mut deleted = 0;
        let mut result = Vec::new();
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            let mut bytes = 0;
            for row in batch {
                let old = &row[..self.width];
                // A row that USING matches several times is deleted once; one that another part
                // of the statement has changed stays.
                if shared || self.repeats {
                    let key = self.writer.rows.primary_key(old);
                    bytes += key_bytes(&key);
                    let first = match shared {
                        true => self.evaluator.run.first_change(table, key),
                        false => seen.insert(key),
                    };
                    if !first {
                        continue;
                    }
                }
                deleted += 1;
                self.writer.delete(old)?;
                self.foreign_keys.changed(Some(old), None)?;
                if !self.returning.is_empty() {
                    let row = self.evaluator.eval_all(&self.returning, waits, &row).await?;
                    bytes += row_bytes(&row);
                    result.push(row);
                }
            }
            held.take(bytes)?;
        }
        self.foreign_keys.hand_over();
        self.evaluator.run.add_changed(deleted);
        Ok(if result.is_empty() { None } else { Some(result) })
    }
}

impl Operator for DeleteOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.run())
    }
}
