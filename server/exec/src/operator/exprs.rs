//! Lists of expressions, and memory that operators hold.
//!
//! Whether an expression waits is found once; where none does, evaluation stays on the plain
//! path.

use std::sync::Arc;

use braid_plan::Expr;
use braid_plan::eval as plain;
use braid_types::{Datum, Result, Row};

use super::Run;
use super::eval::Evaluator;
use super::run::row_bytes;

/// Expressions over one row, and whether any of them waits.
pub struct Exprs {
    /// The expressions.
    pub list: Vec<Expr>,
    /// Whether any of them waits.
    pub waits: bool,
    /// Whether any of them takes advisory locks or sends notifications: it must not be evaluated
    /// for a row too many.
    pub acts_per_row: bool,
}

impl Exprs {
    /// A list of expressions.
    pub fn new(list: Vec<Expr>) -> Self {
        let waits = list.iter().any(Expr::waits);
        let acts_per_row = waits && list.iter().any(Expr::acts_per_row);
        Self { list, waits, acts_per_row }
    }

    /// No expressions at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The places, if every expression is a column of the input row.
    pub fn places(&self) -> Option<Vec<usize>> {
        self.list
            .iter()
            .map(|e| match e {
                Expr::Input(place, _) => Some(*place),
                _ => None,
            })
            .collect()
    }

    /// Their values on a row.
    pub async fn eval(&self, evaluator: &Evaluator, row: &[Datum]) -> Result<Row> {
        evaluator.eval_all(&self.list, self.waits, row).await
    }

    /// Their values on a row, into a vector that is used again.
    pub async fn eval_into(
        &self,
        evaluator: &Evaluator,
        row: &[Datum],
        out: &mut Row,
    ) -> Result<()> {
        evaluator.let_others().await?;
        out.clear();
        if self.waits {
            for e in &self.list {
                out.push(evaluator.eval(e, row).await?);
            }
            return Ok(());
        }
        let cx = evaluator.context();
        for e in &self.list {
            out.push(plain::eval(e, row, &cx)?);
        }
        Ok(())
    }

    /// Whether all of them hold on a row.
    pub async fn hold(&self, evaluator: &Evaluator, row: &[Datum]) -> Result<bool> {
        evaluator.holds(&self.list, self.waits, row).await
    }
}

/// Memory counted for what an operator keeps; given back when the operator ends.
pub struct Held {
    run: Arc<Run>,
    bytes: usize,
}

impl Held {
    /// Nothing yet.
    pub fn new(run: &Arc<Run>) -> Self {
        Self { run: run.clone(), bytes: 0 }
    }

    /// Counts bytes; 53200 beyond the limit.
    pub fn take(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        self.run.cx.memory.take(bytes)
    }

    /// Counts rows; 53200 beyond the limit.
    pub fn take_rows(&mut self, rows: &[Row]) -> Result<()> {
        self.take(rows.iter().map(|row| row_bytes(row)).sum())
    }

    /// Bytes counted since the last [`Held::clear`].
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Gives everything back.
    pub fn clear(&mut self) {
        self.run.cx.memory.give(std::mem::take(&mut self.bytes));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.clear();
    }
}
