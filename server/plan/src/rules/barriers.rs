//! Barriers: filters whose input hides rows by policies, or by a view with `security_barrier`.
//!
//! A condition from above moves through a barrier only if it cannot reveal a row that the input
//! hides: it has no effects, and no value makes it fail. All others stay above. Bounds of an index
//! come from such conditions, so a barrier keeps no index from being used.
//!
//! ```text
//!   Filter leaky(x) (barrier) ── Filter policy, id = 5 ── Scan
//! ```
//!
//! Most policies are plain conditions. Then they become the first conditions of the scan, and the
//! barrier goes: a scan looks at a condition only where those before it hold.

use crate::tree::expr::{Expr, conjuncts};
use crate::tree::node::{Filter, Node};

use super::conditions::cannot_fail;
use super::walk;

/// Makes plain policies conditions of their scans, in a plan and in its subqueries.
pub(crate) fn settle(node: &mut Node) {
    settle_here(node);
    walk::subplans(node, &mut settle);
}

fn settle_here(node: &mut Node) {
    walk::children_mut(node, &mut settle_here);
    if let Some(scan) = settled(node) {
        *node = scan;
    }
}

/// The scan below a barrier with the conditions of plain policies.
fn settled(node: &mut Node) -> Option<Node> {
    let Node::Filter(barrier) = node else { return None };
    let is_free = barrier.barrier && barrier.predicates.is_empty();
    let Node::Filter(inner) = &mut barrier.input else { return None };
    let is_plain = |e: &Expr| !e.waits() && !e.is_volatile();
    if !is_free || inner.barrier || !inner.predicates.iter().all(is_plain) {
        return None;
    }
    let Node::Scan(scan) = &mut inner.input else { return None };
    for predicate in std::mem::take(&mut inner.predicates) {
        conjuncts(predicate, &mut scan.filter);
    }
    Some(std::mem::replace(&mut inner.input, Node::one_row()))
}

/// Whether a condition reveals nothing of the rows on which it is evaluated.
pub(crate) fn is_leakproof(e: &Expr) -> bool {
    !e.waits() && !e.is_volatile() && cannot_fail::cannot_fail(e)
}

/// The conditions that stay above a barrier. Joins below one must not be mixed with joins above.
pub(crate) fn kept(input: Node, predicates: Vec<Expr>) -> Node {
    let is_scan = match &input {
        Node::Scan(_) => true,
        Node::Filter(filter) => matches!(filter.input, Node::Scan(_)),
        _ => false,
    };
    if predicates.is_empty() && is_scan {
        return input;
    }
    Node::Filter(Box::new(Filter { input, predicates, barrier: true }))
}

/// Removes the barriers that have kept nothing, once every condition is in its place.
pub(crate) fn drop_empty(node: Node) -> Node {
    let node = walk::map_children(node, &mut drop_empty);
    match node {
        Node::Filter(filter) if filter.predicates.is_empty() => filter.input,
        node => node,
    }
}
