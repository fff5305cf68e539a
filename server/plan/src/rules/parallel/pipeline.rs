//! The operators between an aggregate and the rows that its workers share.
//!
//! ```text
//!   Aggregate ── Project ── Hash Join ── Lookup Join ── Filter ── Scan     each worker has its own
//!                              │              │
//!                          build side     index: read by every worker for its own rows
//!                          read once
//! ```
//!
//! An operator belongs here if its rows over all rows of its input are those over each part of
//! them, put together.

use crate::tree::expr::Expr;
use crate::tree::node::{Join, JoinKind, JoinMethod, Node, Reading, Scan};

/// The operators below an aggregate from the top down. Only the last one may need all of its rows.
pub(super) fn pipeline(top: &Node) -> Vec<&Node> {
    let mut all = vec![top];
    while let Some(input) = all.last().and_then(|node| input_by_row(node)) {
        all.push(input);
    }
    all
}

/// The input of an operator that gives for each of its rows what it would give without the others.
fn input_by_row(node: &Node) -> Option<&Node> {
    match node {
        Node::Filter(n) if all_plain(&n.predicates) => Some(&n.input),
        Node::Project(n) if all_plain(n.exprs.iter().map(|(_, e)| e)) => Some(&n.input),
        Node::Join(n) if is_by_left_row(n) => Some(&n.left),
        _ => None,
    }
}

/// Whether evaluating expressions by several workers gives what one would give.
pub(super) fn all_plain<'e>(list: impl IntoIterator<Item = &'e Expr>) -> bool {
    list.into_iter().all(|e| !e.waits() && !e.is_volatile())
}

/// Whether a join gives for each left row what it would give without the others.
fn is_by_left_row(join: &Join) -> bool {
    let keeps_right = matches!(join.kind, JoinKind::Right | JoinKind::Full);
    let method_is = match &join.method {
        JoinMethod::Hash { left, right, builds_left } => {
            !builds_left && !join.lateral && all_plain(left.iter().chain(right))
        }
        JoinMethod::Lookup => match &join.right {
            Node::Scan(scan) => scan.lock.is_none() && !join.right.is_volatile(),
            _ => false,
        },
        JoinMethod::Loop | JoinMethod::Interleaved => false,
    };
    !keeps_right && method_is && all_plain(join.on.iter().chain(&join.outer))
}

/// Whether a scan reads spans in any order and gives all of their rows.
pub(super) fn may_be_divided(scan: &Scan) -> bool {
    let access = &scan.access;
    let has_limit = access.limit.is_some() || access.offset.is_some();
    scan.lock.is_none()
        && scan.union.is_empty()
        && scan.pruning.is_empty()
        && access.reading == Reading::InOrder
        && !has_limit
        && all_plain(&scan.filter)
}
