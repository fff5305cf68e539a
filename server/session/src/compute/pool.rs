//! The compute threads.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;

/// With more jobs than this, threads take turns between them.
pub(super) const THREADS_MAX: usize = 64;
/// A thread without work ends after this time.
const IDLE: Duration = Duration::from_secs(10);
/// Address space for the stack of a thread: deep plans are run by recursion here too. Memory is
/// taken only as far as it is used.
const STACK_BYTES: usize = 128 << 20;
/// How much lower the priority of these threads is than that of the process, as a nice value.
#[cfg(target_os = "linux")]
const NICER: i32 = 10;

/// Work that is done in slices.
pub(super) trait Job: Send {
    /// Works for one slice; returns itself if there is more to compute.
    fn slice(self: Box<Self>) -> Option<Box<dyn Job>>;

    /// Goes back to where it came from, for want of a thread.
    fn give_back(self: Box<Self>);
}

#[derive(Default)]
struct State {
    queue: VecDeque<Box<dyn Job>>,
    threads: usize,
    idle: usize,
}

/// The compute threads of a server; they come and go with the work.
pub(crate) struct Pool {
    state: Mutex<State>,
    work: Condvar,
    runtime: Handle,
}

impl Pool {
    /// A pool whose jobs use the current runtime's timers and sockets.
    pub(crate) fn new() -> Arc<Pool> {
        Arc::new(Pool { state: Mutex::default(), work: Condvar::new(), runtime: Handle::current() })
    }

    pub(super) fn submit(self: &Arc<Self>, job: Box<dyn Job>) {
        let mut state = self.state.lock();
        state.queue.push_back(job);
        if state.queue.len() <= state.idle || state.threads >= THREADS_MAX {
            self.work.notify_one();
            return;
        }
        let pool = self.clone();
        let thread = std::thread::Builder::new().name("compute".to_owned()).stack_size(STACK_BYTES);
        match thread.spawn(move || pool.serve()) {
            Ok(_) => state.threads += 1,
            Err(error) => {
                tracing::warn!(%error, "no thread for a statement that computes");
                // Other threads take turns; without any it goes on where it was.
                let job = if state.threads == 0 { state.queue.pop_back() } else { None };
                drop(state);
                if let Some(job) = job {
                    job.give_back();
                }
            }
        }
    }

    fn serve(&self) {
        lower_priority();
        let _runtime = self.runtime.enter();
        while let Some(mut job) = self.next() {
            while let Some(rest) = job.slice() {
                job = self.next_turn(rest);
            }
        }
    }

    /// The next job; `None` after a while without any, and the thread counts no more.
    fn next(&self) -> Option<Box<dyn Job>> {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.queue.pop_front() {
                return Some(job);
            }
            state.idle += 1;
            let waited = self.work.wait_for(&mut state, IDLE);
            state.idle -= 1;
            if waited.timed_out() && state.queue.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }

    /// The job that waits longest for a thread, else the same again.
    fn next_turn(&self, job: Box<dyn Job>) -> Box<dyn Job> {
        let mut state = self.state.lock();
        match state.queue.pop_front() {
            Some(next) => {
                state.queue.push_back(job);
                next
            }
            None => job,
        }
    }
}

/// Those who serve sockets go first.
fn lower_priority() {
    // Elsewhere a thread has no priority of its own.
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{getpriority_process, setpriority_process};
        let lowered = getpriority_process(None)
            .and_then(|nice| setpriority_process(None, (nice + NICER).min(19)));
        if let Err(error) = lowered {
            tracing::debug!(%error, "could not lower the priority of a compute thread");
        }
    }
}
