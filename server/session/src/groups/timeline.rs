//! `SHOW TRANSACTION TIMELINE`: when each statement of a transaction was queued, ran and
//! finished, and what it waited for. Kept only while `record_timeline` is on.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use braid_kv::StatementWaits;
use braid_types::{Datum, Row, SqlType};
use parking_lot::Mutex;

use super::report::shortened;
use crate::client::ResultColumn;
use crate::observe::traceparent::TraceParent;

/// Statements of one transaction that are recorded, at most.
const STATEMENTS_MAX: usize = 10_000;

/// One statement.
struct Record {
    number: u32,
    text: String,
    queued: Instant,
    started: Option<Instant>,
    finished: Option<Instant>,
    waited_for: Vec<u32>,
    wait_reason: Option<String>,
    lock_micros: u64,
    round_trips: u64,
    trace: Option<TraceParent>,
}

/// The statements of one transaction; tasks write to it side by side.
#[derive(Clone)]
struct Records {
    begun: Instant,
    list: Arc<Mutex<Vec<Record>>>,
}

/// Records what one statement does.
#[derive(Clone)]
pub(crate) struct Recorder {
    records: Records,
    number: u32,
}

impl Recorder {
    fn change(&self, change: impl FnOnce(&mut Record)) {
        let mut list = self.records.list.lock();
        if let Some(record) = list.iter_mut().rev().find(|record| record.number == self.number) {
            change(record);
        }
    }

    /// What the statement has to wait for, and why.
    pub(super) fn waits(&self, waited_for: Vec<u32>, reason: String) {
        self.change(|record| {
            record.waited_for = waited_for;
            record.wait_reason = Some(reason);
        });
    }

    /// The statement has run, since `started`.
    pub(crate) fn ran(&self, started: Instant, waits: &StatementWaits) {
        self.change(|record| {
            record.started = Some(started);
            record.finished = Some(Instant::now());
            record.lock_micros += waits.lock_micros();
            record.round_trips += waits.round_trips();
        });
    }
}

impl Records {
    fn new() -> Records {
        Records { begun: Instant::now(), list: Arc::default() }
    }

    fn arrived(&self, number: u32, text: &str, trace: Option<TraceParent>) -> Recorder {
        let mut list = self.list.lock();
        if list.len() < STATEMENTS_MAX {
            list.push(Record {
                number,
                text: shortened(text),
                queued: Instant::now(),
                started: None,
                finished: None,
                waited_for: Vec::new(),
                wait_reason: None,
                lock_micros: 0,
                round_trips: 0,
                trace,
            });
        }
        Recorder { records: self.clone(), number }
    }

    fn rows(&self) -> VecDeque<Row> {
        let micros = |at: Instant| {
            let since = at.saturating_duration_since(self.begun).as_micros();
            Datum::Int(i64::try_from(since).unwrap_or(i64::MAX))
        };
        let number = |n: u64| Datum::Int(i64::try_from(n).unwrap_or(i64::MAX));
        let row = |record: &Record| {
            let waited_for = record.waited_for.iter().map(|n| Datum::Int(i64::from(*n)));
            vec![
                number(u64::from(record.number)),
                Datum::text(record.text.as_str()),
                micros(record.queued),
                record.started.map_or(Datum::Null, micros),
                record.finished.map_or(Datum::Null, micros),
                Datum::array(SqlType::Int4, waited_for.collect()),
                record.wait_reason.as_deref().map_or(Datum::Null, Datum::text),
                number(record.lock_micros),
                number(record.round_trips),
                record.trace.map_or(Datum::Null, |trace| Datum::text(trace.trace_id_text())),
            ]
        };
        self.list.lock().iter().map(row).collect()
    }
}

/// The timeline of the transaction that is open, or was the last.
#[derive(Default)]
pub(super) struct Timeline {
    records: Option<Records>,
    /// Its transaction has ended; the next statement recorded begins another.
    is_over: bool,
}

impl Timeline {
    /// Records a statement that arrives.
    pub(super) fn arrived(
        &mut self,
        number: u32,
        text: &str,
        trace: Option<TraceParent>,
    ) -> Recorder {
        if std::mem::take(&mut self.is_over) {
            self.records = None;
        }
        self.records.get_or_insert_with(Records::new).arrived(number, text, trace)
    }

    /// The transaction ends; what it has recorded stays.
    pub(super) fn end(&mut self) {
        self.is_over = true;
    }

    /// A transaction begins whose statements are to be recorded from here.
    pub(super) fn begin(&mut self) {
        self.records = Some(Records::new());
        self.is_over = false;
    }

    /// The rows of SHOW TRANSACTION TIMELINE.
    pub(super) fn rows(&self) -> VecDeque<Row> {
        self.records.as_ref().map(Records::rows).unwrap_or_default()
    }
}

/// The columns of SHOW TRANSACTION TIMELINE.
pub(crate) fn columns() -> Arc<[ResultColumn]> {
    let int = |name: &str| ResultColumn::computed(name, SqlType::Int8);
    let text = |name: &str| ResultColumn::computed(name, SqlType::Text);
    [
        int("number"),
        text("statement"),
        int("queued_us"),
        int("started_us"),
        int("finished_us"),
        ResultColumn::computed("waited_for", SqlType::Array(Box::new(SqlType::Int4))),
        text("wait_reason"),
        int("lock_wait_us"),
        int("round_trips"),
        text("trace_id"),
    ]
    .into()
}
