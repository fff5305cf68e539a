//! Measures operators for EXPLAIN ANALYZE.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use braid_plan::Node;
use braid_plan::explain::DiskUse;
use braid_rows::Columns;
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::ExecContext;
use crate::operator::column_source::{ColumnSource, RowTest};
use crate::operator::{BoxedOperator, Operator};

/// What is known of the operators of a watched run.
#[derive(Default)]
pub(crate) struct Observed {
    /// What each operator did, by the place of its node in memory.
    pub(crate) stats: HashMap<usize, Arc<OperatorStats>>,
    /// The places of nodes that are copies, and the places of what they are copies of.
    pub(crate) copies: HashMap<usize, usize>,
}

impl Observed {
    pub(crate) fn place(&self, node: &Node) -> usize {
        let place = std::ptr::from_ref(node) as usize;
        self.copies.get(&place).copied().unwrap_or(place)
    }

    /// Makes a copy of a plan count as the plan.
    pub(crate) fn link(&mut self, node: &Node, copy: &Node) {
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
    /// What it has written to disk, in the start in which that was most.
    pub disk: Mutex<Option<DiskUse>>,
}

pub(crate) struct Instrumented {
    pub(crate) operator: BoxedOperator,
    pub(crate) stats: Arc<OperatorStats>,
    pub(crate) cx: Arc<ExecContext>,
    pub(crate) started: bool,
}

impl Instrumented {
    fn start(&mut self) -> (Instant, u64) {
        if !std::mem::replace(&mut self.started, true) {
            self.stats.loops.fetch_add(1, Ordering::Relaxed);
        }
        (Instant::now(), self.cx.txn.round_trips().count())
    }

    fn finish(&self, (start, trips): (Instant, u64), rows: usize) {
        let trips = self.cx.txn.round_trips().count() - trips;
        self.stats.round_trips.fetch_add(trips, Ordering::Relaxed);
        self.stats.micros.fetch_add(start.elapsed().as_micros() as u64, Ordering::Relaxed);
        self.stats.rows.fetch_add(rows as u64, Ordering::Relaxed);
        if let Some(now) = self.operator.spilled() {
            let mut most = self.stats.disk.lock();
            if most.is_none_or(|most| now.bytes >= most.bytes) {
                *most = Some(now);
            }
        }
    }
}

impl Operator for Instrumented {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(async move {
            let start = self.start();
            let result = self.operator.next().await;
            let rows = result.as_ref().ok().and_then(Option::as_ref).map_or(0, Vec::len);
            self.finish(start, rows);
            result
        })
    }

    fn make_room(&mut self, columns: usize) {
        self.operator.make_room(columns);
    }

    fn columns(&mut self) -> Option<&mut dyn ColumnSource> {
        if self.operator.columns().is_some() { Some(self) } else { None }
    }
}

impl ColumnSource for Instrumented {
    fn next_columns<'a>(
        &'a mut self,
        columns: &'a mut Columns,
        test: Option<&'a mut dyn RowTest>,
    ) -> BoxFuture<'a, Result<bool>> {
        Box::pin(async move {
            let start = self.start();
            let result = match self.operator.columns() {
                Some(source) => match test {
                    Some(test) => {
                        let mut counted = CountedTest { test, rows: 0 };
                        let result = source.next_columns(columns, Some(&mut counted)).await;
                        result.map(|more| (more, counted.rows))
                    }
                    None => {
                        let result = source.next_columns(columns, None).await;
                        result.map(|more| (more, if more { columns.rows } else { 0 }))
                    }
                },
                None => Ok((false, 0)),
            };
            self.finish(start, result.as_ref().map_or(0, |(_, rows)| *rows));
            result.map(|(more, _)| more)
        })
    }
}

/// Counts the rows that a test sees: those are the operator's rows, whatever a join wants of them.
struct CountedTest<'t> {
    test: &'t mut dyn RowTest,
    rows: usize,
}

impl RowTest for CountedTest<'_> {
    fn places(&self) -> &[usize] {
        self.test.places()
    }

    fn mark(&mut self, columns: &Columns, marks: &mut [bool]) {
        self.rows += marks.iter().filter(|mark| **mark).count();
        self.test.mark(columns, marks);
    }
}
