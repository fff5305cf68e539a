//! DELETE.

use std::collections::HashSet;
use std::sync::Arc;

use braid_plan::{Delete, Expr, RangeDelete, Scan};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use super::change::TableWriter;
use super::eval::Evaluator;
use super::foreign_keys::ForeignKeys;
use super::range_delete::range_delete;
use super::{BoxedOperator, Operator};

/// DELETE; it gives RETURNING's rows.
pub struct DeleteOperator {
    input: BoxedOperator,
    evaluator: Evaluator,
    writer: TableWriter,
    width: usize,
    returning: Vec<Expr>,
    foreign_keys: ForeignKeys,
    /// If the rows go in range deletes: their scan, and what the schema says.
    range: Option<(Scan, Arc<RangeDelete>)>,
    counts: bool,
    done: bool,
}

impl DeleteOperator {
    /// A DELETE over its input.
    pub fn new(input: BoxedOperator, plan: &Delete, evaluator: Evaluator) -> Self {
        Self {
            input,
            writer: TableWriter::new(&plan.table, &[], &[], &plan.predicates, evaluator.clone()),
            width: plan.table.columns.len(),
            returning: plan.returning.iter().map(|(_, e)| e.clone()).collect(),
            foreign_keys: ForeignKeys::new(&evaluator.run, &plan.table, &plan.cascades),
            range: plan
                .ranges(evaluator.run.cx.range_delete)
                .and_then(std::result::Result::ok)
                .map(|(scan, range)| (scan.clone(), range.clone())),
            counts: !plan.returning_nothing,
            evaluator,
            done: false,
        }
    }

    async fn run(&mut self) -> Result<Option<Vec<Row>>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        if let Some((scan, range)) = &self.range {
            let rows = range_delete(&self.evaluator, scan, range, self.counts).await?;
            self.evaluator.run.add_changed(rows);
            return Ok(None);
        }
        let waits = self.returning.iter().any(Expr::waits);
        let mut seen = HashSet::new();
        let mut result = Vec::new();
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            for row in batch {
                let old = &row[..self.width];
                // A row that USING matches several times is deleted once.
                if !seen.insert(self.writer.rows.primary_key(old)) {
                    continue;
                }
                self.writer.delete(old)?;
                self.foreign_keys.changed(Some(old), None);
                if !self.returning.is_empty() {
                    result.push(self.evaluator.eval_all(&self.returning, waits, &row).await?);
                }
            }
        }
        self.foreign_keys.hand_over();
        self.evaluator.run.add_changed(seen.len());
        Ok(if result.is_empty() { None } else { Some(result) })
    }
}

impl Operator for DeleteOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.run())
    }
}
