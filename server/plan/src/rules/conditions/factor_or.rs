//! The common part of an OR's branches moves out of it.
//!
//! ```text
//!   (a = b AND x) OR (a = b AND y)   →   a = b AND (x OR y)
//!   a OR (a AND x)                   →   a
//! ```
//!
//! Both sides have the same value with NULLs, too. A hash or lookup join can use `a = b` then.

use crate::rules::walk;
use crate::tree::expr::{Expr, conjunction, conjuncts};
use crate::tree::node::Node;

/// The most pairs of conditions that are compared for one OR.
const COMPARISONS_MAX: usize = 100_000;

pub(crate) fn apply(mut node: Node) -> Node {
    match &mut node {
        Node::Filter(filter) => factor_all(&mut filter.predicates),
        Node::Join(join) => factor_all(&mut join.on),
        _ => {}
    }
    walk::map_children(node, &mut apply)
}

fn factor_all(conditions: &mut Vec<Expr>) {
    let mut flat = Vec::with_capacity(conditions.len());
    for condition in conditions.drain(..) {
        conjuncts(condition, &mut flat);
    }
    conditions.extend(flat.into_iter().flat_map(factored));
}

/// A condition as conjuncts.
fn factored(condition: Expr) -> Vec<Expr> {
    let Expr::Or(list) = condition else { return vec![condition] };
    let mut branches: Vec<Vec<Expr>> = list.into_iter().map(parts).collect();
    let common = common(&branches);
    if !common.is_empty() {
        for branch in &mut branches {
            branch.retain(|e| !common.iter().any(|known| known.same(e)));
        }
    }
    // A branch that has nothing else holds wherever the common part does.
    if branches.iter().any(Vec::is_empty) {
        return common;
    }
    let mut result = common;
    result.push(Expr::Or(branches.into_iter().map(conjunction).collect()));
    result
}

fn parts(branch: Expr) -> Vec<Expr> {
    match branch {
        Expr::And(_) => {
            let mut parts = Vec::new();
            conjuncts(branch, &mut parts);
            // `true AND true` stays a condition.
            if parts.is_empty() { vec![Expr::bool(true)] } else { parts }
        }
        other => vec![other],
    }
}

/// What is in every branch.
fn common(branches: &[Vec<Expr>]) -> Vec<Expr> {
    let Some(shortest) = branches.iter().min_by_key(|branch| branch.len()) else {
        return Vec::new();
    };
    let all: usize = branches.iter().map(Vec::len).sum();
    if shortest.len().saturating_mul(all) > COMPARISONS_MAX {
        return Vec::new();
    }
    let mut common: Vec<Expr> = Vec::new();
    for e in shortest {
        let is_everywhere = branches.iter().all(|branch| branch.iter().any(|own| own.same(e)));
        if is_everywhere && !e.is_volatile_inside() && !common.iter().any(|known| known.same(e)) {
            common.push(e.clone());
        }
    }
    common
}
