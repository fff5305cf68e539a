//! The end of a statement: its AFTER triggers in the order in which they were queued.

use std::sync::Arc;

use braid_exec::ExecutionState;
use braid_types::Result;

use crate::triggers::call::fire;
use crate::triggers::deferred::leave;
use crate::triggers::queue::TriggerQueue;

/// Fires what was queued before a mark; whether there was anything. What is deferred is left to the
/// commit.
pub(crate) async fn fire_queued(
    run: &Arc<ExecutionState>,
    queue: &TriggerQueue,
    mark: u64,
) -> Result<bool> {
    let mut any = false;
    while let Some(queued) = queue.pop(mark) {
        any = true;
        run.check_interrupts().await?;
        let constraint = queued.planned.trigger.constraint.as_ref();
        if constraint.is_some_and(|c| run.cx.constraints.is_trigger_deferred(c)) {
            leave(&run.cx, queued);
            continue;
        }
        let tables = queue.tables(&queued);
        fire(run, &queued, tables).await?;
    }
    Ok(any)
}
