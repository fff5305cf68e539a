//! Counters of sequences, outside of transactions.
//!
//! The store keeps how far a counter may have been used; this process takes values from a block
//! that it has reserved there before. After a crash the rest of a block is a gap, and no value
//! comes twice. Two gateways use different blocks.
//!
//! ```text
//!   stored      ……………………………………………| reserved up to here
//!   this process   1 2 3 4 ▲ next ……|
//! ```
//!
//! Rules: a value leaves only after the block that holds it is durable; errors are PostgreSQL's.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use braid_kv::{Database as Kv, TxnOptions, Value};
use braid_types::{Error, Result, SqlState};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::storage::system_keys::counter_key;
use crate::{Id, Sequence};

/// How many values a block has at least.
const BLOCK: i64 = 32;
/// How often a reservation is tried again after a conflict.
const ATTEMPTS_MAX: usize = 100;

/// Why a sequence gave no value.
#[derive(Clone, Debug)]
pub enum SequenceError {
    /// The store failed.
    Kv(braid_kv::Error),
    /// The client's mistake, or the sequence's end.
    Sql(Error),
}

impl From<braid_kv::Error> for SequenceError {
    fn from(error: braid_kv::Error) -> Self {
        SequenceError::Kv(error)
    }
}

impl From<Error> for SequenceError {
    fn from(error: Error) -> Self {
        SequenceError::Sql(error)
    }
}

/// What is stored of a counter: the last value that may be in use.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Stored {
    last: i64,
    called: bool,
}

/// A counter in this process: `last` was given out (if `called`), up to `reserved` may be.
#[derive(Clone, Copy, Debug)]
struct Counter {
    last: i64,
    called: bool,
    reserved: Option<i64>,
}

/// What a session remembers of the sequences it used.
#[derive(Clone, Debug, Default)]
pub struct SequenceValues {
    values: HashMap<Id, i64>,
    last: Option<Id>,
    /// The counters of temporary sequences.
    temporary: HashMap<u64, Counter>,
}

impl SequenceValues {
    /// Remembers a value that `nextval` returned.
    pub fn remember(&mut self, sequence: Id, value: i64) {
        self.values.insert(sequence, value);
        self.last = Some(sequence);
    }

    /// Remembers a value of `setval`; it does not become the last one used.
    pub fn remember_set(&mut self, sequence: Id, value: i64) {
        self.values.insert(sequence, value);
    }

    /// `currval`: 55000 before the first `nextval` of this session.
    pub fn currval(&self, sequence: &Sequence) -> Result<i64> {
        self.values.get(&sequence.id).copied().ok_or_else(|| {
            let name = &sequence.name;
            let message =
                format!("currval of sequence \"{name}\" is not yet defined in this session");
            Error::new(SqlState::ObjectNotInPrerequisiteState, message)
        })
    }

    /// `lastval` and its sequence: 55000 before the first `nextval` of this session, and when the
    /// sequence has been dropped.
    pub fn lastval(&self, is_there: impl Fn(Id) -> bool) -> Result<(Id, i64)> {
        let last = self.last.filter(|id| is_there(*id));
        let value = last.and_then(|id| self.values.get(&id).map(|value| (id, *value)));
        value.ok_or_else(|| {
            let message = "lastval is not yet defined in this session";
            Error::new(SqlState::ObjectNotInPrerequisiteState, message)
        })
    }

    /// DISCARD SEQUENCES.
    pub fn clear(&mut self) {
        self.values.clear();
        self.last = None;
    }

    fn temporary(&self, sequence: &Sequence) -> Counter {
        let known = self.temporary.get(&sequence.counter).copied();
        known.unwrap_or(Counter { last: sequence.first, called: false, reserved: None })
    }

    /// The next value of a temporary sequence. 2200H at its end.
    pub fn next_temporary(&mut self, sequence: &Sequence) -> Result<i64> {
        let last = successor(sequence, &self.temporary(sequence))?;
        let counter = Counter { last, called: true, reserved: None };
        self.temporary.insert(sequence.counter, counter);
        Ok(last)
    }

