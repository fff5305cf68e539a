//! What all operators of one run share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use braid_catalog::Id;
use braid_kv::Key;
use braid_plan::Node;
use braid_types::{Datum, Result, Row};
use parking_lot::Mutex;

use crate::ExecContext;
use crate::change::foreign_keys::queue::Queue;
use crate::operator::basic::with::CteState;
use crate::operator::instrument::{Instrumented, Observed, OperatorStats};
use crate::operator::reservation::row_bytes;
use crate::operator::subquery::CachedSubquery;
use crate::operator::{BoxedOperator, OuterRow};

/// What all operators of one run share.
pub struct ExecutionState {
    /// The transaction and the session.
    pub cx: Arc<ExecContext>,
    /// The statement's parameters.
    pub params: Arc<Vec<Datum>>,
    /// What foreign keys are to look at before the statement ends.
    pub(crate) foreign_keys: Queue,
    no_outer: OuterRow,
    changed: AtomicU64,
    /// Of tables that several parts of a WITH change: the rows changed so far, by primary key.
    changed_rows: Mutex<HashMap<Id, HashSet<Key>>>,
    pub(crate) ctes: Mutex<HashMap<u32, Weak<CteState>>>,
    pub(crate) subqueries: Mutex<HashMap<u32, Arc<CachedSubquery>>>,
    /// For EXPLAIN ANALYZE.
    observed: Option<Mutex<Observed>>,
}

impl ExecutionState {
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

    pub(crate) fn add_changed(&self, rows: usize) {
        self.changed.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(crate) fn reset_changed(&self, to: u64) {
        self.changed.store(to, Ordering::Relaxed);
    }

    /// Lets the parts of a statement know that several of them change this table.
    pub(crate) fn share_changes(&self, table: Id) {
        self.changed_rows.lock().entry(table).or_default();
    }

    /// Whether several parts of the statement change this table.
    pub(crate) fn shares_changes(&self, table: Id) -> bool {
        self.changed_rows.lock().contains_key(&table)
    }

    /// Whether a row of such a table has not been changed by this statement before; it has now.
    pub(crate) fn first_change(&self, table: Id, key: Key) -> bool {
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
    pub(crate) fn copy(&self, node: &Node) -> Arc<Node> {
        let copy = Arc::new(node.clone());
        if let Some(all) = &self.observed {
            all.lock().link(node, &copy);
        }
        copy
    }

    pub(crate) fn observed(&self, node: &Node, operator: BoxedOperator) -> BoxedOperator {
        let Some(all) = &self.observed else { return operator };
        let mut all = all.lock();
        let place = all.place(node);
        let new = || Arc::new(OperatorStats { node: place, ..OperatorStats::default() });
        let stats = all.stats.entry(place).or_insert_with(new).clone();
        Box::new(Instrumented { operator, stats, cx: self.cx.clone(), started: false })
    }
}
