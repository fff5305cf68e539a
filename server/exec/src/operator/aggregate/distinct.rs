//! DISTINCT and DISTINCT ON.

use std::sync::Arc;

use braid_plan::Distinct;
use braid_plan::explain::DiskUse;
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::key_form::{KeyForm, KeySet};
use crate::operator::reservation::MemoryReservation;
use crate::operator::spilled::overflow::Overflow;
use crate::operator::spilled::stream_scan::StreamScan;
use crate::operator::{BoxedOperator, Operator};
use crate::spill::stream::RowStream;

/// Rows without repetitions; with ON the first row of each run of equal keys (the input is
/// sorted by them).
///
/// A row goes out when it is first seen. Once memory is used up, rows that were not seen before are
/// deferred, and this operator is run over each partition of them.
pub(crate) struct DistinctOperator {
    input: BoxedOperator,
    on: Arc<Exprs>,
    /// The form of what is compared: of the row, or of the values of ON.
    form: KeyForm,
    last: Option<Row>,
    seen: KeySet<Row>,
    held: MemoryReservation,
    evaluator: Evaluator,
    overflow: Overflow,
    /// The partitions, once the input has ended.
    partitions: Option<std::vec::IntoIter<RowStream>>,
    below: Option<Box<DistinctOperator>>,
}

impl DistinctOperator {
    /// Distinct rows of an input.
    pub(crate) fn new(input: BoxedOperator, node: &Distinct, evaluator: Evaluator) -> Self {
        let form = match node.on.is_empty() {
            true => KeyForm::new(&node.types),
            false => KeyForm::of_exprs(&node.on),
        };
        let on = Arc::new(Exprs::new(node.on.clone()));
        Self::over(input, on, form, evaluator, Overflow::default())
    }

    /// Distinct rows of an input that this operator or another has deferred.
    pub(crate) fn of_partition(
        input: RowStream,
        form: &KeyForm,
        evaluator: &Evaluator,
        overflow: &Overflow,
    ) -> Self {
        let input = StreamScan::new(&evaluator.run, Arc::new(input));
        let on = Arc::new(Exprs::new(Vec::new()));
        Self::over(input, on, form.clone(), evaluator.clone(), overflow.below())
    }

    fn over(
        input: BoxedOperator,
        on: Arc<Exprs>,
        form: KeyForm,
        evaluator: Evaluator,
        overflow: Overflow,
    ) -> Self {
        Self {
            input,
            on,
            form,
            last: None,
            seen: KeySet::default(),
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
            overflow,
            partitions: None,
            below: None,
        }
    }

    /// Whether no row before was equal to this one, and it is not deferred.
    fn is_new(&mut self, row: &Row) -> Result<bool> {
        if self.overflow.is_active() {
            let key = self.form.key(row);
            if !self.seen.contains(&key) {
                self.overflow.push(&key, row)?;
            }
            return Ok(false);
        }
        let mut added = None;
        let copy = |key: &Row| {
            added = Some(row_bytes(key));
            key.clone()
        };
        match self.form.is_plain() {
            true => self.seen.get_or_insert_with(row, copy),
            false => self.seen.get_or_insert_with(&self.form.key(row), copy),
        };
        let Some(bytes) = added else { return Ok(false) };
        if !self.held.try_take(bytes)? {
            self.overflow.begin(&self.evaluator.run, &mut self.held)?;
        }
        Ok(true)
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.partitions.is_none() {
            if let Some(rows) = self.first_seen().await? {
                return Ok(Some(rows));
            }
            self.seen = KeySet::default();
            self.held.clear();
            self.partitions = Some(self.overflow.finish()?);
        }
        loop {
            if let Some(below) = &mut self.below {
                if let Some(rows) = below.next().await? {
                    return Ok(Some(rows));
                }
                self.below = None;
            }
            let next = self.partitions.as_mut().and_then(Iterator::next);
            let Some(stream) = next else { return Ok(None) };
            let below = Self::of_partition(stream, &self.form, &self.evaluator, &self.overflow);
            self.below = Some(Box::new(below));
        }
    }

    /// The next rows of the input that were not seen before.
    async fn first_seen(&mut self) -> Result<Option<Vec<Row>>> {
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.check_interrupts().await?;
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

    fn spilled(&self) -> Option<DiskUse> {
        self.overflow.spilled()
    }
}
