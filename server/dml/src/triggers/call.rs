//! One call of a trigger that was queued, and the run that goes on after calls.

use std::sync::Arc;

use braid_exec::{ExecutionState, TriggerCall};
use braid_types::{Datum, Result};

use crate::triggers::queue::QueuedTrigger;

/// The same run, to go on after statements of triggers: with a number above theirs, if any have
/// run. So it sees what they did, and may write what they wrote.
pub(crate) fn later_run(run: &Arc<ExecutionState>) -> Arc<ExecutionState> {
    let cx = &run.cx;
    if !cx.txn.restarts().has_later(cx.seq) {
        return run.clone();
    }
    let later = cx.renumbered(cx.txn.next_statement(), cx.cancel.clone());
    Arc::new(ExecutionState::new(Arc::new(later), run.params.clone()))
}

/// Fires one trigger.
pub(crate) async fn fire(
    run: &Arc<ExecutionState>,
    queued: &QueuedTrigger,
    tables: Vec<(String, Datum)>,
) -> Result<()> {
    let call = TriggerCall {
        trigger: &queued.planned.trigger,
        function: &queued.planned.function,
        table: &queued.table,
        event: queued.event,
        old: queued.rows.old.clone(),
        new: queued.rows.new.clone(),
        tables,
    };
    run.cx.services.call_trigger(&run.cx, call).await.map(drop)
}
