//! DISTINCT and DISTINCT ON.

use std::collections::HashSet;

use braid_plan::Distinct;
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::key_form::KeyForm;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BoxedOperator, Operator};

/// Rows without repetitions; with ON the first row of each run of equal keys (the input is
/// sorted by them).
pub struct DistinctOperator {
    input: BoxedOperator,
    on: Exprs,
    /// The form of what is compared: of the row, or of the values of ON.
    form: KeyForm,
    last: Option<Row>,
    seen: HashSet<Row>,
    held: MemoryReservation,
    evaluator: Evaluator,
}

impl DistinctOperator {
    /// Distinct rows of an input.
    pub fn new(input: BoxedOperator, node: &Distinct, evaluator: Evaluator) -> Self {
        let form = match node.on.is_empty() {
            true => KeyForm::new(&node.types),
            false => KeyForm::of_exprs(&node.on),
        };
        Self {
            input,
            on: Exprs::new(node.on.clone()),
            form,
            last: None,
            seen: HashSet::new(),
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
        }
    }

    /// Whether no row before was equal to this one.
    fn is_new(&mut self, row: &Row) -> Result<bool> {
        if self.form.is_plain() && self.seen.contains(row) {
            return Ok(false);
        }
        let key = self.form.key(row);
        let bytes = row_bytes(&key);
        let is_new = self.seen.insert(key);
        if is_new {
            self.held.take(bytes)?;
        }
        Ok(is_new)
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            let mut kept = Vec::new();
            for row in batch {
                if self.on.is_empty() {
                    if self.is_new(&row)? {
                        kept.push(row);
                    }
                    continue;
                }
                let mut keys = self.on.eval(&self.evaluator, &row).await?;
                self.form.apply(&mut keys);
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
