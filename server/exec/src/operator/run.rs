//! What all operators of one run share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use braid_catalog::Id;
use braid_kv::Key;
use braid_plan::Node;
use braid_types::{Datum, Error, Result, Row};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::columns::{ColumnSource, Columns};
use super::cte::CteState;
use super::eval::CachedSubquery;
use super::foreign_keys::Queue;
use super::{BoxedOperator, Operator, OuterRow};
use crate::ExecContext;

/// What all operators of one run share.
pub struct Run {
    /// The transaction and the session.
    pub cx: Arc<ExecContext>,
    /// The statement's parameters.
    pub params: Arc<Vec<Datum>>,
    /// What foreign keys are to look at before the statement ends.
    pub(super) foreign_keys: Queue,
    no_outer: OuterRow,
    changed: AtomicU64,
    /// Of tables that several parts of a WITH change: the rows changed so far, by primary key.
    changed_rows: Mutex<HashMap<Id, HashSet<Key>>>,
    pub(super) ctes: Mutex<HashMap<u32, Weak<CteState>>>,
    pub(super) subqueries: Mutex<HashMap<u32, Arc<CachedSubquery>>>,
    /// For EXPLAIN ANALYZE.
    observed: Option<Mutex<Observed>>,
}

/// What is known of the operators of a watched run.
#[derive(Default)]
struct Observed {
    /// What each operator did, by the place of its node in memory.
    stats: HashMap<usize, Arc<OperatorStats>>,
    /// The places of nodes that are copies, and the places of what they are copies of.
    copies: HashMap<usize, usize>,
}

impl Observed {
    fn place(&self, node: &Node) -> usize {
        let place = std::ptr::from_ref(node) as usize;
        self.copies.get(&place).copied().unwrap_or(place)
    }

    /// Makes a copy of a plan count as the plan.
    fn link(&mut self, node: &Node, copy: &Node) {
        let place = self.place(node);
        self.copies.insert(std::ptr::from_ref(copy) as usize, place);
        let (mut inputs, mut copies) = (Vec::new(), Vec::new());
        node.for_each_child(&mut |input| inputs.push(input));
        copy.for_each_child(&mut |input| copies.push(input));
        for (input, copy) in inputs.into_iter().zip(copies) {
            self.link(input, copy);
        }
    }
}

/// What one operator did.
#[derive(Default)]
pub struct OperatorStats {
    /// The operator's place in the plan: the address of its node.
    pub node: usize,
    /// Rows given.
    pub rows: AtomicU64,
    /// Round trips while it (and its inputs) ran.
    pub round_trips: AtomicU64,
    /// Time while it (and its inputs) ran.
    pub micros: AtomicU64,
    /// How often it was started.
    pub loops: AtomicU64,
}

impl Run {
    /// A run with parameters.
    pub fn new(cx: Arc<ExecContext>, params: Arc<Vec<Datum>>) -> Self {
        Self {
            cx,
            params,
            foreign_keys: Queue::default(),
            no_outer: Arc::from([]),
            changed: AtomicU64::new(0),
            changed_rows: Mutex::default(),
            ctes: Mutex::new(HashMap::new()),
            subqueries: Mutex::new(HashMap::new()),
            observed: None,
        }
    }

    /// The same, with every operator watched.
    #[must_use]
    pub fn watched(mut self) -> Self {
        self.observed = Some(Mutex::default());
        self
    }

    /// What the operators did so far.
    pub fn stats(&self) -> Vec<Arc<OperatorStats>> {
        let observed = self.observed.as_ref().map(Mutex::lock);
        observed.map(|all| all.stats.values().cloned().collect()).unwrap_or_default()
    }

    /// No values from outside.
    pub fn no_outer(&self) -> OuterRow {
        self.no_outer.clone()
    }

    /// Rows that DML has changed.
    pub fn changed_rows(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }

    /// Whether foreign keys have a word in this run.
    pub fn foreign_keys_used(&self) -> bool {
        self.foreign_keys.is_used()
    }

