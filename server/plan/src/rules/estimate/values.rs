//! A plan for the values of its parameters alone.

use std::sync::Arc;

use braid_types::Datum;

use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::Node;

/// Puts constants in the place of the parameters of a plan.
pub(crate) fn put(node: &mut Node, values: &[Datum]) {
    walk::exprs_mut(node, &mut |e| put_in(e, values));
    walk::children_mut(node, &mut |child| put(child, values));
}

fn put_in(e: &mut Expr, values: &[Datum]) {
    match e {
        Expr::Param(place, ty) => {
            if let Some(value) = values.get(*place) {
                *e = Expr::Const(value.clone(), ty.clone());
            }
        }
        Expr::Subquery(subquery) => put(Arc::make_mut(&mut subquery.plan), values),
        _ => {}
    }
    e.for_each_child_mut(&mut |child| put_in(child, values));
}
