//! `EXISTS` and `IN` subqueries in WHERE, and their negations, become semi and anti joins.
//!
//! Only where the subquery is a plain select (no grouping, no LIMIT) whose FROM does not read the
//! outer row; its WHERE may. `NOT IN` stays a subquery, because of its NULL rules, unless both
//! sides are columns that are never NULL.

use braid_types::SqlType;

use crate::Slot;
use crate::rules::conditions::never_null::is_never_null;
use crate::rules::push_filters::substitute;
use crate::rules::walk;
use crate::tree::expr::{Expr, SubqueryExpr, SubqueryKind, conjuncts};
use crate::tree::node::{Filter, Join, JoinKind, Node};

pub(crate) fn apply(node: Node) -> Node {
    let node = walk::map_children(node, &mut apply);
    let Node::Filter(filter) = node else { return node };
    let mut predicates = Vec::new();
    for predicate in filter.predicates {
        conjuncts(predicate, &mut predicates);
    }
    let mut input = filter.input;
    let mut rest = Vec::new();
    for predicate in predicates {
        match as_join(predicate, &input) {
            Ok((kind, right, on)) => {
                input = Node::Join(Box::new(Join::new(kind, (input, apply(right)), on)));
            }
            Err(predicate) => rest.push(*predicate),
        }
    }
    match rest.is_empty() && !filter.barrier {
        true => input,
        false => {
            let barrier = filter.barrier;
            Node::Filter(Box::new(Filter { input, predicates: rest, barrier }))
        }
    }
}

/// The join of an input that a predicate on it is, or the predicate back.
fn as_join(predicate: Expr, input: &Node) -> Result<(JoinKind, Node, Vec<Expr>), Box<Expr>> {
    let found = match &predicate {
        Expr::Subquery(subquery) => opened(subquery).map(|found| (JoinKind::Semi, found)),
        Expr::Not(inner) => match &**inner {
            Expr::Subquery(subquery) => opened(subquery)
                .filter(|found| is_never_unknown(subquery, input, found))
                .map(|found| (JoinKind::Anti, found)),
            _ => None,
        },
        _ => None,
    };
    match found {
        Some((kind, (node, on))) => Ok((kind, node, on)),
        None => Err(Box::new(predicate)),
    }
}

/// Whether a subquery that is a join of an input with what was found is true or false, never NULL.
fn is_never_unknown(
    subquery: &SubqueryExpr,
    input: &Node,
    (source, on): &(Node, Vec<Expr>),
) -> bool {
    match (&subquery.kind, on.last()) {
        (SubqueryKind::Exists, _) => true,
        (SubqueryKind::Quantified { .. }, Some(Expr::Compare(_, left, output))) => {
            is_never_null(input, left) && is_never_null(source, output)
        }
        _ => false,
    }
}

/// A subquery's FROM and the conditions under which one of its rows counts. The comparison of IN is
/// the last of them.
fn opened(subquery: &SubqueryExpr) -> Option<(Node, Vec<Expr>)> {
    let mut node = &*subquery.plan;
    // The conditions found so far, and behind them the output that IN compares with. Both are
    // expressions over the output of `node`.
    let mut on: Vec<Expr> = Vec::new();
    let mut output: Option<Expr> = None;
    if let SubqueryKind::Quantified { all: false, hashable: true, compare, .. } = &subquery.kind {
        output = Some(Expr::Column(*node.slots().first()?, right_type(compare)?));
    } else if !matches!(subquery.kind, SubqueryKind::Exists) {
        return None;
    }
    loop {
        match node {
            Node::Project(project) => {
                for e in on.iter_mut().chain(&mut output) {
                    *e = below(e, &project.exprs)?;
                }
                node = &project.input;
            }
            Node::Sort(sort) => node = &sort.input,
            Node::Filter(filter) => {
                let hides = |e: &Expr| e.waits() || e.is_volatile();
                if filter.barrier || filter.predicates.iter().any(hides) {
                    return None;
                }
                // Conditions further inside come first: they may guard the outer ones.
                on.splice(0..0, filter.predicates.iter().cloned());
                node = &filter.input;
            }
            Node::Scan(_) | Node::Join(_) | Node::CteScan(_) => break,
            _ => return None,
        }
    }
    let mut source = node.clone();
    if !walk::is_closed(&mut source) {
        return None;
    }
    if let (SubqueryKind::Quantified { left, compare, .. }, Some(output)) = (&subquery.kind, output)
    {
        let left = left.first()?.clone();
        if left.waits() || left.is_volatile() {
            return None;
        }
        let mut compare = compare.clone();
        fill(&mut compare, &left, &output);
        on.push(compare);
    }
    let mut flat = Vec::new();
    for e in on {
        conjuncts(e, &mut flat);
    }
    Some((source, flat))
}

/// The type of the right side of a comparison over [`Expr::Input`] 0 and 1.
fn right_type(compare: &Expr) -> Option<SqlType> {
    match compare {
        Expr::Compare(_, _, right) => Some(right.ty()),
        _ => None,
    }
}

/// An expression over a projection's output as one over its input. `None` if it reads what must
/// be computed once.
pub(super) fn below(e: &Expr, exprs: &[(Slot, Expr)]) -> Option<Expr> {
    let mut slots = Vec::new();
    e.slots(&mut slots);
    let steady = |e: &Expr| !e.waits() && !e.is_volatile();
    let mut read = exprs.iter().filter(|(slot, _)| slots.contains(slot));
    if !read.all(|(_, e)| steady(e)) {
        return None;
    }
    let mut e = e.clone();
    substitute(&mut e, exprs);
    Some(e)
}

/// Puts the two sides into a comparison over [`Expr::Input`] 0 and 1.
fn fill(e: &mut Expr, left: &Expr, right: &Expr) {
    match e {
        Expr::Input(0, _) => *e = left.clone(),
        Expr::Input(1, _) => *e = right.clone(),
        other => other.for_each_child_mut(&mut |child| fill(child, left, right)),
    }
}
