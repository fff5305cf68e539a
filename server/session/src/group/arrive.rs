//! Every statement of a session comes by here: it gets its number, and is queued or a barrier.

use std::sync::Arc;
use std::time::Instant;

use braid_catalog::Catalog;
use braid_exec::{NewKeys, StatementSpans, predict_spans};
use braid_kv::{Isolation, StatementWaits};
use braid_plan::StatementKind;
use braid_sql::ast::{Returning, ShowTarget, Statement};
use braid_types::{Datum, Error, Result};

use super::again::Steps;
use super::barrier::NewKeyCheck;
use super::ledger::{Arrival, Depends, WaitsFor};
use super::queue::Queue;
use super::report::shortened;
use super::task::Job;
use super::timeline::{Recorder, Timeline};
use crate::client::Client;
use crate::plan_cache::CachedPlan;
use crate::portal::{Portal, Run};
use crate::prepared::{Prepared, is_planned};
use crate::run::{Ended, read_only};
use crate::session::Session;
use crate::transaction::Block;

/// After so many statements without a barrier their new keys are looked at anyway, so that
/// what is remembered of them has a bound.
const REMEMBERED_MAX: usize = 10_000;

/// A session's part of its group.
pub(crate) struct GroupState {
    pub(super) queue: Arc<Queue>,
    /// The number of the last statement of the transaction.
    number: u32,
    /// Something was queued since the last barrier.
    pub(super) is_engaged: bool,
    pub(super) steps: Steps,
    pub(super) check: Option<NewKeyCheck>,
    /// Tells the constraints of new keys.
    pub(super) catalog: Option<Arc<Catalog>>,
    pub(crate) timeline: Timeline,
}

impl GroupState {
    pub(crate) fn new(queue: Arc<Queue>) -> GroupState {
        GroupState {
            queue,
            number: 0,
            is_engaged: false,
            steps: Steps::default(),
            check: None,
            catalog: None,
            timeline: Timeline::default(),
        }
    }

    /// BEGIN: statements are numbered from 1.
    pub(crate) fn begin(&mut self, record_timeline: bool) {
        self.number = 0;
        self.steps = Steps::default();
        if record_timeline {
            self.timeline.begin();
        }
    }

    /// The transaction has ended.
    pub(crate) fn end(&mut self) {
        self.number = 0;
        self.steps = Steps::default();
        self.catalog = None;
        self.queue.clear();
        self.timeline.end();
    }
}

/// Whether a statement may be acknowledged before it has run.
fn returns_nothing(statement: &Statement) -> bool {
    let returning = match statement {
        Statement::Insert(insert) => &insert.returning,
        Statement::Update(update) => &update.returning,
        Statement::Delete(delete) => &delete.returning,
        _ => return false,
    };
    matches!(returning, Returning::Nothing)
}

impl Session {
    /// Runs a statement, or queues it.
    pub(crate) async fn arrive(
        &mut self,
        portal: &mut Portal,
        rows_max: u64,
        client: &mut dyn Client,
        describe: bool,
    ) -> Result<Ended> {
        let prepared = portal.prepared.clone();
        let statement =
            prepared.statement().ok_or_else(|| Error::internal("an empty statement arrived"))?;
        let is_fresh = matches!(portal.run, Run::New);
        if is_fresh && matches!(statement, Statement::Execute(_)) {
            // What it stands for arrives by itself.
            return Box::pin(self.run_other(portal, rows_max, client, describe)).await;
        }
        let recorder = if is_fresh { self.number_statement(&prepared) } else { None };
        self.check_injected(statement)?;
        if is_fresh && self.block == Block::Active {
            if returns_nothing(statement) {
                return Box::pin(self.enqueue(portal, client, recorder)).await;
            }
            self.group.steps.pass(statement);
        }
        let number = self.group.number;
        if let Some(recorder) = &recorder {
            let unfinished = self.group.queue.with_ledger(|ledger| ledger.unfinished());
            if !unfinished.is_empty() {
                recorder.waits(number, unfinished, "barrier".to_owned());
            }
        }
        let start = client.position();
        self.pass_barrier(statement).await?;
        let started = Instant::now();
        let work = async {
            if is_planned(statement) {
                self.run_planned(portal, rows_max, client, describe).await
            } else {
                Box::pin(self.run_other(portal, rows_max, client, describe)).await
            }
        };
        let result = match &recorder {
            None => work.await,
            Some(recorder) => {
                let waits = Arc::new(StatementWaits::default());
                let result = Box::pin(waits.watch(work)).await;
                recorder.ran(number, started, &waits);
                result
            }
        };
        match self.settle_new_keys().await {
            Ok(()) => result,
            Err(error) => {
                // Nothing of it has left: a flush settles as well.
                client.rewind(start);
                Err(error)
            }
        }
    }

