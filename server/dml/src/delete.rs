//! DELETE.

use std::collections::HashSet;
use std::sync::Arc;

use braid_catalog::TriggerEvent;
use braid_exec::{
    BoxedOperator, Evaluator, MemoryReservation, Operator, RowStore, StoreCursor, key_bytes,
};
use braid_plan::{Delete, Expr, Firing, Node, RangeDelete, Scan};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::foreign_keys::ForeignKeys;
use crate::queues::Queues;
use crate::range_delete::{plain_range_delete, range_delete};
use crate::table_writer::TableWriter;
use crate::triggers::RowTriggers;

/// DELETE; it gives RETURNING's rows.
pub(crate) struct DeleteOperator {
    input: BoxedOperator,
    evaluator: Evaluator,
    writer: TableWriter,
    width: usize,
    /// Whether the input may give a row several times.
    repeats: bool,
    returning: Vec<Expr>,
    foreign_keys: ForeignKeys,
    triggers: RowTriggers,
    /// If the rows go in range deletes: their scan, and what the schema says.
    range: Option<(Scan, Arc<RangeDelete>)>,
    /// The same for a table in which nothing is interleaved, if there turn out to be many rows.
    plain_range: Option<(Scan, RangeDelete)>,
    counts: bool,
    done: bool,
    /// RETURNING's rows, and how far they were given.
    result: RowStore,
    given: StoreCursor,
}

impl DeleteOperator {
    /// A DELETE over its input.
    pub(crate) fn new(
        input: BoxedOperator,
        plan: &Delete,
        evaluator: Evaluator,
        queues: &Queues,
    ) -> Result<Self> {
        Ok(Self {
            input,
            writer: TableWriter::new(&plan.table, &[], &[], &plan.index_exprs, evaluator.clone())?,
            width: plan.table.columns.len(),
            repeats: !matches!(plan.input, Node::Scan(_)),
            returning: plan.returning.iter().map(|(_, e)| e.clone()).collect(),
            foreign_keys: ForeignKeys::new(&evaluator.run, queues, &plan.table, &plan.cascades)?,
            triggers: RowTriggers::new(&evaluator, &plan.table, &plan.triggers, &queues.triggers),
            range: plan
                .ranges(evaluator.run.cx.range_delete)
                .and_then(std::result::Result::ok)
                .map(|(scan, range)| (scan.clone(), range.clone())),
            plain_range: plan
                .plain_ranges(&evaluator.run.cx.catalog, evaluator.run.cx.range_delete)
                .map(|(scan, range)| (scan.clone(), range)),
            counts: !plan.returning_nothing,
            result: RowStore::new(&evaluator.run),
            given: StoreCursor::default(),
            evaluator,
            done: false,
        })
    }

    async fn run(&mut self) -> Result<Option<Vec<Row>>> {
        if !std::mem::replace(&mut self.done, true) {
            self.triggers.begin(TriggerEvent::Delete).await?;
            if !self.ranges().await? {
                self.rows().await?;
            }
            self.triggers.end(TriggerEvent::Delete).await?;
        }
        let rows = self.result.read(&mut self.given)?;
        Ok((!rows.is_empty()).then_some(rows))
    }

    /// Deletes ranges, if that is possible and worth it.
    async fn ranges(&mut self) -> Result<bool> {
        let table = self.writer.rows.table.id;
        let shared = self.evaluator.run.shares_changes(table);
        if let (Some((scan, range)), false) = (&self.range, shared) {
            let rows = range_delete(&self.evaluator, scan, range, self.counts).await?;
            self.evaluator.run.add_changed(rows);
            self.writer.note_deleted(rows);
            return Ok(true);
        }
        if let (Some((scan, range)), false) = (&self.plain_range, shared)
            && let Some(rows) =
                plain_range_delete(&self.evaluator, scan, range, self.counts).await?
        {
            self.evaluator.run.add_changed(rows);
            self.writer.note_deleted(rows);
            return Ok(true);
        }
        Ok(false)
    }

    /// Deletes the rows of the input one by one.
    async fn rows(&mut self) -> Result<()> {
        let table = self.writer.rows.table.id;
        let shared = self.evaluator.run.shares_changes(table);
        let waits = self.returning.iter().any(Expr::waits);
        let mut held = MemoryReservation::new(&self.evaluator.run);
        let mut seen = HashSet::new();
        let mut deleted = 0;
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.check_interrupts().await?;
            let mut bytes = 0;
            let mut result = Vec::new();
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
                if !self.before(old).await? {
                    continue;
                }
                deleted += 1;
                self.writer.delete(old)?;
                self.foreign_keys.changed(Some(old), None)?;
                self.triggers.after_row(TriggerEvent::Delete, Some(old), None).await?;
                if !self.returning.is_empty() {
                    let row = self.evaluator.eval_all(&self.returning, waits, &row).await?;
                    result.push(row);
                }
            }
            held.take(bytes)?;
            self.result.append(result)?;
        }
        self.foreign_keys.hand_over();
        self.evaluator.run.add_changed(deleted);
        Ok(())
    }
}

impl DeleteOperator {
    /// Whether the triggers before a row let it go.
    async fn before(&mut self, old: &[Datum]) -> Result<bool> {
        let firing = Firing::before_row(TriggerEvent::Delete);
        if !self.triggers.has(firing) {
            return Ok(true);
        }
        Ok(self.triggers.fire_row(firing, Some(&old.to_vec()), None).await?.is_some())
    }
}

impl Operator for DeleteOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.run())
    }
}
