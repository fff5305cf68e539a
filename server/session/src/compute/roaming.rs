//! A future that moves between the runtime and a compute thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread::Result as Caught;
use std::time::Duration;

use braid_types::work::{self, Aside, Place, Polled, Statement};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use super::pool::{Job, Pool};

/// How long a poll may keep a thread of the runtime.
const SHARED_SLICE: Duration = Duration::from_millis(1);
/// How long a job keeps its thread while others wait for one.
const OWN_SLICE: Duration = Duration::from_millis(5);

/// A thread of the runtime. Its other tasks can be handed over only if there are other threads.
fn shared_place() -> Place {
    match Handle::current().runtime_flavor() {
        RuntimeFlavor::MultiThread => {
            let aside: Aside = |work| tokio::task::block_in_place(work);
            Place { slice: SHARED_SLICE, is_shared: true, aside: Some(aside) }
        }
        _ => Place { slice: Duration::MAX, is_shared: true, aside: None },
    }
}

/// A compute thread.
const OWN_PLACE: Place = Place { slice: OWN_SLICE, is_shared: false, aside: None };

type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What comes back from a compute thread.
enum Back<T> {
    /// Its result, or its panic.
    Done(Caught<T>),
    /// It waits for something.
    Waits(Work<T>),
}

struct Away<T> {
    work: Work<T>,
    statement: Arc<dyn Statement>,
    home: oneshot::Sender<Back<T>>,
}

impl<T: Send + 'static> Job for Away<T> {
    fn slice(mut self: Box<Self>) -> Option<Box<dyn Job>> {
        if self.home.is_closed() {
            return None;
        }
        // Work that waits for something is polled again on the runtime.
        let mut cx = Context::from_waker(Waker::noop());
        let (work, statement) = (self.work.as_mut(), &self.statement);
        let poll = AssertUnwindSafe(|| work::poll(statement, OWN_PLACE, work, &mut cx));
        let back = match catch_unwind(poll) {
            Ok(Polled::Exhausted) => return Some(self),
            Ok(Polled::Waiting) => Back::Waits(self.work),
            Ok(Polled::Ready(value)) => Back::Done(Ok(value)),
            Err(panic) => Back::Done(Err(panic)),
        };
        // If nobody waits for it, it is dropped.
        self.home.send(back).ok();
        None
    }

    fn give_back(self: Box<Self>) {
        self.home.send(Back::Waits(self.work)).ok();
    }
}

/// Runs the work of `statement` to its end. `beside` is polled while the work is away, since
/// nothing of the work itself notices anything then.
pub(crate) async fn run<T: Send + 'static>(
    pool: &Arc<Pool>,
    statement: Arc<dyn Statement>,
    mut work: Work<T>,
    beside: impl Future<Output = ()> + Send,
) -> T {
    let place = shared_place();
    let mut beside = std::pin::pin!(beside);
    let mut is_over = false;
    loop {
        let here =
            std::future::poll_fn(|cx| match work::poll(&statement, place, work.as_mut(), cx) {
                Polled::Ready(value) => Poll::Ready(Some(value)),
                Polled::Exhausted => Poll::Ready(None),
                Polled::Waiting => Poll::Pending,
            });
        if let Some(value) = here.await {
            return value;
        }
        let (home, mut back) = oneshot::channel();
        pool.submit(Box::new(Away { work, statement: statement.clone(), home }));
        let back = loop {
            tokio::select! {
                biased;
                back = &mut back => break back,
                () = &mut beside, if !is_over => is_over = true,
            }
        };
        match back.expect("a compute thread answers every job") {
            Back::Done(Ok(value)) => return value,
            Back::Done(Err(panic)) => resume_unwind(panic),
            Back::Waits(rest) => work = rest,
        }
    }
}

/// The task of work beside a session's: it may compute for long without keeping others waiting.
pub(crate) async fn roam(work: Work<()>, statement: Arc<dyn Statement>, pool: Arc<Pool>) {
    run(&pool, statement, work, std::future::pending()).await;
}
