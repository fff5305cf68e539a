//! LIMIT, OFFSET and WITH TIES.

use braid_plan::{Expr, Limit, SkippedRows};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::key_form::KeyForm;
use crate::operator::{BoxedOperator, Operator};

/// LIMIT and OFFSET; asks its input for nothing once it has enough.
pub(crate) struct LimitOperator {
    input: BoxedOperator,
    limit: Option<Expr>,
    offset: Option<Expr>,
    /// Where the rows of OFFSET are dropped.
    skipped: SkippedRows,
    ties: Exprs,
    /// The form in which ties are compared.
    form: KeyForm,
    evaluator: Evaluator,
    started: bool,
    done: bool,
    skip: u64,
    /// Rows still wanted; `None`: all.
    remaining: Option<u64>,
    /// WITH TIES: the keys of the last row within the limit.
    last: Option<Row>,
}

/// How many rows LIMIT and OFFSET take together from what is below.
pub(crate) async fn rows_taken(
    evaluator: &Evaluator,
    (limit, offset): (Option<&Expr>, Option<&Expr>),
) -> usize {
    let Some(limit) = limit else { return usize::MAX };
    let skipped = match offset {
        Some(offset) => number(evaluator, offset).await,
        None => 0,
    };
    number(evaluator, limit).await.saturating_add(skipped)
}

/// What LIMIT or OFFSET says. NULL and negative numbers, which the limit itself refuses, are as if
/// all rows were taken.
async fn number(evaluator: &Evaluator, e: &Expr) -> usize {
    match evaluator.eval(e, &[]).await {
        Ok(Datum::Int(n)) => usize::try_from(n).unwrap_or(usize::MAX),
        _ => usize::MAX,
    }
}

impl LimitOperator {
    /// A limit over an input.
    pub(crate) fn new(input: BoxedOperator, node: &Limit, evaluator: Evaluator) -> Self {
        Self {
            input,
            limit: node.limit.clone(),
            offset: node.offset.clone(),
            skipped: node.skipped,
            ties: Exprs::new(node.ties.clone()),
            form: KeyForm::of_exprs(&node.ties),
            evaluator,
            started: false,
            done: false,
            skip: 0,
            remaining: None,
            last: None,
        }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if !self.started {
            self.started = true;
            let skip = self.evaluator.count(self.offset.as_ref(), "OFFSET").await?;
            let skip = skip.unwrap_or(0);
            let limit = self.evaluator.count(self.limit.as_ref(), "LIMIT").await?;
            (self.skip, self.remaining) = match self.skipped {
                SkippedRows::Here => (skip, limit),
                SkippedRows::Below => (0, limit),
                SkippedRows::Above => {
                    let taken =
                        |limit: u64| if limit == 0 { 0 } else { limit.saturating_add(skip) };
                    (0, limit.map(taken))
                }
            };
            self.done = self.remaining == Some(0);
        }
        while !self.done {
            let Some(mut batch) = self.input.next().await? else { break };
            self.evaluator.run.check_interrupts().await?;
            if self.skip > 0 {
                let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(batch.len());
                self.skip -= skipped as u64;
                batch.drain(..skipped);
            }
            self.cut(&mut batch).await?;
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        self.done = true;
        Ok(None)
    }

    /// What a row must share with the last one to stay.
    async fn tie(&mut self, row: &Row) -> Result<Row> {
        let mut keys = self.ties.eval(&self.evaluator, row).await?;
        self.form.apply(&mut keys);
        Ok(keys)
    }

    async fn cut(&mut self, batch: &mut Vec<Row>) -> Result<()> {
        let Some(remaining) = self.remaining else { return Ok(()) };
        let within = usize::try_from(remaining).unwrap_or(usize::MAX).min(batch.len());
        let left = remaining - within as u64;
        self.remaining = Some(left);
        if left > 0 {
            return Ok(());
        }
        if self.ties.is_empty() {
            batch.truncate(within);
            self.done = true;
            return Ok(());
        }
        if let Some(last) = within.checked_sub(1) {
            self.last = Some(self.tie(&batch[last]).await?);
        }
        for i in within..batch.len() {
            let keys = self.tie(&batch[i]).await?;
            if self.last.as_ref() != Some(&keys) {
                batch.truncate(i);
                self.done = true;
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Operator for LimitOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
