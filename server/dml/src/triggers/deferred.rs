//! Constraint triggers that fire at the commit, or at SET CONSTRAINTS … IMMEDIATE.
//!
//! They are left with the kv transaction under their statement's number, so that they go when its
//! writes are taken back.

use std::any::Any;
use std::sync::Arc;

use braid_catalog::{Id, Relation};
use braid_exec::{ExecContext, ExecutionState};
use braid_kv::Transaction;
use braid_plan::PlannedTrigger;
use braid_types::Result;

use crate::triggers::call::fire;
use crate::triggers::queue::QueuedTrigger;

/// Leaves a trigger to the commit.
pub(crate) fn leave(cx: &ExecContext, queued: QueuedTrigger) {
    cx.txn.deferred().push(cx.seq, Arc::new(queued));
}

/// Whether any trigger is left to the commit.
pub(crate) fn has_deferred(txn: &Transaction) -> bool {
    txn.deferred().has::<QueuedTrigger>()
}

/// Whether triggers of a table are left to the commit.
pub(crate) fn has_deferred_on(txn: &Transaction, table: Id) -> bool {
    let left = txn.deferred().all();
    left.iter()
        .any(|(_, what)| what.downcast_ref::<QueuedTrigger>().is_some_and(|o| o.table.id == table))
}

/// Fires the triggers that are left for some constraints, in the order of their statements; whether
/// there were any.
pub(crate) async fn fire_deferred(
    cx: &Arc<ExecContext>,
    which: &impl Fn(Id) -> bool,
) -> Result<bool> {
    let is_due = |what: &Arc<dyn Any + Send + Sync>| {
        let queued = what.downcast_ref::<QueuedTrigger>();
        let constraint = queued.and_then(|queued| queued.planned.trigger.constraint.as_ref());
        constraint.is_some_and(|constraint| which(constraint.id))
    };
    let mut any = false;
    loop {
        let left = cx.txn.deferred().all().into_iter().map(|(_, what)| what);
        let Some(next) = left.into_iter().find(is_due) else { return Ok(any) };
        any = true;
        // It is taken off first: its function may leave others.
        cx.txn.deferred().retain(|what| !Arc::ptr_eq(what, &next));
        if let Ok(queued) = next.downcast::<QueuedTrigger>() {
            fire_one(cx, &queued).await?;
        }
    }
}

async fn fire_one(cx: &Arc<ExecContext>, queued: &QueuedTrigger) -> Result<()> {
    cx.check_interrupts().await?;
    // What the transaction has defined since counts.
    let Some(relation) = cx.catalog.relation(queued.table.id) else { return Ok(()) };
    let Relation::Table(table) = relation else { return Ok(()) };
    let id = queued.planned.trigger.id;
    let Some(trigger) = table.triggers.iter().find(|trigger| trigger.id == id) else {
        return Ok(());
    };
    let routines = cx.catalog.names().routines();
    let Some(function) = routines.of_trigger(trigger.function).cloned() else { return Ok(()) };
    let events = queued.planned.events.clone();
    let planned = PlannedTrigger { trigger: trigger.clone(), events, function, when: None };
    let now = QueuedTrigger {
        planned: Arc::new(planned),
        table: queued.table.clone(),
        event: queued.event,
        rows: queued.rows.clone(),
    };
    let run = Arc::new(ExecutionState::new(cx.clone(), Arc::default()));
    fire(&run, &now, Vec::new()).await
}
