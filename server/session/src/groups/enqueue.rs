//! Planning a statement of a group, acknowledging it, and putting it into the queue.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use braid_catalog::Catalog;
use braid_exec::{NewKeys, StatementSpans, predict_spans};
use braid_kv::Isolation;
use braid_plan::StatementKind;
use braid_types::{Datum, Result};

use crate::client::Client;
use crate::groups::barrier::resolve_group;
use crate::groups::ledger::{Arrival, Depends, WaitsFor};
use crate::groups::report::shortened;
use crate::groups::task::Job;
use crate::groups::timeline::Recorder;
use crate::session::Session;
use crate::statement::context::{exec_context, statement_environment};
use crate::statement::deadline::deadline_of;
use crate::statement::plans::cache::CachedPlan;
use crate::statement::plans::planning::plan_bound;
use crate::statement::portal::{Ended, Portal};
use crate::statement::prepared::{Prepared, read_only};
use crate::transaction::open::{catalog_at, ensure_open};

/// Statements without a barrier after which their new keys are checked anyway. So the memory for
/// them is bounded.
const REMEMBERED_MAX: usize = 10_000;

/// Plans a statement, acknowledges it and queues it.
pub(super) async fn enqueue(
    session: &mut Session,
    portal: &mut Portal,
    client: &mut dyn Client,
    recorder: Option<Recorder>,
) -> Result<Option<Ended>> {
    let queue = session.group.queue.clone();
    let number = session.group.number;
    let (has_failed, remembered) =
        queue.with_ledger(|ledger| (ledger.has_failed(), ledger.remembered()));
    if has_failed || remembered >= REMEMBERED_MAX {
        resolve_group(session, true).await?;
    }
    let prepared = portal.prepared.clone();
    let (plan, mut job) = plan_job(session, portal, &prepared, recorder.clone()).await?;
    if plan.plan.calls_routine || plan.plan.fires_triggers {
        // The statements of its routines and triggers get their numbers when they run: none may be
        // queued after it.
        return Ok(None);
    }
    let bytes = prepared.text().len() + job.params.iter().map(Datum::size_bytes).sum::<usize>();
    if wait_for_room(session, bytes).await? && queue.with_ledger(|ledger| ledger.has_failed()) {
        resolve_group(session, true).await?;
        // What had failed has run again in another transaction.
        return Box::pin(enqueue(session, portal, client, recorder)).await;
    }
    let spans = predict_spans(&plan.plan, &job.params, &job.cx)
        .unwrap_or_else(|_| StatementSpans::unknown());
    let is_expendable = session.block_state.savepoints.is_empty();
    queue.set_expendable(is_expendable.then(|| job.cx.txn.clone()));
    session.group.steps.push(number, &prepared, &portal.params, bytes);
    session.group.is_engaged = true;
    ensure_open(session).statements += 1;
    let catalog = job.cx.catalog.clone();
    session.group.catalog = Some(catalog.clone());
    job.running = session.observer.running.take();
    let is_serial = job.cx.txn.isolation() == Isolation::ReadCommitted;
    let waits = queue.add(Arrival {
        number,
        text: shortened(prepared.text()),
        spans,
        bytes,
        depends: if is_serial { Depends::OnAll } else { Depends::BySpans },
        job,
    });
    if let Some(recorder) = &recorder
        && !waits.is_empty()
    {
        let numbers = waits.iter().map(|(number, _)| *number).collect();
        recorder.waits(numbers, reasons(&waits, &catalog));
    }
    session.tag_mark = client.mark();
    client.command_complete(match plan.plan.kind {
        StatementKind::Update => "UPDATE 0",
        StatementKind::Delete => "DELETE 0",
        StatementKind::Insert | StatementKind::Merge | StatementKind::Select => "INSERT 0 0",
    });
    Ok(Some(Ended::Complete))
}

/// Plans a statement: errors of names, types and privileges come here.
async fn plan_job(
    session: &mut Session,
    portal: &Portal,
    prepared: &Prepared,
    recorder: Option<Recorder>,
) -> Result<(Arc<CachedPlan>, Job)> {
    let seq = ensure_open(session).txn.next_statement();
    let catalog = catalog_at(session, seq).await?;
    let env = statement_environment(session, &catalog);
    let (plan, params) = plan_bound(session, prepared, &portal.params, &catalog, &env)?;
    if session.shared.modes().read_only {
        return Err(read_only(prepared));
    }
    let mut cx = exec_context(session, seq, catalog, env).renumbered(seq, Arc::default());
    cx.new_keys = NewKeys::AtBarrier;
    let job = Job {
        plan: plan.plan.clone(),
        params,
        cx,
        deadline: deadline_of(session),
        engine: session.engine.clone(),
        entry: session.shared.entry.clone(),
        recorder,
        running: None,
        retries: AtomicU32::new(0),
    };
    Ok((plan, job))
}

/// Waits until the queue has room; whether it had to.
async fn wait_for_room(session: &mut Session, bytes: usize) -> Result<bool> {
    let active = session.active();
    let cancel = session.shared.entry.cancel.clone();
    let queue = session.group.queue.clone();
    let mut changes = queue.changes();
    let mut has_waited = false;
    loop {
        let ((count, held), failed) =
            queue.with_ledger(|ledger| (ledger.load(), ledger.has_failed()));
        let is_free = count < active.parallel_statements_max
            && held.saturating_add(bytes) <= active.parallel_bytes_max;
        if failed || count == 0 || is_free {
            return Ok(has_waited);
        }
        has_waited = true;
        tokio::select! {
            biased;
            error = cancel.stopped() => return Err(error),
            _ = changes.changed() => {}
        }
    }
}

/// Why a statement waits, each reason once.
pub(super) fn reasons(waits: &WaitsFor, catalog: &Arc<Catalog>) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for (_, dependency) in waits {
        let reason = match dependency {
            Some(dependency) => dependency.describe(catalog),
            None => "read committed runs in order".to_owned(),
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.join("; ")
}
