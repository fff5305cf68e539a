//! Whether a plan with parameters does for literals in their places.
//!
//! A statement whose literals have become parameters has the same names and types. What planning
//! literals does besides is here: casts of them are carried out, their errors included, and long
//! lists become sets. Literals may also imply the predicate of a partial index
//! (`Scan::wants_literals`). Nothing else looks at a literal: not the estimates, not the bounds.

use crate::planned::PlannedStatement;
use crate::tree::expr::Expr;
use crate::tree::node::Node;
use crate::tree::row_lock::Recheck;

/// A list of more literals than this becomes a set.
const LIST_MAX: usize = 3;
/// In a filter over more rows than this, a cast for each costs more than a plan.
const ROWS_MAX: f64 = 100.0;

impl PlannedStatement {
    /// The casts of parameters that would have been carried out while planning literals.
    /// `None` if the plan is not as good as one of literals.
    pub fn casts_of_parameters(&self) -> Option<Vec<Expr>> {
        let mut casts = Vec::new();
        collect(&self.root, &mut casts).then_some(casts)
    }
}

fn collect(node: &Node, casts: &mut Vec<Expr>) -> bool {
    let mut is_good = match node {
        Node::Scan(scan) => {
            !scan.wants_literals
                && scan
                    .filter
                    .iter()
                    .all(|e| !has_long_list(e) && (scan.rows <= ROWS_MAX || !has_cast(e)))
        }
        Node::LockRows(lock) => !lock.recheck.iter().flat_map(Recheck::exprs).any(has_long_list),
        Node::Update(_) => true,
        other => {
            let mut is_plain = true;
            other.for_each_expr(&mut |e| is_plain &= !has_long_list(e) && !has_cast(e));
            is_plain
        }
    };
    node.for_each_expr(&mut |e| {
        is_good &= !e.any(&mut |e| matches!(e, Expr::Subquery(_)));
        outermost_casts(e, casts);
    });
    node.for_each_child(&mut |child| is_good = is_good && collect(child, casts));
    is_good
}

fn outermost_casts(e: &Expr, casts: &mut Vec<Expr>) {
    if is_cast_of_parameter(e) {
        casts.push(e.clone());
    } else {
        e.for_each_child(&mut |child| outermost_casts(child, casts));
    }
}

fn is_cast_of_parameter(e: &Expr) -> bool {
    match e {
        Expr::Cast(cast) => {
            matches!(cast.expr, Expr::Param(..)) || is_cast_of_parameter(&cast.expr)
        }
        _ => false,
    }
}

fn has_cast(e: &Expr) -> bool {
    e.any(&mut is_cast_of_parameter)
}

fn has_long_list(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e, Expr::InList(_, list) if list.len() > LIST_MAX))
}
