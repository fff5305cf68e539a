//! Lists of expressions.
//!
//! Whether an expression waits is found once; where none does, evaluation stays on the plain
//! path.

use braid_plan::{Expr, eval as plain};
use braid_types::{Datum, Result, Row};

use crate::operator::eval::Evaluator;

/// Expressions over one row, and whether any of them waits.
pub(crate) struct Exprs {
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
    pub(crate) fn new(list: Vec<Expr>) -> Self {
        let waits = list.iter().any(Expr::waits);
        let acts_per_row = waits && list.iter().any(Expr::acts_per_row);
        Self { list, waits, acts_per_row }
    }

    /// No expressions at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The places, if every expression is a column of the input row.
    pub(crate) fn places(&self) -> Option<Vec<usize>> {
        self.list
            .iter()
            .map(|e| match e {
                Expr::Input(place, _) => Some(*place),
                _ => None,
            })
            .collect()
    }

    /// Their values on a row.
    pub(crate) async fn eval(&self, evaluator: &Evaluator, row: &[Datum]) -> Result<Row> {
        evaluator.eval_all(&self.list, self.waits, row).await
    }

    /// Their values on a row, into a vector that is used again.
    pub(crate) async fn eval_into(
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
    pub(crate) async fn hold(&self, evaluator: &Evaluator, row: &[Datum]) -> Result<bool> {
        evaluator.holds(&self.list, self.waits, row).await
    }
}
