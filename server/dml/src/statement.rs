//! One run of a statement that may change rows.

use std::sync::Arc;

use braid_exec::{
    BoxedOperator, Evaluator, ExecContext, Execution, ExecutionState, Memory, NewRowChanges,
    OuterRow, RowChange, RowChanges, from_kv,
};
use braid_kv::RetryReason;
use braid_plan::PlannedStatement;
use braid_types::{Datum, Result};
use futures_util::future::BoxFuture;

use crate::delete::DeleteOperator;
use crate::foreign_keys::finish::finish;
use crate::insert::InsertOperator;
use crate::merge::MergeOperator;
use crate::partitions::RoutingOperator;
use crate::queues::Queues;
use crate::triggers::{InsteadOperator, TriggerQueue};
use crate::update::UpdateOperator;

/// Prepares a run of a planned statement, be it a query or a change of rows. Nothing is read yet.
/// Fails with a retry error while a definition has closed one of its tables to writers.
pub fn start(
    plan: Arc<PlannedStatement>,
    params: Arc<Vec<Datum>>,
    cx: Arc<ExecContext>,
) -> Result<Execution> {
    let make = || Arc::new(StatementChanges::default()) as Arc<dyn RowChanges>;
    start_with(plan, params, cx, NewRowChanges::Made(make))
}

fn start_with(
    plan: Arc<PlannedStatement>,
    params: Arc<Vec<Datum>>,
    cx: Arc<ExecContext>,
    changes: NewRowChanges,
) -> Result<Execution> {
    if plan.is_write && plan.is_closed {
        return Err(from_kv(braid_kv::Error::retry(RetryReason::TableClosed, None)));
    }
    Execution::start(plan, params, cx, changes)
}

/// A statement that runs in parts: COPY with a batch of rows each.
///
/// Its triggers before the statement fire in the first part. What is to be fired after rows and
/// after the statement waits for the last part, with the transition tables of all parts.
pub struct StatementParts {
    triggers: Arc<TriggerQueue>,
}

impl StatementParts {
    /// A statement without parts yet. The rows that wait for triggers count in this account.
    pub fn new(memory: Arc<Memory>) -> Self {
        Self { triggers: Arc::new(TriggerQueue::counted_in(memory)) }
    }

    /// Prepares the run of a part. The last one fires what has been left.
    pub fn start(
        &self,
        plan: Arc<PlannedStatement>,
        params: Arc<Vec<Datum>>,
        cx: Arc<ExecContext>,
        is_last: bool,
    ) -> Result<Execution> {
        let queues = Queues { triggers: self.triggers.clone(), ..Queues::default() };
        let changes = StatementChanges { queues, leaves_triggers: !is_last };
        start_with(plan, params, cx, NewRowChanges::Given(Arc::new(changes)))
    }
}

/// What changes rows in one run: the operators share what is left to its end.
#[derive(Default)]
struct StatementChanges {
    queues: Queues,
    /// A later part of the statement fires the triggers.
    leaves_triggers: bool,
}

impl RowChanges for StatementChanges {
    fn operator(
        &self,
        change: RowChange<'_>,
        input: BoxedOperator,
        run: &Arc<ExecutionState>,
        outer: OuterRow,
    ) -> Result<BoxedOperator> {
        let evaluator = Evaluator::new(run.clone(), outer);
        let queues = &self.queues;
        let made = InsteadOperator::new(&change, input, &evaluator, &queues.triggers);
        let input = match made {
            Ok(operator) => return Ok(Box::new(operator)),
            Err(input) => input,
        };
        Ok(match change {
            RowChange::Insert(n) if n.routes.is_some() => {
                Box::new(RoutingOperator::new(input, n, evaluator, queues)?)
            }
            RowChange::Insert(n) => Box::new(InsertOperator::new(input, n, evaluator, queues)?),
            RowChange::Update(n) => Box::new(UpdateOperator::new(input, n, evaluator, queues)?),
            RowChange::Delete(n) => Box::new(DeleteOperator::new(input, n, evaluator, queues)?),
            RowChange::Merge(n) => Box::new(MergeOperator::new(input, n, evaluator, queues)?),
        })
    }

    fn holds_result(&self) -> bool {
        let Queues { keys, triggers, .. } = &self.queues;
        keys.is_used() || keys.checks_keys() || triggers.is_used()
    }

    fn finish<'a>(&'a self, run: &'a Arc<ExecutionState>) -> BoxFuture<'a, Result<()>> {
        Box::pin(finish(run, &self.queues, self.leaves_triggers))
    }
}
