//! `min` and `max` of an indexed column: the first value of an order instead of all values.
//!
//! ```text
//! Aggregate max(a) ── Scan    becomes    Aggregate max(a) ── Limit 1 ── Sort a DESC ── Scan
//! ```
//!
//! The scan gets an index with that order, so the sort goes. Several aggregates become a cross join
//! of one row each. The aggregate itself stays: it makes the NULL if there is no row.

use braid_builtins::AggregateMeaning;
use braid_catalog::Catalog;
use braid_types::{Datum, SqlType};

use crate::Slot;
use crate::tree::expr::Expr;
use crate::tree::node::{
    AggregateCall, AggregateNode, Join, JoinKind, Limit, Node, Project, Scan, SkippedRows, Sort,
    SortKey,
};

use super::first_rows::take_order;

/// The plan that reads first values; `None` if it would not cost less.
pub(crate) fn as_first_rows(aggregate: &AggregateNode, catalog: &Catalog) -> Option<Node> {
    let is_whole = aggregate.group.is_empty()
        && aggregate.sets.is_empty()
        && aggregate.grouping.is_none()
        && is_table(&aggregate.input);
    if !is_whole || aggregate.aggregates.is_empty() {
        return None;
    }
    let one = |of: &(Slot, AggregateCall)| first_row(&aggregate.input, of, catalog);
    let all: Vec<Node> = aggregate.aggregates.iter().map(one).collect::<Option<_>>()?;
    all.into_iter().reduce(beside)
}

fn first_row(
    input: &Node,
    (slot, call): &(Slot, AggregateCall),
    catalog: &Catalog,
) -> Option<Node> {
    let descending = match call.aggregate.meaning() {
        AggregateMeaning::Least => false,
        AggregateMeaning::Greatest => true,
        _ => return None,
    };
    let [value @ (Expr::Column(..) | Expr::Call(_))] = &call.args[..] else { return None };
    let is_key = |e: &Expr| match e {
        Expr::Call(call) => call.function.name == "braid_sort_key",
        _ => true,
    };
    if call.filter.is_some() || !is_key(value) {
        return None;
    }
    let mut input = input.clone();
    leave_nulls_out(&mut input, value)?;
    let key = SortKey { expr: value.clone(), descending, nulls_first: descending };
    let mut sort = Sort { input, keys: vec![key], limit: None, offset: None };
    if !take_order(&mut sort, 1.0, catalog) {
        return None;
    }
    let limit = Limit {
        input: Node::Sort(Box::new(sort)),
        limit: Some(Expr::Const(Datum::Int(1), SqlType::Int8)),
        offset: None,
        skipped: SkippedRows::Here,
        ties: Vec::new(),
    };
    Some(Node::Aggregate(Box::new(AggregateNode {
        input: Node::Limit(Box::new(limit)),
        group: Vec::new(),
        sets: Vec::new(),
        grouping: None,
        aggregates: vec![(*slot, call.clone())],
        parallel: None,
    })))
}

/// Whether rows are those of a table, or of the partitions of one.
fn is_table(node: &Node) -> bool {
    match node {
        Node::Scan(_) => true,
        Node::Project(project) => matches!(project.input, Node::Scan(_)),
        Node::Append(append) => append.inputs.iter().all(is_table),
        _ => false,
    }
}

/// Leaves out the rows without a value. Partitions give the columns of their table with the same
/// slots. `None` if the value is no column of the table.
fn leave_nulls_out(node: &mut Node, value: &Expr) -> Option<()> {
    match node {
        Node::Scan(scan) => {
            if is_nullable(scan, value) {
                scan.filter.push(Expr::Not(Box::new(Expr::IsNull(Box::new(value.clone())))));
            }
            Some(())
        }
        Node::Project(project) if passes(project, value) => {
            leave_nulls_out(&mut project.input, value)
        }
        Node::Append(append) => {
            append.inputs.iter_mut().try_for_each(|input| leave_nulls_out(input, value))
        }
        _ => None,
    }
}

/// Whether a projection passes a column on under its slot.
fn passes(project: &Project, value: &Expr) -> bool {
    let Expr::Column(slot, _) = value else { return false };
    let is_same = |e: &Expr| matches!(e, Expr::Column(from, _) if from == slot);
    project.exprs.iter().any(|(given, e)| given == slot && is_same(e))
}

fn is_nullable(scan: &Scan, value: &Expr) -> bool {
    let Expr::Column(slot, _) = value else { return true };
    let place = scan.columns.iter().find(|(known, _)| known == slot);
    place.is_none_or(|(_, place)| scan.table.columns[*place].nullable)
}

fn beside(left: Node, right: Node) -> Node {
    let on = Vec::new();
    Node::Join(Box::new(Join { rows: 1.0, ..Join::new(JoinKind::Inner, (left, right), on) }))
}
