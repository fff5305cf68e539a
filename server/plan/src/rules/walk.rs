//! Visiting children and expressions of operators.

use std::sync::Arc;

use braid_types::SqlType;

use crate::tree::expr::{Expr, SubqueryExpr};
use crate::tree::node::{FrameBound, JoinMethod, Node, OnConflict, Recheck, Scan};

/// Calls `f` on each input of an operator.
pub(crate) fn children_mut(node: &mut Node, f: &mut dyn FnMut(&mut Node)) {
    match node {
        Node::Values(_)
        | Node::Scan(_)
        | Node::Virtual(_)
        | Node::Function(_)
        | Node::CteScan(_) => {}
        Node::Filter(n) => f(&mut n.input),
        Node::Project(n) => f(&mut n.input),
        Node::ProjectSet(n) => f(&mut n.input),
        Node::Join(n) => {
            f(&mut n.left);
            f(&mut n.right);
        }
        Node::Aggregate(n) => f(&mut n.input),
        Node::Window(n) => f(&mut n.input),
        Node::Sort(n) => f(&mut n.input),
        Node::LockRows(n) => f(&mut n.input),
        Node::Limit(n) => f(&mut n.input),
        Node::Distinct(n) => f(&mut n.input),
        Node::SetOp(n) => {
            f(&mut n.left);
            f(&mut n.right);
        }
        Node::Append(n) => n.inputs.iter_mut().for_each(f),
        Node::With(n) => {
            for cte in &mut n.ctes {
                f(&mut cte.plan);
                if let Some((term, _)) = &mut cte.recursive {
                    f(term);
                }
            }
            f(&mut n.body);
        }
        Node::Insert(n) => {
            f(&mut n.input);
            n.routes.iter_mut().flat_map(|routes| &mut routes.leaves).for_each(f);
        }
        Node::Update(n) => f(&mut n.input),
        Node::Delete(n) => f(&mut n.input),
        Node::Merge(n) => f(&mut n.input),
    }
}

/// Rewrites each input of an operator.
pub(crate) fn map_children(mut node: Node, f: &mut dyn FnMut(Node) -> Node) -> Node {
    children_mut(&mut node, &mut |child| {
        let taken = std::mem::replace(child, Node::one_row());
        *child = f(taken);
    });
    node
}

/// Calls `f` on each expression of an operator (not of its inputs).
pub(crate) fn exprs_mut(node: &mut Node, f: &mut dyn FnMut(&mut Expr)) {
    match node {
        Node::Values(n) => n.rows.iter_mut().flatten().for_each(f),
        Node::Scan(n) => {
            n.filter.iter_mut().for_each(&mut *f);
            n.access.bounds.iter_mut().for_each(|bound| bound.for_each_expr_mut(f));
            n.bounded_by.iter_mut().for_each(&mut *f);
            n.access.limit.iter_mut().chain(&mut n.access.offset).for_each(&mut *f);
            let pruning = n.pruning.iter_mut().flat_map(|pruning| &mut pruning.bounds);
            pruning.for_each(|bound| bound.for_each_expr_mut(f));
        }
        Node::Virtual(n) => n.filter.iter_mut().for_each(f),
        Node::Function(n) => n.functions.iter_mut().flat_map(|c| &mut c.args).for_each(f),
        Node::Filter(n) => n.predicates.iter_mut().for_each(f),
        Node::Project(n) => n.exprs.iter_mut().map(|(_, e)| e).for_each(f),
        Node::ProjectSet(n) => n.functions.iter_mut().flat_map(|c| &mut c.args).for_each(f),
        Node::Join(n) => {
            n.on.iter_mut().for_each(&mut *f);
            n.outer.iter_mut().for_each(&mut *f);
            if let JoinMethod::Hash { left, right, .. } = &mut n.method {
                left.iter_mut().chain(right).for_each(f);
            }
        }
        Node::Aggregate(n) => {
            n.group.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            for (_, call) in &mut n.aggregates {
                call.args.iter_mut().chain(&mut call.filter).for_each(&mut *f);
                call.order.iter_mut().map(|key| &mut key.expr).for_each(&mut *f);
            }
        }
        Node::Window(n) => {
            n.partition.iter_mut().for_each(&mut *f);
            n.order.iter_mut().map(|key| &mut key.expr).for_each(&mut *f);
            for (_, call) in &mut n.calls {
                call.args.iter_mut().chain(&mut call.filter).for_each(&mut *f);
                for bound in [&mut call.frame.start, &mut call.frame.end] {
                    if let FrameBound::Preceding(e) | FrameBound::Following(e) = bound {
                        f(e);
                    }
                }
            }
        }
        Node::Sort(n) => {
            n.keys.iter_mut().map(|key| &mut key.expr).for_each(&mut *f);
            n.limit.iter_mut().chain(&mut n.offset).for_each(f);
        }
        Node::LockRows(n) => {
            n.recheck.iter_mut().flat_map(Recheck::exprs_mut).for_each(&mut *f);
            n.limit.iter_mut().chain(&mut n.offset).for_each(f);
        }
        Node::Limit(n) => {
            n.limit.iter_mut().chain(&mut n.offset).for_each(&mut *f);
            n.ties.iter_mut().for_each(f);
        }
        Node::Distinct(n) => n.on.iter_mut().for_each(f),
        Node::Append(n) => n.merge.iter_mut().map(|key| &mut key.expr).for_each(f),
        Node::SetOp(_) | Node::With(_) | Node::CteScan(_) => {}
        Node::Merge(n) => {
            n.over_input_mut().for_each(&mut *f);
            n.over_row_mut().for_each(f);
        }
        Node::Insert(_) | Node::Update(_) | Node::Delete(_) => change_exprs(node, f),
    }
}

