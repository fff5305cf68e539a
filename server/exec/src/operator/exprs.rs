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
    /// The subqueries that they wait for, if none depends on the row and nothing else waits.
    waits_for: Vec<u32>,
    /// The same expressions with the results of these subqueries.
    settled: Option<Vec<Expr>>,
}

impl Exprs {
    /// A list of expressions.
    pub(crate) fn new(list: Vec<Expr>) -> Self {
        let waits = list.iter().any(Expr::waits);
        let acts_per_row = waits && list.iter().any(Expr::acts_per_row);
        let mut waits_for = Vec::new();
        if waits && !list.iter().all(|e| add_kept_results(e, &mut waits_for)) {
            waits_for.clear();
        }
        Self { list, waits, acts_per_row, waits_for, settled: None }
    }

    /// Puts the results of subqueries in, once all of them are known. To be called after a row has
    /// been evaluated.
    pub(crate) fn settle(&mut self, evaluator: &Evaluator) {
        let is_open = self.settled.is_none() && !self.waits_for.is_empty();
        if !is_open || !evaluator.keeps_results(&self.waits_for) {
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

/// Adds the subqueries that an expression waits for; false if it waits for anything else.
fn add_kept_results(e: &Expr, ids: &mut Vec<u32>) -> bool {
    match e {
        Expr::Subquery(subquery) => {
            ids.push(subquery.id);
            is_kept_value(subquery)
        }
        Expr::Routine(_) => false,
        e if e.special().is_some() => false,
        e => {
            let mut all = true;
            e.for_each_child(&mut |child| all &= add_kept_results(child, ids));
            all
        }
    }
}
