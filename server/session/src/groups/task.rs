//! One queued statement in its task.
//!
//! A conflict is met here as elsewhere: the statement's writes and reads are forgotten, the
//! snapshot moves forward if nothing that others of the transaction have read has changed, and
//! it runs again under a new number. Statements that depend on it have not started, so theirs
//! become higher still.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use braid_exec::{Cancel, ExecContext};
use braid_kv::{Isolation, Seq, StatementWaits};
use braid_plan::PlannedStatement;
use braid_types::{Datum, Error, Result};

use super::queue::{Queue, Startable, Work};
use super::timeline::Recorder;
use crate::compute::Pool;
use crate::engine::Engine;
use crate::entry::SessionEntry;
use crate::observe::finish::finish;
use crate::observe::running::Running;
use crate::retry::driver::{Repeat, run_until_done};
use crate::retry::limits::Limits;
use crate::retry::reason::{is_closed, is_restart};

/// Rows asked for at a time; such statements have none to give.
const BATCH_ROWS: usize = 1024;

/// What a queued statement needs to run.
pub(super) struct Job {
    pub plan: Arc<PlannedStatement>,
    pub params: Arc<Vec<Datum>>,
    /// Its number, its switch, and what it may use.
    pub cx: ExecContext,
    /// When it has to be done: `statement_timeout` counts from its arrival.
    pub deadline: Option<tokio::time::Instant>,
    pub engine: Arc<Engine>,
    pub entry: Arc<SessionEntry>,
    pub recorder: Option<Recorder>,
    /// Its measurement.
    pub running: Option<Running>,
    /// How often it has run again.
    pub retries: AtomicU32,
}

impl Startable for Job {
    fn seq(&self) -> u32 {
        self.cx.seq.number()
    }

    fn cancel(&self) -> Arc<Cancel> {
        self.cx.cancel.clone()
    }

    fn pool(&self) -> Arc<Pool> {
        self.engine.compute.clone()
    }

    fn run(self, queue: Arc<Queue<Job>>, number: u32) -> Work {
        Box::pin(run(queue, number, self))
    }
}

/// Enters the end of the statement, however its task ends.
struct Finish {
    queue: Arc<Queue<Job>>,
    number: u32,
    result: Option<Result<()>>,
}

impl Drop for Finish {
    fn drop(&mut self) {
        let gone = || Err(Error::internal("the task of a statement ended before it"));
        let result = self.result.take().unwrap_or_else(gone);
        self.queue.finish(self.number, result);
    }
}

/// Runs a statement to its end.
async fn run(queue: Arc<Queue<Job>>, number: u32, mut job: Job) {
    let running = job.running.take();
    let is_logged = running.as_ref().is_some_and(|running| running.logged.is_some());
    let mut end = Finish { queue: queue.clone(), number, result: None };
    let timeout = async {
        match job.deadline {
            Some(deadline) => tokio::time::sleep_until(deadline).await,
            None => std::future::pending().await,
        }
    };
    let waits = Arc::new(StatementWaits::default());
    let started = Instant::now();
    // Kept apart: this future is moved several times on its way to its task.
    let work = Box::pin(attempts(&queue, number, &job));
    let work = async {
        match job.recorder.is_some() || is_logged {
            true => waits.watch(work).await,
            false => work.await,
        }
    };
    let result = tokio::select! {
        biased;
        result = work => result,
        error = job.cx.cancel.stopped() => Err(error),
        () = timeout => Err(job.engine.statement_timeout()),
    };
    if let Some(recorder) = &job.recorder {
        recorder.ran(started, &waits);
    }
    if let Some(running) = running {
        measured(&job, running, &waits, result.as_ref().err());
    }
    end.result = Some(result);
}

/// Ends the measurement of a statement.
fn measured(job: &Job, mut running: Running, waits: &StatementWaits, error: Option<&Error>) {
    if let Some(logged) = &mut running.logged {
        logged.retries = job.retries.load(Relaxed);
        logged.lock_micros += waits.lock_micros();
        logged.round_trips += waits.round_trips();
    }
    finish(&job.engine, &job.entry, &running, error);
}

async fn attempts(queue: &Arc<Queue<Job>>, number: u32, job: &Job) -> Result<()> {
    let txn = &job.cx.txn;
    let mut seq = job.cx.seq;
    // Behind a statement that has run again only a new number is high enough. At READ COMMITTED
    // the number brings the snapshot.
    let is_late = queue.with_ledger(|ledger| ledger.renumbered);
    if is_late || txn.isolation() == Isolation::ReadCommitted {
        txn.snapshots().release(seq);
        seq = txn.next_statement();
        queue.with_ledger(|ledger| ledger.note_again(seq.number(), number));
    }
    run_until_done(&mut Queued { queue, number, job, seq }).await
}

/// One queued statement, which runs again under a new number.
struct Queued<'a> {
    queue: &'a Arc<Queue<Job>>,
    number: u32,
    job: &'a Job,
    seq: Seq,
}

impl Repeat for Queued<'_> {
    type Output = ();
    const LIMITS: Limits = Limits::STEP;

    async fn attempt(&mut self) -> Result<()> {
        once(self.job, self.seq).await?;
        self.job.cx.services.advisory_locks().settle_statement();
        self.job.cx.txn.snapshots().release(self.seq);
        Ok(())
    }

    fn may_repeat(&mut self, error: &Error) -> bool {
        // At REPEATABLE READ others may have read at the snapshot that would have to move.
        is_restart(error)
            && !is_closed(error)
            && self.job.cx.txn.isolation() != Isolation::RepeatableRead
            && self.job.cx.services.advisory_locks().may_run_again(Some(self.seq), error)
    }

    async fn begin_again(&mut self, error: Error, attempt: u32) -> Result<()> {
        if attempt > 3 {
            tokio::time::sleep(Duration::from_millis(u64::from(attempt).min(50))).await;
        }
        let cx = &self.job.cx;
        let again = cx.txn.restarts().statement(self.seq).await;
        let Ok(again) = again else { return Err(error) };
        cx.services.advisory_locks().undo_statement(self.seq);
        self.seq = again;
        self.job.engine.counters.server_retries.add(&error);
        self.job.retries.fetch_add(1, Relaxed);
        self.queue.with_ledger(|ledger| ledger.note_again(again.number(), self.number));
        Ok(())
    }
}

async fn once(job: &Job, seq: Seq) -> Result<()> {
    let cx = Arc::new(job.cx.renumbered(seq, job.cx.cancel.clone()));
    let mut execution = braid_dml::start(job.plan.clone(), job.params.clone(), cx)?;
    while !execution.next(BATCH_ROWS).await?.is_empty() {}
    Ok(())
}