    pub(super) fn add_changed(&self, rows: usize) {
        self.changed.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(super) fn reset_changed(&self, to: u64) {
        self.changed.store(to, Ordering::Relaxed);
    }

    /// Lets the parts of a statement know that several of them change this table.
    pub(super) fn share_changes(&self, table: Id) {
        self.changed_rows.lock().entry(table).or_default();
    }

    /// Whether several parts of the statement change this table.
    pub(super) fn shares_changes(&self, table: Id) -> bool {
        self.changed_rows.lock().contains_key(&table)
    }

    /// Whether a row of such a table has not been changed by this statement before; it has now.
    pub(super) fn first_change(&self, table: Id, key: Key) -> bool {
        self.changed_rows.lock().entry(table).or_default().insert(key)
    }

    /// Lets others have the thread if it is their turn; 57014 once the statement is to stop.
    /// Operators call it once a batch, and in every loop that may go on for long without one.
    pub async fn breathe(&self) -> Result<()> {
        self.cx.breathe().await
    }

    /// Counts rows that are kept in memory; 53200 beyond the limit.
    pub fn count_rows(&self, rows: &[Row]) -> Result<()> {
        let bytes: usize = rows.iter().map(|row| row_bytes(row)).sum();
        self.cx.memory.take(bytes)
    }

    /// Waits for the store, or until the statement is to stop.
    pub async fn wait<T>(&self, work: impl Future<Output = braid_kv::Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            result = work => {
                result.map_err(|error| crate::errors::from_kv_named(error, &self.cx))
            }
            error = self.cx.cancel.stopped() => Err(error),
        }
    }

    /// A copy of a part of the plan, to be built again and again; it counts as the original.
    pub(super) fn copy(&self, node: &Node) -> Arc<Node> {
        let copy = Arc::new(node.clone());
        if let Some(all) = &self.observed {
            all.lock().link(node, &copy);
        }
        copy
    }

    pub(super) fn observed(&self, node: &Node, operator: BoxedOperator) -> BoxedOperator {
        let Some(all) = &self.observed else { return operator };
        let mut all = all.lock();
        let place = all.place(node);
        let new = || Arc::new(OperatorStats { node: place, ..OperatorStats::default() });
        let stats = all.stats.entry(place).or_insert_with(new).clone();
        Box::new(Watched { operator, stats, cx: self.cx.clone(), started: false })
    }
}

/// Roughly the memory of a key in a set.
pub fn key_bytes(key: &[u8]) -> usize {
    48 + key.len()
}

/// Roughly the memory of a row.
pub fn row_bytes(row: &[Datum]) -> usize {
    24 + row.iter().map(Datum::size_bytes).sum::<usize>()
}

struct Watched {
    operator: BoxedOperator,
    stats: Arc<OperatorStats>,
    cx: Arc<ExecContext>,
    started: bool,
}

impl Watched {
    fn start(&mut self) -> (Instant, u64) {
        if !std::mem::replace(&mut self.started, true) {
            self.stats.loops.fetch_add(1, Ordering::Relaxed);
        }
        (Instant::now(), self.cx.txn.round_trips())
    }

    fn finish(&self, (start, trips): (Instant, u64), rows: usize) {
        let trips = self.cx.txn.round_trips() - trips;
        self.stats.round_trips.fetch_add(trips, Ordering::Relaxed);
        self.stats.micros.fetch_add(start.elapsed().as_micros() as u64, Ordering::Relaxed);
        self.stats.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

impl Operator for Watched {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(async move {
            let start = self.start();
            let result = self.operator.next().await;
            let rows = result.as_ref().ok().and_then(Option::as_ref).map_or(0, Vec::len);
            self.finish(start, rows);
            result
        })
    }

    fn columns(&mut self) -> Option<&mut dyn ColumnSource> {
        if self.operator.columns().is_some() { Some(self) } else { None }
    }
}

impl ColumnSource for Watched {
    fn next_columns<'a>(&'a mut self, columns: &'a mut Columns) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let start = self.start();
            let result = match self.operator.columns() {
                Some(source) => source.next_columns(columns).await,
                None => Ok(false),
            };
            let rows = if matches!(result, Ok(true)) { columns.rows } else { 0 };
            self.finish(start, rows);
            result
        })
    }
}

/// A bug: an operator was asked for something it cannot have.
pub(super) fn broken(what: &str) -> Error {
    Error::internal(what)
}
