//! Lists of expressions.
//!
//! Whether an expression waits is found once; where none does, evaluation stays on the plain
//! path. Where only subqueries wait whose results do not depend on the row, that is so from the
//! second row on:
//!
//! ```text
//!   v > (SELECT avg(v) FROM t)    first row: waits, and keeps the result    others: v > 4.2
//! ```

use braid_plan::{Expr, eval as plain};
use braid_types::{Datum, Result, Row};

use crate::operator::eval::Evaluator;
use crate::operator::subquery::is_kept_value;

/// Expressions over one row, and whether any of them waits.
pub(crate) struct Exprs {
    /// The expressions.
    pub list: Vec<Expr>,
    /// Whether any of them waits.
    pub waits: bool,
    /// Whether any of them takes advisory locks or sends notifications: it must not be evaluated
    /// for a row too many.
    pub acts_per_row: bool,
    /// Whether they wait only for subqueries that do not depend on the row.
    can_settle: bool,
    /// The same expressions with the results of these subqueries.
    settled: Option<Vec<Expr>>,
}

impl Exprs {
    /// A list of expressions.
    pub(crate) fn new(list: Vec<Expr>) -> Self {
        let waits = list.iter().any(Expr::waits);
        let acts_per_row = waits && list.iter().any(Expr::acts_per_row);
        let can_settle = waits && list.iter().all(waits_for_kept_results);
        Self { list, waits, acts_per_row, can_settle, settled: None }
    }

    /// Puts the results of subqueries in, once all of them are known. To be called after a row has
    /// been evaluated.
    pub(crate) fn settle(&mut self, evaluator: &Evaluator) {
        if !self.can_settle || self.settled.is_some() {
            return;
        }
        let mut list = self.list.clone();
        list.iter_mut().for_each(|e| evaluator.put_kept_results(e));
        self.settled = (!list.iter().any(Expr::waits)).then_some(list);
    }

    /// Forgets these results: another round may have others.
    pub(crate) fn begin_round(&mut self) {
        self.settled = None;
    }

    /// Whether evaluating them may still wait.
    pub(crate) fn may_wait(&self) -> bool {
        self.waits && self.settled.is_none()
    }

    /// What is evaluated.
    fn current(&self) -> &[Expr] {
        self.settled.as_deref().unwrap_or(&self.list)
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
        evaluator.eval_all(self.current(), self.may_wait(), row).await
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
        evaluator.holds(self.current(), self.may_wait(), row).await
    }
}

/// Whether an expression waits for nothing but subqueries whose results are kept.
fn waits_for_kept_results(e: &Expr) -> bool {
    match e {
        Expr::Subquery(subquery) => is_kept_value(subquery),
        Expr::Routine(_) => false,
        e if e.special().is_some() => false,
        e => {
            let mut all = true;
            e.for_each_child(&mut |child| all &= waits_for_kept_results(child));
            all
        }
    }
}
