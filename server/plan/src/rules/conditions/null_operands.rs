//! A NULL that is written out decides a strict call or a comparison before the other operands are
//! evaluated, their errors included. PostgreSQL does the same.

use std::sync::Arc;

use braid_builtins::{Eval, Function};
use braid_types::{Datum, SqlType};

use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::Node;

/// Puts NULL in the place of what a NULL decides, subqueries included: their conditions may become
/// those of joins.
pub(crate) fn apply(mut node: Node) -> Node {
    walk::exprs_mut(&mut node, &mut fold);
    walk::map_children(node, &mut apply)
}

fn fold(e: &mut Expr) {
    e.for_each_child_mut(&mut fold);
    if let Expr::Subquery(subquery) = e {
        let plan = Arc::make_mut(&mut subquery.plan);
        *plan = apply(std::mem::replace(plan, Node::one_row()));
        return;
    }
    let ty = match e {
        Expr::Compare(_, a, b) if is_null(a) || is_null(b) => SqlType::Bool,
        Expr::InList(value, items) if is_null(value) && !items.is_empty() => SqlType::Bool,
        Expr::Call(call) if decide_call(call.function, &call.args) => call.returns.clone(),
        _ => return,
    };
    *e = Expr::null(ty);
}

/// Whether the result of a call is NULL because an argument is.
pub(crate) fn decide_call(function: &Function, args: &[Expr]) -> bool {
    function.strict && matches!(function.eval, Eval::Pure(_)) && args.iter().any(is_null)
}

/// Whether an expression is a NULL that is written out.
pub(crate) fn is_null(e: &Expr) -> bool {
    matches!(e, Expr::Const(Datum::Null, _))
}
