//! Timestamps of PD. Everybody who wants one at the same time shares a request; requests follow
//! each other on one stream without waiting for answers.
//!
//! ```text
//!   callers ──▶ queue ──▶ [3 wanted] [1 wanted] ──▶ PD
//!                           ◀── 101..103 ◀── 104
//! ```
//!
//! After a failure those that wait are asked for again: a timestamp that nobody got does no harm.
//!
//! Stores choose the timestamps of commits in one trip, each above all that it has seen. So a
//! commit may be above what PD gives next, and a read after its answer would not see it. The
//! invariant against that: **what an answer rests on is at most one above what PD has given.**
//! [`Tso::reach`] keeps it, by asking PD until it holds; that is seldom needed.

use super::{dialer::describe, pd::Pd, store_health::LOG_INTERVAL};
use crate::metrics::{nanos, times};
use crate::timestamp::LOGICAL_BITS;
use braid_kv::{Error, Histogram, HistogramValues, Result};
use braid_tikv_proto::pdpb;
use futures_util::stream;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};
use tokio::sync::{mpsc, oneshot};
use tonic::Streaming;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(50);
const BATCH_MAX: usize = 10_000;

type Waiter = oneshot::Sender<u64>;
type Batch = Vec<Waiter>;

/// Where timestamps come from. Cloning it copies a handle.
#[derive(Clone)]
pub(crate) struct Tso {
    queue: mpsc::UnboundedSender<Waiter>,
    patience: Duration,
    trouble: Arc<Mutex<Option<Trouble>>>,
    waits: Arc<Histogram>,
    given: Highest,
    acknowledged: Highest,
}

/// The highest timestamp of its kind so far; 0 at first.
type Highest = Arc<AtomicU64>;

/// Why there are no timestamps, and when that was last said in the log.
struct Trouble {
    why: String,
    said: Instant,
}

impl Tso {
    /// Starts the task that asks PD. It ends with the last handle.
    pub(crate) fn start(pd: Arc<Pd>, patience: Duration) -> Tso {
        let (queue, waiters) = mpsc::unbounded_channel();
        let trouble = Arc::default();
        let waits = Arc::new(times());
        let given = Highest::default();
        let stream = TimestampStream {
            pd,
            waiters,
            sent: VecDeque::new(),
            trouble: Arc::clone(&trouble),
            given: Arc::clone(&given),
        };
        tokio::spawn(stream.run());
        Tso { queue, patience, trouble, waits, given, acknowledged: Highest::default() }
    }

    /// Why there was no timestamp lately.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble
            .lock()
            .as_ref()
            .map(|trouble| format!("PD gives no timestamps: {}", trouble.why))
    }

    /// How long callers have waited.
    pub(crate) fn waits(&self) -> HistogramValues {
        self.waits.read()
    }

    /// The newest timestamp that PD has given to this gateway; 0 at first.
    pub(crate) fn given(&self) -> u64 {
        self.given.load(SeqCst)
    }

    /// The newest timestamp that this gateway has been given or has acknowledged a commit at. It is
    /// at most one above what PD has given; 0 at first.
    pub(crate) fn newest(&self) -> u64 {
        self.given().max(self.acknowledged.load(SeqCst))
    }

    /// Makes the timestamp of a commit one that may be acknowledged.
    ///
    /// Without PD the commit is acknowledged all the same after the patience with PD: it has
    /// taken place, and PD's time has gone on meanwhile.
    pub(crate) async fn acknowledge(&self, ts: u64) {
        match self.reach(ts).await {
            Ok(()) => {
                self.acknowledged.fetch_max(ts, SeqCst);
            }
            Err(error) => {
                tracing::warn!(%error, "a commit is acknowledged without a newer timestamp of PD");
            }
        }
    }

    /// Waits until every timestamp that PD gives from now on is at least `ts`.
    pub(crate) async fn reach(&self, ts: u64) -> Result<()> {
        while self.given().saturating_add(1) < ts {
            self.now().await?;
        }
        Ok(())
    }

    /// A timestamp above every one that was given out before.
    pub(crate) async fn now(&self) -> Result<u64> {
        let (waiter, answer) = oneshot::channel();
        let stopped = || Error::Stopped("the server is shutting down".into());
        self.queue.send(waiter).map_err(|_| stopped())?;
        let asked = Instant::now();
        let answer = tokio::time::timeout(self.patience, answer).await;
        self.waits.observe(nanos(asked.elapsed()));
        match answer {
            Ok(Ok(ts)) => Ok(ts),
            Ok(Err(_)) => Err(stopped()),
            Err(_) => {
                let why = "PD gives no timestamps: no answer";
                let why = self.trouble().unwrap_or_else(|| why.to_owned());
                Err(Error::Unreachable(why.into()))
            }
        }
    }
}