    /// Sets a temporary sequence. 22003 outside of its bounds.
    pub fn set_temporary(&mut self, sequence: &Sequence, last: i64, called: bool) -> Result<()> {
        check_setval(sequence, last)?;
        let counter = Counter { last, called, reserved: None };
        self.temporary.insert(sequence.counter, counter);
        Ok(())
    }

    /// `last_value` and `is_called` of a temporary sequence.
    pub fn state_temporary(&self, sequence: &Sequence) -> (i64, bool) {
        let counter = self.temporary(sequence);
        (counter.last, counter.called)
    }

    /// Forgets counters of temporary sequences that are gone, or were never committed.
    pub fn retain_temporary(&mut self, sequences: &[Arc<Sequence>]) {
        let stays = |counter: &u64| sequences.iter().any(|known| known.counter == *counter);
        self.temporary.retain(|counter, _| stays(counter));
    }
}

type Shared = Arc<tokio::sync::Mutex<Option<Counter>>>;

/// The counters of this process, shared by all sessions.
pub struct Sequences {
    kv: Kv,
    counters: Mutex<HashMap<u64, Shared>>,
}

/// A number for a new counter, unlike every one before: a restarted or new sequence begins afresh
/// without touching what other transactions still see.
pub fn fresh_counter() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(1, |now| u64::try_from(now.as_nanos()).unwrap_or(1)) >> 1;
    let before = LAST.fetch_max(nanos, Ordering::Relaxed);
    if before >= nanos { LAST.fetch_add(1, Ordering::Relaxed) + 1 } else { nanos }
}

impl Sequences {
    /// The counters kept in that store.
    pub fn new(kv: Kv) -> Arc<Self> {
        Arc::new(Sequences { kv, counters: Mutex::default() })
    }

    fn shared(&self, counter: u64) -> Shared {
        self.counters.lock().entry(counter).or_default().clone()
    }

    /// The next value. 2200H at the end of a sequence that does not cycle.
    pub async fn nextval(&self, sequence: &Sequence) -> Result<i64, SequenceError> {
        let shared = self.shared(sequence.counter);
        let mut slot = shared.lock().await;
        let mut counter = match *slot {
            Some(counter) => counter,
            None => self.load(sequence).await?,
        };
        let mut next = successor(sequence, &counter)?;
        let up = sequence.increment > 0;
        let wraps = counter.called && (next > counter.last) != up;
        let inside = |reserved| if up { next <= reserved } else { next >= reserved };
        if wraps || !counter.reserved.is_some_and(inside) {
            let (first, last) = self.reserve(sequence, &counter).await?;
            next = first;
            counter.reserved = Some(last);
        }
        counter.last = next;
        counter.called = true;
        *slot = Some(counter);
        Ok(next)
    }

    /// Sets the counter. 22003 outside of the sequence's bounds.
    pub async fn setval(
        &self,
        sequence: &Sequence,
        value: i64,
        called: bool,
    ) -> Result<(), SequenceError> {
        check_setval(sequence, value)?;
        let shared = self.shared(sequence.counter);
        let mut slot = shared.lock().await;
        self.write(sequence.counter, |_| Ok((Stored { last: value, called }, ()))).await?;
        *slot = Some(Counter { last: value, called, reserved: None });
        Ok(())
    }

    /// `last_value` and `is_called`, as `SELECT * FROM sequence` shows them.
    pub async fn state(&self, sequence: &Sequence) -> Result<(i64, bool), SequenceError> {
        let shared = self.shared(sequence.counter);
        let slot = shared.lock().await;
        let counter = match *slot {
            Some(counter) => counter,
            None => self.load(sequence).await?,
        };
        Ok((counter.last, counter.called))
    }

