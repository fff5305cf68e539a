//! Which rows the workers of an aggregate share, and whether that pays.
//!
//! A large scan is divided at values that lie between about equally many rows, by statistics. Where
//! a small input leads to many lookups, workers take its rows instead. How many workers there will
//! be is decided when the plan runs.

use braid_catalog::Catalog;
use braid_types::{Datum, SqlType};

use crate::aggregate::AggregateKind;
use crate::rules::parallel::pipeline::{all_plain, may_be_divided, pipeline};
use crate::rules::{cost, estimate, walk};
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{
    AggregateCall, AggregateNode, Bound, JoinMethod, Node, Parallel, RowSource, Scan,
};

/// No setting lets workers share less work.
const COST_MIN: f64 = 1_000.0;
/// What it costs to merge a group of one worker with that of another.
const MERGE: f64 = 3.0;
/// What it costs to hand a row to another worker.
const HAND_OVER: f64 = 1.0;
/// Merging, and what a single worker does, may have this part of the cost at most.
const SERIAL_MAX: f64 = 0.25;
/// Fewer rows than this are not shared: one of them may lead to most of the work.
const ROWS_MIN: f64 = 32.0;

/// Notes for each aggregate what its workers can share, and for the build sides of hash joins
/// below it whose rows may come in any order.
pub(crate) fn apply(node: &mut Node, catalog: &Catalog) {
    walk::children_mut(node, &mut |child| apply(child, catalog));
    let parallel = match &*node {
        Node::Aggregate(aggregate) if merges(aggregate) => choose(node, aggregate, catalog),
        _ => return,
    };
    if let Node::Aggregate(aggregate) = node {
        aggregate.parallel = parallel;
        choose_for_builds(&mut aggregate.input, catalog);
    }
}

/// Notes for the build sides of hash joins whether workers can read them.
fn choose_for_builds(node: &mut Node, catalog: &Catalog) {
    match node {
        Node::Filter(n) => choose_for_builds(&mut n.input, catalog),
        Node::Project(n) => choose_for_builds(&mut n.input, catalog),
        Node::Join(n) => {
            choose_for_builds(&mut n.left, catalog);
            if matches!(n.method, JoinMethod::Hash { builds_left: false, .. }) && !n.lateral {
                choose_for_builds(&mut n.right, catalog);
                n.parallel_build = choose_for_rows(&n.right, catalog);
            }
        }
        _ => {}
    }
}

/// What workers can share that give the rows of an operator to one that reads all of them.
fn choose_for_rows(top: &Node, catalog: &Catalog) -> Option<Parallel> {
    let cost = cost::of_plan(top, catalog);
    let handing = estimate::rows(top, catalog) * HAND_OVER;
    if cost < COST_MIN || handing > cost * SERIAL_MAX {
        return None;
    }
    let (source, _) = source(top, cost, catalog)?;
    Some(Parallel { source, cost, disjoint: false })
}

/// What the workers of a plan share whose whole work has this cost. If it is the scan at the end,
/// also by which column that is divided.
fn source<'s>(
    top: &'s Node,
    cost: f64,
    catalog: &Catalog,
) -> Option<(RowSource, Option<FirstColumn<'s>>)> {
    let operators = pipeline(top);
    let divided = match operators.last() {
        Some(Node::Scan(scan)) if may_be_divided(scan) => divide(scan, catalog),
        _ => None,
    };
    match divided {
        Some((source, first)) => Some((source, Some(first))),
        None => Some((rows_of(&operators, cost * SERIAL_MAX, catalog)?, None)),
    }
}

/// Whether the groups of several parts of the rows can be merged.
fn merges(aggregate: &AggregateNode) -> bool {
    aggregate.sets.is_empty()
        && aggregate.grouping.is_none()
        && all_plain(aggregate.group.iter().map(|(_, e)| e))
        && aggregate.aggregates.iter().all(|(_, call)| call_merges(call))
}

fn call_merges(call: &AggregateCall) -> bool {
    let AggregateKind::BuiltIn(aggregate) = &call.aggregate else { return false };
    aggregate.merges
        && !aggregate.grows
        && !call.distinct
        && call.order.is_empty()
        && all_plain(call.args.iter().chain(&call.filter))
}

fn choose(node: &Node, aggregate: &AggregateNode, catalog: &Catalog) -> Option<Parallel> {
    let cost = cost::of_plan(node, catalog);
    if cost < COST_MIN {
        return None;
    }
    let (source, first) = source(&aggregate.input, cost, catalog)?;
    let disjoint = first.is_some_and(|first| is_grouped_by(aggregate, first));
    let merging = if disjoint { 0.0 } else { estimate::rows(node, catalog) * MERGE };
    (merging <= cost * SERIAL_MAX).then_some(Parallel { source, cost, disjoint })
}

/// The lowest operator that gives rows enough, of which none may cost more than `cost_max`.
fn rows_of(operators: &[&Node], cost_max: f64, catalog: &Catalog) -> Option<RowSource> {
    let gives_enough = |node: &&Node| estimate::rows(node, catalog) >= ROWS_MIN;
    let place = operators.iter().rposition(gives_enough)?;
    // What is shared by the aggregate alone is not worth it.
    let is_cheap = cost::of_plan(operators[place], catalog) <= cost_max;
    (place > 0 && is_cheap).then_some(RowSource::Rows(place))
}

/// A scan, and the place of the first key column of its index.
type FirstColumn<'s> = (&'s Scan, usize);

fn divide<'s>(scan: &'s Scan, catalog: &Catalog) -> Option<(RowSource, FirstColumn<'s>)> {
    // Below single values of the first column the next one would have to be divided.
    if !matches!(&scan.access.bounds[..], [] | [Bound::Range { .. }]) {
        return None;
    }
    let mut indexes = scan.table.all_indexes();
    let index = indexes.find(|index| index.number == scan.access.index)?;
    let first = index.keys.first().filter(|_| !index.is_inverted())?;
    let place = scan.table.columns.iter().position(|column| column.id == first.column)?;
    let rows = match scan.access.bounds.is_empty() {
        true => estimate::table_rows(&scan.table, catalog),
        false => estimate::rows_inside(scan, 1.0, catalog),
    };
    let bounds: Vec<Datum> = estimate::bounds(&scan.table, place, catalog);
    let is_divided = !bounds.is_empty() && rows >= ROWS_MIN;
    is_divided.then(|| (RowSource::Spans { bounds: bounds.into(), rows }, (scan, place)))
}

/// Whether the rows of a group are all in one part: it has one value of the column by which the
/// scan is divided, and equal values of that type have equal keys.
fn is_grouped_by(aggregate: &AggregateNode, (scan, place): FirstColumn<'_>) -> bool {
    let is_column = |slot: Slot| estimate::is_column_of(&aggregate.input, slot, scan, place);
    let mut keys = aggregate.group.iter();
    keys.any(|(_, e)| matches!(e, Expr::Column(slot, ty) if has_one_key(ty) && is_column(*slot)))
}

fn has_one_key(ty: &SqlType) -> bool {
    use SqlType::{Date, Int2, Int4, Int8, Oid, Timestamp, Timestamptz, Uuid};
    matches!(ty, Date | Int2 | Int4 | Int8 | Oid | Timestamp | Timestamptz | Uuid)
}