struct TimestampStream {
    pd: Arc<Pd>,
    waiters: mpsc::UnboundedReceiver<Waiter>,
    /// Asked for and not answered, with the time of the question.
    sent: VecDeque<(Batch, Instant)>,
    trouble: Arc<Mutex<Option<Trouble>>>,
    given: Highest,
}

impl TimestampStream {
    async fn run(mut self) {
        loop {
            let mut batch: Batch = self.sent.drain(..).flat_map(|(batch, _)| batch).collect();
            batch.retain(|waiter| !waiter.is_closed());
            if batch.is_empty() {
                match self.waiters.recv().await {
                    Some(waiter) => batch.push(waiter),
                    None => return,
                }
            }
            match self.serve(batch).await {
                Ok(()) => return,
                Err(error) => self.note(error),
            }
            self.pd.forget_leader();
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Notes what is wrong; the log says it at once, and every [`LOG_INTERVAL`] while it lasts.
    fn note(&self, why: String) {
        let mut trouble = self.trouble.lock();
        let said = trouble.take().map(|known| known.said);
        let said = said.filter(|said| said.elapsed() < LOG_INTERVAL);
        if said.is_none() {
            tracing::warn!(why, "no timestamps from PD; trying again");
        }
        *trouble = Some(Trouble { why, said: said.unwrap_or_else(Instant::now) });
    }

    /// Serves from one stream until it fails, or until nobody is left (`Ok`).
    async fn serve(&mut self, first: Batch) -> Result<(), String> {
        let (requests, outgoing) = mpsc::channel::<pdpb::TsoRequest>(64);
        let count = first.len() as u32;
        self.sent.push_back((first, Instant::now()));
        let mut leader = self.pd.leader().await?;
        let header = leader.header();
        let request =
            |count| pdpb::TsoRequest { header: header.clone(), count, ..Default::default() };
        // The server may answer the call only with the first timestamp: ask before waiting for it.
        requests.try_send(request(count)).map_err(|e| e.to_string())?;
        let outgoing = stream::unfold(outgoing, |mut queue| async move {
            queue.recv().await.map(|request| (request, queue))
        });
        let call = leader.client.tso(outgoing);
        let answers = tokio::time::timeout(ANSWER_TIMEOUT, call).await;
        let mut answers: Streaming<pdpb::TsoResponse> = answers
            .map_err(|_| "no answer".to_owned())?
            .map_err(|status| describe(&status))?
            .into_inner();
        loop {
            let oldest = self.sent.front().map(|(_, since)| *since + ANSWER_TIMEOUT);
            let late = async move {
                match oldest {
                    Some(at) => tokio::time::sleep_until(at.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                waiter = self.waiters.recv() => {
                    let Some(waiter) = waiter else { return Ok(()) };
                    let mut batch = vec![waiter];
                    while batch.len() < BATCH_MAX && let Ok(waiter) = self.waiters.try_recv() {
                        batch.push(waiter);
                    }
                    let count = batch.len() as u32;
                    self.sent.push_back((batch, Instant::now()));
                    requests.send(request(count)).await.map_err(|_| "the stream has ended")?;
                }
                answer = answers.message(), if oldest.is_some() => {
                    let answer = answer.map_err(|status| describe(&status))?;
                    self.hand_out(&answer.ok_or("the stream has ended")?)?;
                }
                () = late => return Err("no answer".to_owned()),
            }
        }
    }

    fn hand_out(&mut self, answer: &pdpb::TsoResponse) -> Result<(), String> {
        let (batch, since) = self.sent.pop_front().ok_or("an answer to nothing")?;
        let count = batch.len() as u64;
        let Some(ts) = answer.timestamp.filter(|_| u64::from(answer.count) == count) else {
            self.sent.push_front((batch, since));
            return Err("not as many timestamps as were asked for".to_owned());
        };
        if self.trouble.lock().take().is_some() {
            tracing::info!("timestamps from PD again");
        }
        let last = ((ts.physical as u64) << LOGICAL_BITS) + ts.logical as u64;
        self.given.fetch_max(last, SeqCst);
        for (i, waiter) in batch.into_iter().enumerate() {
            // A waiter may have given up.
            let _ = waiter.send(last + 1 + i as u64 - count);
        }
        Ok(())
    }
}