    async fn load(&self, sequence: &Sequence) -> Result<Counter, SequenceError> {
        let txn = self.kv.begin(TxnOptions { read_only: true, ..TxnOptions::default() });
        let key = counter_key(sequence.counter);
        let value = txn.get(txn.next_statement(), &key).await;
        txn.rollback().await;
        let stored = match value? {
            Some(value) => parse(&value)?,
            None => Stored { last: sequence.first, called: false },
        };
        Ok(Counter { last: stored.last, called: stored.called, reserved: None })
    }

    /// Makes the block after what this process has used durable; its first and last value.
    /// If another gateway has gone further, the block begins after its own.
    async fn reserve(
        &self,
        sequence: &Sequence,
        counter: &Counter,
    ) -> Result<(i64, i64), SequenceError> {
        let length = sequence.cache.max(BLOCK) - 1;
        let expected = counter.reserved.unwrap_or(counter.last);
        let is_called = counter.called || counter.reserved.is_some();
        self.write(sequence.counter, |before| {
            let from = match before {
                // Equal numbers tell nothing if the first value was not taken when this one looked.
                Some(before) if before.last != expected || before.called != is_called => {
                    Counter { last: before.last, called: before.called, reserved: None }
                }
                _ => *counter,
            };
            let first = successor(sequence, &from)?;
            let end = first.saturating_add(sequence.increment.saturating_mul(length));
            let last = end.clamp(sequence.min, sequence.max);
            Ok((Stored { last, called: true }, (first, last)))
        })
        .await
    }

    /// Changes what is stored, in a small transaction of its own.
    async fn write<T>(
        &self,
        counter: u64,
        change: impl Fn(Option<Stored>) -> Result<(Stored, T)>,
    ) -> Result<T, SequenceError> {
        let key = counter_key(counter);
        let mut attempt = 0;
        loop {
            let txn = self.kv.begin(TxnOptions::default());
            let seq = txn.next_statement();
            let before = match txn.get(seq, &key).await? {
                Some(value) => Some(parse(&value)?),
                None => None,
            };
            let (after, outcome) = change(before)?;
            let json =
                serde_json::to_vec(&after).map_err(|error| Error::internal(error.to_string()))?;
            txn.put(seq, &key, Value::from(json))?;
            match txn.commit_or_error().await {
                Ok(_) => return Ok(outcome),
                Err(error) if error.is_retryable() && attempt < ATTEMPTS_MAX => attempt += 1,
                // The counter's write, not that of the transaction that asks, which has not
                // committed for certain: its client must not be told "unknown".
                Err(braid_kv::Error::Unknown) => {
                    let why = "a sequence could not be written".into();
                    return Err(braid_kv::Error::Stopped(why).into());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn parse(value: &[u8]) -> Result<Stored, SequenceError> {
    serde_json::from_slice(value).map_err(|error| {
        SequenceError::Kv(braid_kv::Error::Corrupt(Arc::from(format!("sequence: {error}"))))
    })
}

/// 22003 for a value outside of the sequence's bounds.
fn check_setval(sequence: &Sequence, value: i64) -> Result<()> {
    let (name, min, max) = (&sequence.name, sequence.min, sequence.max);
    if (min..=max).contains(&value) {
        return Ok(());
    }
    let message =
        format!("setval: value {value} is out of bounds for sequence \"{name}\" ({min}..{max})");
    Err(Error::new(SqlState::NumericValueOutOfRange, message))
}

/// The value after the counter's.
fn successor(sequence: &Sequence, counter: &Counter) -> Result<i64> {
    if !counter.called {
        return Ok(counter.last);
    }
    let next = counter.last.checked_add(sequence.increment);
    let inside = next.filter(|next| (sequence.min..=sequence.max).contains(next));
    if let Some(next) = inside {
        return Ok(next);
    }
    let up = sequence.increment > 0;
    if sequence.cycle {
        return Ok(if up { sequence.min } else { sequence.max });
    }
    let (word, bound) = if up { ("maximum", sequence.max) } else { ("minimum", sequence.min) };
    let name = &sequence.name;
    let message = format!("nextval: reached {word} value of sequence \"{name}\" ({bound})");
    Err(Error::new(SqlState::SequenceGeneratorLimitExceeded, message))
}
