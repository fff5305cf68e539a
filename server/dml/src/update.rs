//! UPDATE.

use std::collections::HashSet;
use std::sync::Arc;

use braid_exec::{BoxedOperator, Evaluator, MemoryReservation, Operator, key_bytes, row_bytes};
use braid_plan::{Expr, Update};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::foreign_keys::ForeignKeys;
use crate::foreign_keys::queue::Queue;
use crate::table_writer::TableWriter;

/// UPDATE; it gives RETURNING's rows. All rows are read before the first is written, so that
/// keys may move between them.
pub struct UpdateOperator {
    input: BoxedOperator,
    evaluator: Evaluator,
    writer: TableWriter,
    width: usize,
    assignments: Vec<(usize, Expr)>,
    returning: Vec<Expr>,
    foreign_keys: ForeignKeys,
    done: bool,
}

impl UpdateOperator {
    /// An UPDATE over its input.
    pub fn new(
        input: BoxedOperator,
        plan: &Update,
        evaluator: Evaluator,
        queue: &Arc<Queue>,
    ) -> Result<Self> {
        let writer = TableWriter::new(
            &plan.table,
            &plan.generated,
            &plan.checks,
            &plan.index_exprs,
            evaluator.clone(),
        )?;
        Ok(Self {
            input,
            writer,
            width: plan.table.columns.len(),
            assignments: plan.assignments.clone(),
            returning: plan.returning.iter().map(|(_, e)| e.clone()).collect(),
            foreign_keys: ForeignKeys::new(&evaluator.run, queue, &plan.table, &plan.cascades),
            evaluator,
            done: false,
        })
    }

    async fn run(&mut self) -> Result<Option<Vec<Row>>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let waits = self.assignments.iter().any(|(_, e)| e.waits());
        let (places, values): (Vec<usize>, Vec<Expr>) = self.assignments.iter().cloned().unzip();
        let table = self.writer.rows.table.id;
        let shared = self.evaluator.run.shares_changes(table);
        let mut held = MemoryReservation::new(&self.evaluator.run);
        let mut seen = HashSet::new();
        let mut changes = Vec::new();
        let mut inputs = Vec::new();
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            let mut bytes = 0;
            for row in batch {
                let old: Row = row[..self.width].to_vec();
                // A row that FROM matches several times is updated once; so is one that WITH and
                // the statement itself match.
                let key = self.writer.rows.primary_key(&old);
                bytes += key_bytes(&key);
                let first = if shared {
                    self.evaluator.run.first_change(table, key)
                } else {
                    seen.insert(key)
                };
                if !first {
                    continue;
                }
                let values = self.evaluator.eval_all(&values, waits, &row).await?;
                let mut new = old.clone();
                for (place, value) in places.iter().zip(values) {
                    new[*place] = value;
                }
                self.writer.complete_changed(&old, &mut new).await?;
                self.foreign_keys.changed(Some(&old), Some(&new))?;
                bytes += row_bytes(&old) + row_bytes(&new);
                changes.push((old, new));
                if !self.returning.is_empty() {
                    bytes += row_bytes(&row);
                    inputs.push(row);
                }
            }
            held.take(bytes)?;
        }
        let mut all_places = places;
        let columns = self.writer.rows.table.columns.iter().enumerate();
        all_places.extend(columns.filter(|(_, c)| c.generated.is_some()).map(|(place, _)| place));
        self.writer.replace(&changes, &all_places).await?;
        self.foreign_keys.hand_over();
        self.evaluator.run.add_changed(changes.len());
        let waits = self.returning.iter().any(Expr::waits);
        let mut result = Vec::with_capacity(inputs.len());
        for ((_, new), input) in changes.into_iter().zip(inputs) {
            let mut row = new;
            row.extend(input);
            result.push(self.evaluator.eval_all(&self.returning, waits, &row).await?);
        }
        Ok(if result.is_empty() { None } else { Some(result) })
    }
}

impl Operator for UpdateOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.run())
    }
}
