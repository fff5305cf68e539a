//! Filters and projections.

use braid_plan::{Expr, Slot};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BoxedOperator, Operator};

/// A batch whose computed values take more bytes than this ends early.
const BATCH_BYTES: usize = 4 << 20;

/// Rows that satisfy every predicate.
pub struct FilterOperator {
    input: BoxedOperator,
    predicates: Exprs,
    /// Rows to be looked at one by one.
    pending: std::vec::IntoIter<Row>,
    evaluator: Evaluator,
}

impl FilterOperator {
    /// A filter over an input.
    pub fn new(input: BoxedOperator, predicates: &[Expr], evaluator: Evaluator) -> Self {
        let predicates = Exprs::new(predicates.to_vec());
        Self { input, predicates, pending: Vec::new().into_iter(), evaluator }
    }

    /// The next row that satisfies them. A LIMIT above may want no more.
    async fn one(&mut self) -> Result<Option<Vec<Row>>> {
        loop {
            for row in self.pending.by_ref() {
                self.evaluator.run.breathe().await?;
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
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            let batch = keep(batch, &self.predicates, &self.evaluator).await?;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// The rows of a batch that satisfy every predicate.
pub async fn keep(
    mut batch: Vec<Row>,
    predicates: &Exprs,
    evaluator: &Evaluator,
) -> Result<Vec<Row>> {
    if predicates.is_empty() {
        return Ok(batch);
    }
    // In place: the rows that are kept move to the front.
    let mut kept = 0;
    for at in 0..batch.len() {
        if predicates.hold(evaluator, &batch[at]).await? {
            batch.swap(kept, at);
            kept += 1;
        }
        if predicates.waits {
            evaluator.run.breathe().await?;
        }
    }
    batch.truncate(kept);
    Ok(batch)
}

impl Operator for FilterOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}

/// Expressions over rows.
pub struct ProjectOperator {
    input: BoxedOperator,
    exprs: Exprs,
    /// Every expression is a column, none of them twice: the data are moved.
    moves: Option<Vec<usize>>,
    /// Input rows whose values were too large for the last batch.
    pending: std::vec::IntoIter<Row>,
    held: MemoryReservation,
    evaluator: Evaluator,
}

impl ProjectOperator {
    /// A projection of an input.
    pub fn new(input: BoxedOperator, exprs: &[(Slot, Expr)], evaluator: Evaluator) -> Self {
        let exprs = Exprs::new(exprs.iter().map(|(_, e)| e.clone()).collect());
        let moves = exprs.places().filter(|places| {
            places.iter().enumerate().all(|(i, place)| !places[..i].contains(place))
        });
        let held = MemoryReservation::new(&evaluator.run);
        Self { input, exprs, moves, pending: Vec::new().into_iter(), held, evaluator }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if let Some(places) = &self.moves {
            let Some(mut batch) = self.input.next().await? else { return Ok(None) };
            self.evaluator.run.breathe().await?;
            for row in &mut batch {
                move_columns(row, places);
            }
            return Ok(Some(batch));
        }
        self.held.clear();
        if self.pending.len() == 0 {
            let Some(batch) = self.input.next().await? else { return Ok(None) };
            self.pending = batch.into_iter();
        }
        self.evaluator.run.breathe().await?;
        let mut batch = Vec::with_capacity(self.pending.len());
        let mut bytes = 0;
        for row in self.pending.by_ref() {
            let row = self.exprs.eval(&self.evaluator, &row).await?;
            bytes += row_bytes(&row);
            batch.push(row);
            if bytes > BATCH_BYTES || self.exprs.acts_per_row {
                break;
            }
            if self.exprs.waits {
                self.evaluator.run.breathe().await?;
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
        self.pending.len() == 0 && self.input.is_done()
    }
}
