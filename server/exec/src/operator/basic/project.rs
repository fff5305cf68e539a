//! Filters and projections.

use braid_plan::{Expr, Slot};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::postponed::Postponed;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BoxedOperator, Operator};

/// Rows that satisfy every predicate.
pub(crate) struct FilterOperator {
    input: BoxedOperator,
    predicates: Exprs,
    /// Rows to be looked at one by one.
    pending: std::vec::IntoIter<Row>,
    failed: Postponed,
    evaluator: Evaluator,
}

impl FilterOperator {
    /// A filter over an input.
    pub(crate) fn new(input: BoxedOperator, predicates: &[Expr], evaluator: Evaluator) -> Self {
        let predicates = Exprs::new(predicates.to_vec());
        let (pending, failed) = (Vec::new().into_iter(), Postponed::default());
        Self { input, predicates, pending, failed, evaluator }
    }

    /// The next row that satisfies them. A LIMIT above may want no more.
    async fn one(&mut self) -> Result<Option<Vec<Row>>> {
        loop {
            for row in self.pending.by_ref() {
                self.evaluator.run.check_interrupts().await?;
                if self.predicates.hold(&self.evaluator, &row).await? {
                    return Ok(Some(vec![row]));
                }
            }
            let Some(batch) = self.input.next().await? else { return Ok(None) };
            self.pending = batch.into_iter();
        }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.predicates.acts_per_row {
            return self.one().await;
        }
        self.failed.check()?;
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.check_interrupts().await?;
            let batch =
                keep(batch, &mut self.predicates, &self.evaluator, &mut self.failed).await?;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// The rows of a batch that satisfy every predicate, up to the first one on which one fails.
pub(crate) async fn keep(
    mut batch: Vec<Row>,
    predicates: &mut Exprs,
    evaluator: &Evaluator,
    failed: &mut Postponed,
) -> Result<Vec<Row>> {
    if predicates.is_empty() {
        return Ok(batch);
    }
    // In place: the rows that are kept move to the front.
    let mut kept = 0;
    for at in 0..batch.len() {
        match predicates.hold(evaluator, &batch[at]).await {
            Ok(false) => {}
            Ok(true) => {
                batch.swap(kept, at);
                kept += 1;
            }
            Err(error) => {
                failed.keep(error, kept > 0)?;
                break;
            }
        }
        if predicates.may_wait() {
            evaluator.run.check_interrupts().await?;
            predicates.settle(evaluator);
        }
    }
    batch.truncate(kept);
    Ok(batch)
}

impl Operator for FilterOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn begin_round(&mut self) -> bool {
        self.predicates.begin_round();
        self.pending.len() == 0 && !self.failed.is_waiting() && self.input.begin_round()
    }
}

/// Expressions over rows.
pub(crate) struct ProjectOperator {
    input: BoxedOperator,
    exprs: Exprs,
    /// Every expression is a column, none of them twice: the data are moved.
    moves: Option<Vec<usize>>,
    /// Input rows whose values were too large for the last batch.
    pending: std::vec::IntoIter<Row>,
    failed: Postponed,
    held: MemoryReservation,
    /// A batch whose computed values take more bytes than this ends early.
    batch_bytes: usize,
    evaluator: Evaluator,
}

impl ProjectOperator {
    /// A projection of an input.
    pub(crate) fn new(input: BoxedOperator, exprs: &[(Slot, Expr)], evaluator: Evaluator) -> Self {
        let exprs = Exprs::new(exprs.iter().map(|(_, e)| e.clone()).collect());
        let moves = exprs.places().filter(|places| {
            places.iter().enumerate().all(|(i, place)| !places[..i].contains(place))
        });
        let held = MemoryReservation::new(&evaluator.run);
        let batch_bytes = evaluator.run.cx.memory.working_bytes();
        let (pending, failed) = (Vec::new().into_iter(), Postponed::default());
        Self { input, exprs, moves, pending, failed, held, batch_bytes, evaluator }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if let Some(places) = &self.moves {
            let Some(mut batch) = self.input.next().await? else { return Ok(None) };
            self.evaluator.run.check_interrupts().await?;
            for row in &mut batch {
                move_columns(row, places);
            }
            return Ok(Some(batch));
        }
        self.failed.check()?;
        self.held.clear();
        if self.pending.len() == 0 {
            let Some(batch) = self.input.next().await? else { return Ok(None) };
            self.pending = batch.into_iter();
        }
        self.evaluator.run.check_interrupts().await?;
        let mut batch = Vec::with_capacity(self.pending.len());
        let mut bytes = 0;
        for row in self.pending.by_ref() {
            let row = match self.exprs.eval(&self.evaluator, &row).await {
                Ok(row) => row,
                Err(error) => {
                    self.failed.keep(error, !batch.is_empty())?;
                    break;
                }
            };
            bytes += row_bytes(&row);
            batch.push(row);
            if bytes > self.batch_bytes || self.exprs.acts_per_row {
                break;
            }
            if self.exprs.may_wait() {
                self.evaluator.run.check_interrupts().await?;
                self.exprs.settle(&self.evaluator);
            }
        }
        self.held.take(bytes)?;
        Ok(Some(batch))
    }
}

/// Leaves only these columns, in this order.
fn move_columns(row: &mut Row, places: &[usize]) {
    if places.iter().enumerate().all(|(i, place)| i == *place) {
        row.truncate(places.len());
        return;
    }
    let take = |place: &usize| std::mem::replace(&mut row[*place], Datum::Null);
    *row = places.iter().map(take).collect();
}

impl Operator for ProjectOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn is_done(&self) -> bool {
        self.pending.len() == 0 && !self.failed.is_waiting() && self.input.is_done()
    }

    fn begin_round(&mut self) -> bool {
        self.exprs.begin_round();
        self.pending.len() == 0 && !self.failed.is_waiting() && self.input.begin_round()
    }
}
