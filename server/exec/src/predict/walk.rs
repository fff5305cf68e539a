//! The walk over a plan: what every operator reads, and what is ordered.

use braid_builtins::{Special, Volatility};
use braid_plan::{Expr, Join, JoinMethod, Node, PlannedStatement, Scan, WindowFunction};
use braid_rows::IndexRows;
use braid_types::{Datum, Result};

use crate::ExecContext;
use crate::predict::StatementSpans;
use crate::predict::access::{AccessSpans, access_spans};
use crate::predict::collector::{Cascading, SpanCollector};
use crate::predict::values::{Known, Values};

/// The most spans that one statement collects before they are given up for whole tables.
const SPANS_MAX: usize = 200_000;

/// What a statement may read and write with these parameters. It waits for nothing, and a value
/// that cannot be computed makes the sets wider.
pub fn predict_spans(
    plan: &PlannedStatement,
    params: &[Datum],
    cx: &ExecContext,
) -> Result<StatementSpans> {
    if plan.fires_triggers {
        return Ok(StatementSpans::unknown());
    }
    let mut walk = SpanCollector {
        values: Values { cx, params },
        reads: Vec::new(),
        writes: Vec::new(),
        ordered: false,
        cascades: Cascading::default(),
        broken: None,
    };
    walk.node(&plan.root);
    if let Some(error) = walk.broken {
        return Err(error);
    }
    if walk.reads.len() + walk.writes.len() > SPANS_MAX {
        return Ok(StatementSpans::unknown());
    }
    Ok(StatementSpans {
        reads: walk.reads.into_iter().collect(),
        writes: walk.writes.into_iter().collect(),
        ordered: walk.ordered,
    })
}

impl<'a> SpanCollector<'a> {
    /// An operator and everything below it.
    pub(crate) fn node(&mut self, node: &'a Node) {
        node.for_each_expr(&mut |e| self.expr(e));
        match node {
            Node::Scan(scan) => {
                let found = access_spans(self.values, scan, None);
                self.scan(scan, found);
            }
            Node::LockRows(lock) => {
                // Rows are locked and read by their primary keys, whatever led to them.
                for target in &lock.targets {
                    for part in target.parts.iter().flat_map(|(_, parts)| parts) {
                        self.reads.push(part.table.index_span(&part.table.primary));
                    }
                    if !reads_primary(&lock.input, &target.alias) {
                        self.reads.push(target.table.index_span(&target.table.primary));
                    }
                }
                self.node(&lock.input);
            }
            // Catalog views show the state of the server.
            Node::Virtual(_) => self.ordered = true,
            Node::Join(join) if matches!(join.method, JoinMethod::Lookup) => self.lookup(join),
            Node::Insert(insert) => {
                self.node(&insert.input);
                self.insert(insert);
            }
            Node::Update(update) => {
                self.node(&update.input);
                self.update(update);
            }
            Node::Delete(delete) => {
                self.node(&delete.input);
                self.delete(delete);
            }
            // Which of its rows are inserted, changed and deleted shows only while it runs.
            Node::Merge(merge) => {
                self.node(&merge.input);
                self.ordered = true;
            }
            other => {
                // A function may read and change anything.
                self.ordered |= calls_routine(other);
                other.for_each_child(&mut |child| self.node(child));
            }
        }
    }

    /// What an expression reads, and whether it depends on time or order.
    pub(crate) fn expr(&mut self, e: &'a Expr) {
        match e {
            Expr::Call(call) => self.ordered |= is_ordered(e, call),
            Expr::Subquery(subquery) => self.node(&subquery.plan),
            // A function may read and change anything.
            Expr::Routine(_) => self.ordered = true,
            _ => {}
        }
        e.for_each_child(&mut |child| self.expr(child));
    }

    /// The reads of a scan: its part of the index, and the rows behind entries.
    pub(crate) fn scan(&mut self, scan: &Scan, found: AccessSpans) {
        self.reads.extend(found.spans);
        let Some(index) = scan.table.indexes.iter().find(|i| i.number == scan.access.index) else {
            return;
        };
        let Some(rows) = self.intact(IndexRows::new(&scan.table, index)) else { return };
        let covers = !rows.is_inverted()
            && scan.lock.is_none()
            && scan.columns.iter().all(|(_, place)| rows.has(&scan.table, *place));
        if !covers {
            self.reads.push(scan.table.index_span(&scan.table.primary));
        }
    }

    /// A lookup join reads as many keys as its left side has rows, if those are known.
    fn lookup(&mut self, join: &'a Join) {
        self.node(&join.left);
        let Node::Scan(scan) = &join.right else {
            self.node(&join.right);
            return;
        };
        join.right.for_each_expr(&mut |e| self.expr(e));
        for found in self.lookup_spans(join, scan) {
            self.scan(scan, found);
        }
    }

    /// What a lookup join reads of its right side: once for each left row, if those are known.
    pub(crate) fn lookup_spans(&self, join: &Join, scan: &Scan) -> Vec<AccessSpans> {
        let Some(rows) = self.values.rows(&join.left) else {
            return vec![access_spans(self.values, scan, None)];
        };
        let spans = |row: &Vec<Known>| {
            let outer: Vec<Known> =
                join.outer.iter().map(|e| self.values.value(e, row, None)).collect();
            access_spans(self.values, scan, Some(&outer))
        };
        rows.iter().map(spans).collect()
    }
}

/// Whether functions of users make the rows, or take them as parts of an aggregate.
fn calls_routine(node: &Node) -> bool {
    let functions = match node {
        Node::Function(scan) => &scan.functions,
        Node::ProjectSet(set) => &set.functions,
        Node::Aggregate(node) => {
            return node.aggregates.iter().any(|(_, call)| call.aggregate.is_of_user());
        }
        Node::Window(window) => {
            let is_of_user = |function: &WindowFunction| match function {
                WindowFunction::Aggregate(aggregate, _) => aggregate.is_of_user(),
                WindowFunction::Named(_) => false,
            };
            return window.calls.iter().any(|(_, call)| is_of_user(&call.function));
        }
        _ => return false,
    };
    functions.iter().any(|call| call.routine.is_some())
}

/// Whether a table's primary index is what an input reads, so that its rows are among the spans. A
/// union of scans may read other indexes as well.
fn reads_primary(node: &Node, alias: &str) -> bool {
    match node {
        Node::Scan(scan) => scan.alias == alias && scan.access.index == scan.table.primary.number,
        Node::Append(append) => append.inputs.iter().all(|input| reads_primary(input, alias)),
        other => {
            let mut found = false;
            other.for_each_child(&mut |child| found |= reads_primary(child, alias));
            found
        }
    }
}

/// Whether a call's effect or result depends on time or on what ran before. `now()` is the same in
/// the whole transaction; fresh identifiers and sleeping change nothing for others.
fn is_ordered(e: &Expr, call: &braid_plan::CallExpr) -> bool {
    let name = call.function.name;
    match call.function.volatility {
        Volatility::Immutable => false,
        Volatility::Stable => name == "statement_timestamp",
        Volatility::Volatile => {
            let fresh = ["gen_random_uuid", "uuid_generate_v4", "unique_rowid"].contains(&name);
            !fresh && e.special() != Some(Special::Sleep)
        }
    }
}
