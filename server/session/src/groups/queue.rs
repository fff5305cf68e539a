//! What a session and the tasks of its group share: the ledger, and word of every change.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Waker};

use braid_exec::Cancel;
use braid_kv::Transaction;
use braid_types::{Error, Result};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::ledger::{Arrival, Depends, Ledger, WaitsFor};
use crate::compute::{Pool, roam};
use crate::entry::{QueuedStatements, ended};
use crate::retry::reason::is_retryable;

/// Whether queued statements run at once, without the analysis of their dependencies.
///
/// `BRAID_UNSAFE_NO_DEPENDENCIES=1` asks for it in a build with the feature `unsafe-switches`.
/// The test of the analysis must fail with it.
static IGNORE_DEPENDENCIES: LazyLock<bool> = LazyLock::new(|| {
    let is_set = cfg!(feature = "unsafe-switches")
        && std::env::var_os("BRAID_UNSAFE_NO_DEPENDENCIES").is_some_and(|v| v == "1");
    if is_set {
        tracing::warn!("BRAID_UNSAFE_NO_DEPENDENCIES=1: parallel statements give wrong results");
    }
    is_set
});

/// The work of a queued statement.
pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What the queue asks of a statement.
pub(super) trait Startable: Send + Sized + 'static {
    /// Its sequence number in the transaction.
    fn seq(&self) -> u32;

    /// Its switch.
    fn cancel(&self) -> Arc<Cancel>;

    /// The threads for statements that compute for long.
    fn pool(&self) -> Arc<Pool>;

    /// Runs it to its end, which it enters with [`Queue::finish`].
    fn run(self, queue: Arc<Queue<Self>>, number: u32) -> Work;
}

/// A statement that runs.
struct Task {
    cancel: Arc<Cancel>,
    /// Not while its first step is taken on its session's own thread.
    abort: Option<AbortHandle>,
}

struct State<J> {
    ledger: Ledger<J>,
    tasks: HashMap<u32, Task>,
    /// Set while nobody would miss the transaction: it ends with the first retry error, so that
    /// its locks do not wait for the client.
    expendable: Option<Arc<Transaction>>,
    /// A retry error was met.
    is_lost: bool,
}

/// The queue of a session's parallel statements.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    changes: watch::Sender<u64>,
}

impl<J> Default for Queue<J> {
    fn default() -> Queue<J> {
        let state = State {
            ledger: Ledger::default(),
            tasks: HashMap::new(),
            expendable: None,
            is_lost: false,
        };
        Queue { state: Mutex::new(state), changes: watch::Sender::new(0) }
    }
}

impl<J: Startable> Queue<J> {
    /// Looks at the ledger, or changes it.
    pub(super) fn with_ledger<T>(&self, look: impl FnOnce(&mut Ledger<J>) -> T) -> T {
        look(&mut self.state.lock().ledger)
    }

    /// How many statements have not finished.
    pub(super) fn unfinished(&self) -> usize {
        self.with_ledger(|ledger| ledger.load().0)
    }

    /// Hears of every statement that finishes from now on.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Enters a statement and starts what can start. One that touches little takes its first step
    /// here: where the store answers at once that is all of it, and no other thread is asked.
    pub(super) fn add(self: &Arc<Self>, mut arrival: Arrival<J>) -> WaitsFor {
        if *IGNORE_DEPENDENCIES && arrival.depends == Depends::BySpans {
            arrival.depends = Depends::OnNone;
        }
        let mut state = self.state.lock();
        state.ledger.note_seq(arrival.job.seq(), arrival.number, arrival.text.clone());
        let steps_here = arrival.spans.is_narrow() && !*IGNORE_DEPENDENCIES;
        let waits = state.ledger.add(arrival);
        if !steps_here {
            self.start(&mut state);
            return waits;
        }
        // Nothing but the new statement: what was free before has started.
        let startable = state.ledger.startable();
        for (number, job) in &startable {
            state.tasks.insert(*number, Task { cancel: job.cancel(), abort: None });
        }
        drop(state);
        for (number, job) in startable {
            self.step(number, job);
        }
        waits
    }

    /// Takes the first step of a statement; the rest is for a task.
    fn step(self: &Arc<Self>, number: u32, job: J) {
        let (cancel, pool) = (job.cancel(), job.pool());
        let mut work = job.run(self.clone(), number);
        let mut context = Context::from_waker(Waker::noop());
        if work.as_mut().poll(&mut context).is_ready() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let abort = runtime.spawn(roam(work, cancel, pool)).abort_handle();
        match self.state.lock().tasks.get_mut(&number) {
            Some(task) => task.abort = Some(abort),
            // It has finished meanwhile, or nobody is interested any more.
            None => abort.abort(),
        }
    }

    /// With a transaction, a retry error ends it as soon as nothing of the group runs any more.
    pub(super) fn set_expendable(&self, txn: Option<Arc<Transaction>>) {
        self.state.lock().expendable = txn;
    }

    /// Forgets the group: it was reported, or is of no interest any more.
    pub(super) fn clear(&self) {
        let mut state = self.state.lock();
        state.ledger.clear();
        state.expendable = None;
        state.is_lost = false;
    }

    fn start(self: &Arc<Self>, state: &mut State<J>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        for (number, job) in state.ledger.startable() {
            let (cancel, pool) = (job.cancel(), job.pool());
            let work = job.run(self.clone(), number);
            let task = runtime.spawn(roam(work, cancel.clone(), pool));
            state.tasks.insert(number, Task { cancel, abort: Some(task.abort_handle()) });
        }
    }

    /// Enters the end of a statement and starts those that have waited for it.
    pub(super) fn finish(self: &Arc<Self>, number: u32, result: Result<()>) {
        let mut state = self.state.lock();
        state.tasks.remove(&number);
        state.is_lost |= result.as_ref().is_err_and(is_retryable);
        state.ledger.finish(number, result);
        self.start(&mut state);
        let is_over = state.is_lost && state.ledger.load().0 == 0;
        let ended = if is_over { state.expendable.take() } else { None };
        drop(state);
        if let (Some(txn), Ok(runtime)) = (ended, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { txn.rollback().await });
        }
        self.changes.send_modify(|count| *count += 1);
    }

    /// Ends every task where it stands: the session is gone.
    pub(super) fn abort(&self) {
        let mut state = self.state.lock();
        state.ledger.drop_queued(&Error::internal("the session has ended"));
        state.expendable = None;
        let tasks: Vec<Task> = state.tasks.drain().map(|(_, task)| task).collect();
        drop(state);
        for task in tasks {
            // One that computes on a thread of its own is not reached by an abort.
            task.cancel.stop(ended());
            if let Some(abort) = task.abort {
                abort.abort();
            }
        }
    }
}

impl<J: Startable> QueuedStatements for Queue<J> {
    fn stop(&self, error: &Error) -> bool {
        let mut state = self.state.lock();
        let had_work = state.ledger.load().0 > 0;
        state.ledger.drop_queued(error);
        for task in state.tasks.values() {
            task.cancel.stop(error.clone());
        }
        drop(state);
        self.changes.send_modify(|count| *count += 1);
        had_work
    }
}
