//! Filters and projections.

use braid_plan::{Expr, Slot};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use super::eval::Evaluator;
use super::exprs::Exprs;
use super::{BoxedOperator, Operator};

/// Rows that satisfy every predicate.
pub struct FilterOperator {
    input: BoxedOperator,
    predicates: Exprs,
    evaluator: Evaluator,
}

impl FilterOperator {
    /// A filter over an input.
    pub fn new(input: BoxedOperator, predicates: &[Expr], evaluator: Evaluator) -> Self {
        Self { input, predicates: Exprs::new(predicates.to_vec()), evaluator }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
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
    if predicates.waits {
        let mut kept = Vec::new();
        for row in batch {
            if predicates.hold(evaluator, &row).await? {
                kept.push(row);
            }
            evaluator.run.breathe().await?;
        }
        return Ok(kept);
    }
    let mut failed = None;
    batch.retain(|row| {
        failed.is_none()
            && evaluator.holds_now(&predicates.list, row).unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(batch),
    }
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
    evaluator: Evaluator,
}

impl ProjectOperator {
    /// A projection of an input.
    pub fn new(input: BoxedOperator, exprs: &[(Slot, Expr)], evaluator: Evaluator) -> Self {
        let exprs = Exprs::new(exprs.iter().map(|(_, e)| e.clone()).collect());
        let moves = exprs.places().filter(|places| {
            places.iter().enumerate().all(|(i, place)| !places[..i].contains(place))
        });
        Self { input, exprs, moves, evaluator }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        let Some(mut batch) = self.input.next().await? else { return Ok(None) };
        self.evaluator.run.breathe().await?;
        if let Some(places) = &self.moves {
            for row in &mut batch {
                move_columns(row, places);
            }
            return Ok(Some(batch));
        }
        for row in &mut batch {
            *row = self.exprs.eval(&self.evaluator, row).await?;
            if self.exprs.waits {
                self.evaluator.run.breathe().await?;
            }
        }
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
        self.input.is_done()
    }
}
