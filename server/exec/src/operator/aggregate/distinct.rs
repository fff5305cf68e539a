//! DISTINCT and DISTINCT ON.

use std::collections::HashSet;

use braid_plan::Expr;
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BoxedOperator, Operator};

/// Rows without repetitions; with ON the first row of each run of equal keys (the input is
/// sorted by them).
pub struct DistinctOperator {
    input: BoxedOperator,
    on: Exprs,
    last: Option<Row>,
    seen: HashSet<Row>,
    held: MemoryReservation,
    evaluator: Evaluator,
}

impl DistinctOperator {
    /// Distinct rows of an input.
    pub fn new(input: BoxedOperator, on: &[Expr], evaluator: Evaluator) -> Self {
        Self {
            input,
            on: Exprs::new(on.to_vec()),
            last: None,
            seen: HashSet::new(),
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
        }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            let mut kept = Vec::new();
            for row in batch {
                if self.on.is_empty() {
                    if !self.seen.contains(&row) {
                        self.held.take(row_bytes(&row))?;
                        self.seen.insert(row.clone());
                        kept.push(row);
                    }
                    continue;
                }
                let keys = self.on.eval(&self.evaluator, &row).await?;
                if self.last.as_ref() != Some(&keys) {
                    self.last = Some(keys);
                    kept.push(row);
                }
            }
            if !kept.is_empty() {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }
}

impl Operator for DistinctOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
