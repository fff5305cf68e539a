//! What all operators of one run share.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use braid_catalog::Id;
use braid_kv::Key;
use braid_plan::{Delete, Insert, Merge, Node, Update};
use braid_types::{Datum, Error, Result, Row};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::ExecContext;
use crate::memory::row_bytes;
use crate::operator::BoxedOperator;
use crate::operator::cte_rows::CteRows;
use crate::operator::instrument::{Instrumented, Observed, OperatorStats};
use crate::operator::scan::kept_view::ScannedViews;
use crate::operator::subquery::CachedSubquery;

/// The values handed in by the enclosing query's row.
pub type OuterRow = Arc<[Datum]>;

/// A part of a plan that changes rows.
pub enum RowChange<'p> {
    /// INSERT.
    Insert(&'p Insert),
    /// UPDATE.
    Update(&'p Update),
    /// DELETE.
    Delete(&'p Delete),
    /// MERGE.
    Merge(&'p Merge),
}

/// What changes rows in one run of a statement. `dml` implements it.
pub trait RowChanges: Send + Sync {
    /// The operator that carries out a change over its input.
    fn operator(
        &self,
        change: RowChange<'_>,
        input: BoxedOperator,
        run: &Arc<ExecutionState>,
        outer: OuterRow,
    ) -> Result<BoxedOperator>;

    /// Whether no row of the result may leave before [`RowChanges::finish`].
    fn holds_result(&self) -> bool;

    /// Answers what the changes ask of foreign keys, after the last row was changed.
    fn finish<'a>(&'a self, run: &'a Arc<ExecutionState>) -> BoxFuture<'a, Result<()>>;
}

/// What changes rows in one run.
pub enum NewRowChanges {
    /// Made when the plan turns out to change rows.
    Made(fn() -> Arc<dyn RowChanges>),
    /// Made before, because other runs share a part of it.
    Given(Arc<dyn RowChanges>),
}

/// What all operators of one run share.
pub struct ExecutionState {
    /// The transaction and the session.
    pub cx: Arc<ExecContext>,
    /// The statement's parameters.
    pub params: Arc<Vec<Datum>>,
    /// Makes `changes`, in a run that may change rows.
    new_changes: Option<NewRowChanges>,
    /// What changes rows, once the plan has shown that it does.
    changes: OnceLock<Arc<dyn RowChanges>>,
    no_outer: OuterRow,
    changed: AtomicU64,
    /// Of tables that several parts of a WITH change: the rows changed so far, by primary key.
    changed_rows: Mutex<HashMap<Id, HashSet<Key>>>,
    pub(crate) ctes: Mutex<HashMap<u32, Weak<dyn CteRows>>>,
    pub(crate) subqueries: Mutex<HashMap<u32, Arc<CachedSubquery>>>,
    pub(crate) views: ScannedViews,
    /// For EXPLAIN ANALYZE.
    observed: Option<Mutex<Observed>>,
}

impl ExecutionState {
    /// A run with parameters that changes no rows.
    pub fn new(cx: Arc<ExecContext>, params: Arc<Vec<Datum>>) -> Self {
        Self {
            cx,
            params,
            new_changes: None,
            changes: OnceLock::new(),
            no_outer: Arc::from([]),
            changed: AtomicU64::new(0),
            changed_rows: Mutex::default(),
            ctes: Mutex::new(HashMap::new()),
            subqueries: Mutex::new(HashMap::new()),
            views: ScannedViews::default(),
            observed: None,
        }
    }

    /// The same, for a plan that may change rows.
    #[must_use]
    pub fn changing_rows(mut self, new_changes: NewRowChanges) -> Self {
        self.new_changes = Some(new_changes);
        self
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

    /// What changes rows in this run.
    pub(crate) fn changes(&self) -> Result<&Arc<dyn RowChanges>> {
        let Some(new_changes) = &self.new_changes else {
            return Err(Error::internal("a run that changes no rows has a plan that does"));
        };
        Ok(self.changes.get_or_init(|| match new_changes {
            NewRowChanges::Made(make) => make(),
            NewRowChanges::Given(changes) => changes.clone(),
        }))
    }

    /// Whether no row of the result may leave before [`ExecutionState::finish`].
    pub fn holds_result(&self) -> bool {
        self.changes.get().is_some_and(|changes| changes.holds_result())
    }

    /// Ends the statement: answers what its changes ask of foreign keys.
    pub async fn finish(self: &Arc<Self>) -> Result<()> {
        match self.changes.get() {
            Some(changes) => changes.finish(self).await,
            None => Ok(()),
        }
    }

    /// Counts rows that were changed, for the command tag.
    pub fn add_changed(&self, rows: usize) {
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
    pub fn shares_changes(&self, table: Id) -> bool {
        self.changed_rows.lock().contains_key(&table)
    }

    /// Whether a row of such a table has not been changed by this statement before; it has now.
    pub fn first_change(&self, table: Id, key: Key) -> bool {
        self.changed_rows.lock().entry(table).or_default().insert(key)
    }

    /// Lets others have the thread if it is their turn; 57014 once the statement is to stop.
    /// Operators call it once a batch, and in every loop that may go on for long without one.
    pub async fn check_interrupts(&self) -> Result<()> {
        self.cx.check_interrupts().await
    }

    /// Counts rows that are kept in memory; 53200 beyond the limit.
    pub fn count_rows(&self, rows: &[Row]) -> Result<()> {
        let bytes: usize = rows.iter().map(|row| row_bytes(row)).sum();
        self.cx.memory.take(bytes)
    }

    /// Waits for the store, or until the statement is to stop.
    pub fn wait<T>(
        &self,
        work: impl Future<Output = braid_kv::Result<T>>,
    ) -> impl Future<Output = Result<T>> {
        self.cx
            .cancel
            .unless_stopped(work)
            .map(|result| result?.map_err(|error| self.cx.kv_error(error)))
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