fn change_exprs(node: &mut Node, f: &mut dyn FnMut(&mut Expr)) {
    match node {
        Node::Insert(n) => {
            n.values.iter_mut().for_each(&mut *f);
            n.generated.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            n.checks.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            n.index_exprs.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            n.returning.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            if let OnConflict::Update { assignments, filter, .. } = &mut n.on_conflict {
                assignments.iter_mut().map(|(_, e)| e).for_each(&mut *f);
                filter.iter_mut().for_each(&mut *f);
            }
            let levels = n.routes.iter_mut().flat_map(|routes| &mut routes.levels);
            levels.flat_map(|level| &mut level.keys).for_each(f);
        }
        Node::Update(n) => {
            n.assignments.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            n.moves.iter_mut().map(|moves| &mut moves.stays).for_each(&mut *f);
            n.destination.iter_mut().flat_map(|found| found.keys_mut()).for_each(&mut *f);
            n.generated.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            n.checks.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            n.index_exprs.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            n.returning.iter_mut().map(|(_, e)| e).for_each(f);
        }
        Node::Delete(n) => {
            n.index_exprs.iter_mut().map(|(_, e)| e).for_each(&mut *f);
            n.returning.iter_mut().map(|(_, e)| e).for_each(f);
        }
        _ => {}
    }
}

/// Calls `f` on each scan below, those of subqueries included.
pub(crate) fn scans_mut(node: &mut Node, f: &mut dyn FnMut(&mut Scan)) {
    if let Node::Scan(scan) = node {
        f(scan);
    }
    exprs_mut(node, &mut |e| subplans_of(e, &mut |plan| scans_mut(plan, f)));
    children_mut(node, &mut |child| scans_mut(child, f));
}

/// Calls `f` on the plan of each subquery in an operator's expressions and below.
pub(crate) fn subplans(node: &mut Node, f: &mut dyn FnMut(&mut Node)) {
    exprs_mut(node, &mut |e| subplans_of(e, f));
    children_mut(node, &mut |child| subplans(child, f));
}

fn subplans_of(e: &mut Expr, f: &mut dyn FnMut(&mut Node)) {
    if let Expr::Subquery(subquery) = e {
        f(Arc::make_mut(&mut subquery.plan));
    }
    // The children of a subquery include the left side of ANY and ALL.
    e.for_each_child_mut(&mut |child| subplans_of(child, f));
}

/// Every slot that an operator and what is below it read, wherever it comes from.
pub(crate) fn slots_read(node: &mut Node, into: &mut Vec<crate::Slot>) {
    exprs_mut(node, &mut |e| expr_slots(e, into));
    children_mut(node, &mut |child| slots_read(child, into));
}

/// Every slot that an expression reads, subqueries' plans included.
pub(crate) fn expr_slots(e: &mut Expr, into: &mut Vec<crate::Slot>) {
    match e {
        Expr::Column(slot, _) => into.push(*slot),
        Expr::Subquery(subquery) => slots_read(Arc::make_mut(&mut subquery.plan), into),
        _ => {}
    }
    e.for_each_child_mut(&mut |child| expr_slots(child, into));
}

/// Calls `f` on each column that an expression reads, subqueries' plans included.
pub(crate) fn columns_mut(e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match e {
        Expr::Column(..) => f(e),
        Expr::Subquery(subquery) => columns_of_plan(Arc::make_mut(&mut subquery.plan), f),
        _ => {}
    }
    e.for_each_child_mut(&mut |child| columns_mut(child, f));
}

/// Calls `f` on each column that an operator and what is below it read.
fn columns_of_plan(node: &mut Node, f: &mut dyn FnMut(&mut Expr)) {
    exprs_mut(node, &mut |e| columns_mut(e, f));
    children_mut(node, &mut |child| columns_of_plan(child, f));
}

/// The columns that an expression reads, subqueries' plans included.
pub(crate) fn columns_read(e: &Expr) -> Vec<(crate::Slot, SqlType)> {
    let mut columns = Vec::new();
    columns_mut(&mut e.clone(), &mut |column| {
        if let Expr::Column(slot, ty) = column {
            columns.push((*slot, ty.clone()));
        }
    });
    columns
}

/// Whether a plan reads no slot that it does not produce.
pub(crate) fn is_closed(node: &mut Node) -> bool {
    let mut read = Vec::new();
    slots_read(node, &mut read);
    let mut produced: Vec<crate::Slot> = Vec::new();
    fn collect(node: &mut Node, produced: &mut Vec<crate::Slot>) {
        produced.extend(node.slots());
        children_mut(node, &mut |child| collect(child, produced));
    }
    collect(node, &mut produced);
    subplans(node, &mut |plan| collect(plan, &mut produced));
    read.iter().all(|slot| produced.contains(slot))
}

/// Whether a subquery reads a row around it, so that it runs for each such row.
pub(crate) fn is_correlated(subquery: &SubqueryExpr) -> bool {
    !is_closed(&mut Node::clone(&subquery.plan))
}
