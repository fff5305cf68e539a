//! Values of expressions that are no constants, for estimates.
//!
//! `at > now() - interval '1 hour'` depends on the time, and `at > '2026-01-01'` of a `timestamptz`
//! on the time zone, so they stay expressions. Estimates use the value that they have while
//! planning.

use std::sync::Arc;

use braid_builtins::Environment;
use braid_types::Datum;

use crate::eval::{EvalContext, eval};
use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::{Node, Scan};

/// Notes in every scan the values of the expressions of a plan.
pub(crate) fn note(root: &mut Node, env: &dyn Environment) {
    let mut found = Vec::new();
    collect(root, env, &mut found);
    if found.is_empty() {
        return;
    }
    let found: Arc<[(Expr, Datum)]> = found.into();
    walk::scans_mut(root, &mut |scan| scan.guesses = found.clone());
}

/// The value of a constant, or the one that an expression has while planning.
pub(crate) fn value<'s>(e: &'s Expr, scan: &'s Scan) -> Option<&'s Datum> {
    match e {
        Expr::Const(value, _) => Some(value),
        e => scan.guesses.iter().find(|(known, _)| known.same(e)).map(|(_, value)| value),
    }
}

fn collect(node: &mut Node, env: &dyn Environment, found: &mut Vec<(Expr, Datum)>) {
    walk::exprs_mut(node, &mut |e| collect_of(e, env, found));
    walk::children_mut(node, &mut |child| collect(child, env, found));
}

fn collect_of(e: &mut Expr, env: &dyn Environment, found: &mut Vec<(Expr, Datum)>) {
    if let Expr::Subquery(subquery) = e {
        collect(Arc::make_mut(&mut subquery.plan), env, found);
    }
    if !can_be_guessed(e) {
        e.for_each_child_mut(&mut |child| collect_of(child, env, found));
        return;
    }
    let context = EvalContext { env, params: &[], outer: &[] };
    // An expression that fails does so when the plan runs.
    if let Ok(value) = eval(e, &[], &context) {
        found.push((e.clone(), value));
    }
}

/// Times that depend on the session or the clock, and on nothing else.
fn can_be_guessed(e: &Expr) -> bool {
    let depends = |e: &Expr| {
        matches!(e, Expr::Column(..) | Expr::Input(..) | Expr::Outer(..) | Expr::Param(..))
    };
    matches!(e, Expr::Call(_) | Expr::Cast(_))
        && e.ty().is_datetime()
        && !e.waits()
        && !e.is_volatile()
        && !e.any(&mut |e| depends(e))
}
