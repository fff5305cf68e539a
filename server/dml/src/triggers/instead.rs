//! Changes of a view whose INSTEAD OF triggers do the work.

use std::sync::Arc;

use braid_catalog::{Table, TriggerEvent};
use braid_exec::{BoxedOperator, Evaluator, MemoryReservation, Operator, RowChange, row_bytes};
use braid_plan::{Expr, Firing, TableTriggers};
use braid_types::{Error, Result, Row};
use futures_util::future::BoxFuture;

use crate::triggers::queue::TriggerQueue;
use crate::triggers::rows::RowTriggers;

/// A change of a view; it gives RETURNING's rows.
pub(crate) struct InsteadOperator {
    input: BoxedOperator,
    evaluator: Evaluator,
    triggers: RowTriggers,
    width: usize,
    action: Action,
    returning: Vec<Expr>,
    done: bool,
}

/// What becomes of an input row.
enum Action {
    /// These are the values of the new row.
    Insert(Vec<Expr>),
    /// These places of the row get values.
    Update(Vec<(usize, Expr)>),
    /// The row goes.
    Delete,
}

/// What the operator is made of.
struct Parts<'p> {
    table: &'p Arc<Table>,
    triggers: &'p TableTriggers,
    action: Action,
    returning: Vec<Expr>,
}

impl InsteadOperator {
    /// The operator of a change, if its table is a view with INSTEAD OF triggers; else the input
    /// comes back.
    pub(crate) fn new(
        change: &RowChange<'_>,
        input: BoxedOperator,
        evaluator: &Evaluator,
        queue: &Arc<TriggerQueue>,
    ) -> std::result::Result<Self, BoxedOperator> {
        let returned = |list: &[(u32, Expr)]| list.iter().map(|(_, e)| e.clone()).collect();
        let parts = match change {
            RowChange::Insert(n) if n.instead => Parts {
                table: &n.table,
                triggers: &n.triggers,
                action: Action::Insert(n.values.clone()),
                returning: returned(&n.returning),
            },
            RowChange::Update(n) if n.instead => Parts {
                table: &n.table,
                triggers: &n.triggers,
                action: Action::Update(n.assignments.clone()),
                returning: returned(&n.returning),
            },
            RowChange::Delete(n) if n.instead => Parts {
                table: &n.table,
                triggers: &n.triggers,
                action: Action::Delete,
                returning: returned(&n.returning),
            },
            _ => return Err(input),
        };
        Ok(Self {
            input,
            evaluator: evaluator.clone(),
            triggers: RowTriggers::new(evaluator, parts.table, parts.triggers, queue),
            width: parts.table.columns.len(),
            action: parts.action,
            returning: parts.returning,
            done: false,
        })
    }

    fn event(&self) -> TriggerEvent {
        match self.action {
            Action::Insert(_) => TriggerEvent::Insert,
            Action::Update(_) => TriggerEvent::Update,
            Action::Delete => TriggerEvent::Delete,
        }
    }

    async fn run(&mut self) -> Result<Option<Vec<Row>>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let event = self.event();
        let firing = Firing::instead_of_row(event);
        let waits = self.returning.iter().any(Expr::waits);
        let mut held = MemoryReservation::new(&self.evaluator.run);
        let (mut changed, mut result) = (0, Vec::new());
        self.triggers.begin(event).await?;
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.check_interrupts().await?;
            for input in batch {
                let (old, new) = self.rows(&input).await?;
                let Some(row) = self.triggers.fire_row(firing, old.as_ref(), new).await? else {
                    continue;
                };
                changed += 1;
                if self.returning.is_empty() {
                    continue;
                }
                let row = match self.action {
                    Action::Insert(_) => row,
                    Action::Update(_) => [row, input].concat(),
                    Action::Delete => input,
                };
                let row = self.evaluator.eval_all(&self.returning, waits, &row).await?;
                held.take(row_bytes(&row))?;
                result.push(row);
            }
        }
        self.triggers.end(event).await?;
        self.evaluator.run.add_changed(changed);
        Ok(if result.is_empty() { None } else { Some(result) })
    }

    /// The old and the new row of an input row.
    async fn rows(&mut self, input: &Row) -> Result<(Option<Row>, Option<Row>)> {
        let old = || match input.get(..self.width) {
            Some(old) => Ok(old.to_vec()),
            None => Err(Error::internal("a row of a view lacks columns")),
        };
        match &self.action {
            Action::Insert(values) => {
                let waits = values.iter().any(Expr::waits);
                Ok((None, Some(self.evaluator.eval_all(values, waits, input).await?)))
            }
            Action::Update(assignments) => {
                let old = old()?;
                let mut new = old.clone();
                for (place, e) in assignments {
                    new[*place] = self.evaluator.eval(e, input).await?;
                }
                Ok((Some(old), Some(new)))
            }
            Action::Delete => Ok((Some(old()?), None)),
        }
    }
}

impl Operator for InsteadOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.run())
    }
}
