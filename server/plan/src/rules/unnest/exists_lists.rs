//! `EXISTS (SELECT a, f(b) FROM t)` does not compute its list.
//!
//! Binding keeps the list: its columns decide to which query an aggregate around the subquery
//! belongs, and they must be grouped as any others.

use std::sync::Arc;

use braid_types::Datum;

use crate::rules::walk;
use crate::tree::expr::{Expr, SubqueryKind};
use crate::tree::node::Node;

/// Drops the lists of all EXISTS, in subqueries as well.
pub(crate) fn apply(node: &mut Node) {
    walk::exprs_mut(node, &mut in_expr);
    walk::children_mut(node, &mut apply);
}

fn in_expr(e: &mut Expr) {
    if let Expr::Subquery(subquery) = e {
        let plan = Arc::make_mut(&mut subquery.plan);
        if matches!(subquery.kind, SubqueryKind::Exists) {
            *plan = without_list(std::mem::replace(plan, Node::one_row()));
        }
        apply(plan);
    }
    e.for_each_child_mut(&mut in_expr);
}

/// The rows of a plain select whose columns nobody reads: without its list, and without what
/// changes no more than the order or the number of rows above zero. PostgreSQL computes none of
/// these either.
fn without_list(node: Node) -> Node {
    let positive = |e: &Expr| matches!(e, Expr::Const(Datum::Int(n), _) if *n > 0);
    match node {
        Node::Sort(sort) if is_plain(&sort.input) => without_list(sort.input),
        Node::Distinct(distinct) if is_plain(&distinct.input) => without_list(distinct.input),
        Node::Limit(limit)
            if limit.offset.is_none()
                && limit.ties.is_empty()
                && limit.limit.as_ref().is_none_or(positive)
                && is_plain(&limit.input) =>
        {
            without_list(limit.input)
        }
        Node::Project(mut project) if is_plain(&project.input) => {
            project.exprs.clear();
            Node::Project(project)
        }
        node => node,
    }
}

/// Whether a select neither groups nor computes windows or sets.
fn is_plain(node: &Node) -> bool {
    match node {
        Node::Aggregate(_) | Node::Window(_) | Node::ProjectSet(_) | Node::SetOp(_) => false,
        Node::LockRows(_) | Node::With(_) => false,
        Node::Sort(sort) => is_plain(&sort.input),
        Node::Distinct(distinct) => is_plain(&distinct.input),
        Node::Limit(limit) => is_plain(&limit.input),
        Node::Project(project) => is_plain(&project.input),
        Node::Filter(filter) => is_plain(&filter.input),
        _ => true,
    }
}