    /// Counts a statement of the transaction, and records it if that is asked for.
    fn number_statement(&mut self, prepared: &Prepared) -> Option<Recorder> {
        self.group.number += 1;
        if !self.active().record_timeline {
            return None;
        }
        let statement = prepared.statement()?;
        let is_part = match self.block {
            Block::Active => !matches!(statement, Statement::Show(ShowTarget::TransactionTimeline)),
            Block::None => is_planned(statement),
            Block::Failed | Block::Released => false,
        };
        is_part.then(|| self.group.timeline.arrived(self.group.number, prepared.text()))
    }

    /// Plans a statement, acknowledges it and queues it.
    async fn enqueue(
        &mut self,
        portal: &mut Portal,
        client: &mut dyn Client,
        recorder: Option<Recorder>,
    ) -> Result<Ended> {
        let queue = self.group.queue.clone();
        let number = self.group.number;
        let (has_failed, remembered) =
            queue.with_ledger(|ledger| (ledger.has_failed(), ledger.remembered()));
        if has_failed || remembered >= REMEMBERED_MAX {
            self.resolve(true).await?;
        }
        let prepared = portal.prepared.clone();
        let (plan, job) = self.job(portal, &prepared, recorder.clone()).await?;
        let bytes = prepared.text().len() + job.params.iter().map(Datum::size_bytes).sum::<usize>();
        if self.wait_for_room(bytes).await? && queue.with_ledger(|ledger| ledger.has_failed()) {
            self.resolve(true).await?;
            // What had failed has run again in another transaction.
            return Box::pin(self.enqueue(portal, client, recorder)).await;
        }
        let spans = predict_spans(&plan.plan, &job.params, &job.cx)
            .unwrap_or_else(|_| StatementSpans::unknown());
        let is_expendable = self.block_state.savepoints.is_empty();
        queue.set_expendable(is_expendable.then(|| job.cx.txn.clone()));
        self.group.steps.push(number, &prepared, &portal.params, bytes);
        self.group.is_engaged = true;
        self.ensure_open().statements += 1;
        let catalog = job.cx.catalog.clone();
        self.group.catalog = Some(catalog.clone());
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
            recorder.waits(number, numbers, reasons(&waits, &catalog));
        }
        self.tag_position = client.position();
        client.command_complete(match plan.plan.kind {
            StatementKind::Update => "UPDATE 0",
            StatementKind::Delete => "DELETE 0",
            StatementKind::Insert | StatementKind::Select => "INSERT 0 0",
        });
        Ok(Ended::Complete)
    }

    /// Plans a statement: errors of names, types and privileges come here.
    async fn job(
        &mut self,
        portal: &Portal,
        prepared: &Prepared,
        recorder: Option<Recorder>,
    ) -> Result<(Arc<CachedPlan>, Job)> {
        let seq = self.ensure_open().txn.next_statement();
        let catalog = self.catalog_at(seq).await?;
        let env = self.environment(&catalog);
        let (plan, params) = self.plan_bound(prepared, &portal.params, &catalog, &env)?;
        if self.modes().read_only {
            return Err(read_only(prepared));
        }
        let mut cx = self.exec_context(seq, catalog, env).renumbered(seq, Arc::default());
        cx.new_keys = NewKeys::AtBarrier;
        let job = Job {
            plan: plan.plan.clone(),
            params,
            cx,
            deadline: self.deadline(),
            server: self.server.clone(),
            recorder,
        };
        Ok((plan, job))
    }

    /// Waits until the queue has room; whether it had to.
    async fn wait_for_room(&mut self, bytes: usize) -> Result<bool> {
        let active = self.active();
        let cancel = self.shared.entry.cancel.clone();
        let queue = self.group.queue.clone();
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
}

/// Why a statement waits, each reason once.
fn reasons(waits: &WaitsFor, catalog: &Arc<Catalog>) -> String {
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
