//! Conditions move down to the operator that first has their columns.
//!
//! Volatile conditions stay where they are. An outer join whose missing rows a condition would
//! drop anyway becomes an inner one.

use std::collections::HashSet;

use crate::Slot;
use crate::tree::expr::{Expr, conjuncts};
use crate::tree::node::{AggregateNode, Append, Filter, JoinKind, Node, Recheck};

use super::{barriers, walk};

pub(crate) fn apply(node: Node) -> Node {
    push(node, Vec::new())
}

/// The slots a condition reads, subqueries included.
pub(crate) fn needs(e: &Expr) -> Vec<Slot> {
    let mut slots = Vec::new();
    if e.any(&mut |e| matches!(e, Expr::Subquery(_))) {
        walk::expr_slots(&mut e.clone(), &mut slots);
    } else {
        e.slots(&mut slots);
    }
    slots
}

fn keep(input: Node, predicates: Vec<Expr>) -> Node {
    if predicates.is_empty() {
        return input;
    }
    Node::Filter(Filter::of(input, predicates))
}

/// The conditions of a filter before those from above, which may fail on rows that the filter
/// leaves out.
fn own_first(own: Vec<Expr>, above: Vec<Expr>) -> Vec<Expr> {
    let mut all = Vec::with_capacity(own.len() + above.len());
    own.into_iter().for_each(|predicate| conjuncts(predicate, &mut all));
    all.extend(above);
    all
}

fn push(node: Node, predicates: Vec<Expr>) -> Node {
    match node {
        Node::Filter(filter) => push_filter(*filter, predicates),
        Node::Project(mut project) => {
            let (mut down, mut stay) = (Vec::new(), Vec::new());
            for mut predicate in predicates {
                let has_subquery = predicate.any(&mut |e| matches!(e, Expr::Subquery(_)));
                let ok = !has_subquery
                    && needs(&predicate).iter().all(|slot| {
                        project
                            .exprs
                            .iter()
                            .all(|(s, e)| s != slot || !(e.is_volatile() || e.waits()))
                    });
                if ok {
                    substitute(&mut predicate, &project.exprs);
                    down.push(predicate);
                } else {
                    stay.push(predicate);
                }
            }
            project.input = push(project.input, down);
            keep(Node::Project(project), stay)
        }
        Node::Join(_) => push_join(node, predicates),
        Node::Sort(mut sort) => {
            sort.input = push(sort.input, predicates);
            Node::Sort(sort)
        }
        Node::LockRows(mut lock) => {
            // Rows that the query around does not want are not locked.
            let (stay, down): (Vec<_>, Vec<_>) = predicates.into_iter().partition(Expr::waits);
            if !down.is_empty() {
                lock.recheck.push(Recheck::Holds(down.clone()));
            }
            lock.input = push(lock.input, down);
            keep(Node::LockRows(lock), stay)
        }
        Node::Distinct(mut distinct) if distinct.on.is_empty() => {
            distinct.input = push(distinct.input, predicates);
            Node::Distinct(distinct)
        }
        Node::Aggregate(aggregate) => push_aggregate(aggregate, predicates),
        Node::With(mut with) => {
            for cte in &mut with.ctes {
                let taken = std::mem::replace(&mut cte.plan, Node::one_row());
                cte.plan = push(taken, Vec::new());
                if let Some((term, _)) = &mut cte.recursive {
                    let taken = std::mem::replace(term, Node::one_row());
                    *term = push(taken, Vec::new());
                }
            }
            with.body = push(with.body, predicates);
            Node::With(with)
        }
        Node::Scan(mut scan) => {
            let (stay, own): (Vec<_>, Vec<_>) = predicates.into_iter().partition(Expr::waits);
            scan.filter.extend(own);
            keep(Node::Scan(scan), stay)
        }
        Node::Virtual(mut scan) => {
            let (stay, own): (Vec<_>, Vec<_>) = predicates.into_iter().partition(Expr::waits);
            scan.filter.extend(own);
            keep(Node::Virtual(scan), stay)
        }
        Node::Append(append) => push_append(append, predicates),
        other => {
            let node = walk::map_children(other, &mut |child| push(child, Vec::new()));
            keep(node, predicates)
        }
    }
}

/// The inputs give the same slots. What has a subquery is evaluated above them, once for each row.
fn push_append(mut append: Box<Append>, predicates: Vec<Expr>) -> Node {
    let has_subquery = |e: &Expr| e.any(&mut |e| matches!(e, Expr::Subquery(_)));
    let (stay, down): (Vec<_>, Vec<_>) = predicates.into_iter().partition(has_subquery);
    for input in &mut append.inputs {
        let taken = std::mem::replace(input, Node::one_row());
        *input = push(taken, down.clone());
    }
    keep(Node::Append(append), stay)
}

/// Conditions meet another filter. A barrier lets those through that reveal nothing.
fn push_filter(filter: Filter, predicates: Vec<Expr>) -> Node {
    let predicates = own_first(filter.predicates, predicates);
    if filter.barrier {
        let (down, stay) = predicates.into_iter().partition(barriers::is_leakproof);
        return barriers::kept(push(filter.input, down), stay);
    }
    let (volatile, rest) = predicates.into_iter().partition(Expr::is_volatile);
    keep(push(filter.input, rest), volatile)
}

fn push_aggregate(mut aggregate: Box<AggregateNode>, predicates: Vec<Expr>) -> Node {
    // A condition on grouped columns alone drops whole groups: their rows may go first.
    let columns: HashSet<Slot> = aggregate
        .group
        .iter()
        .filter(|(slot, e)| matches!(e, Expr::Column(s, _) if s == slot))
        .map(|(slot, _)| *slot)
        .collect();
    let plain = aggregate.sets.is_empty() && !aggregate.group.is_empty();
    let own: HashSet<Slot> = aggregate
        .group
        .iter()
        .map(|(s, _)| *s)
        .chain(aggregate.aggregates.iter().map(|(s, _)| *s))
        .collect();
    let (down, stay) = predicates.into_iter().partition(|p: &Expr| {
        let slots = needs(p);
        plain
            && slots.iter().any(|s| columns.contains(s))
            && slots.iter().all(|s| columns.contains(s) || !own.contains(s))
    });
    aggregate.input = push(aggregate.input, down);
    keep(Node::Aggregate(aggregate), stay)
}

/// Puts a projection's expressions in the place of its output columns.
pub(crate) fn substitute(e: &mut Expr, exprs: &[(Slot, Expr)]) {
    if let Expr::Column(slot, _) = e {
        if let Some((_, known)) = exprs.iter().find(|(s, _)| s == slot) {
            *e = known.clone();
        }
        return;
    }
    e.for_each_child_mut(&mut |child| substitute(child, exprs));
}

fn push_join(node: Node, predicates: Vec<Expr>) -> Node {
    let Node::Join(mut join) = node else { return node };
    let left: HashSet<Slot> = join.left.slots().into_iter().collect();
    let right: HashSet<Slot> = join.right.slots().into_iter().collect();
    let reads = |e: &Expr, side: &HashSet<Slot>| needs(e).iter().any(|slot| side.contains(slot));
    if join.kind == JoinKind::Left && predicates.iter().any(|p| rejects_null(p, &right)) {
        join.kind = JoinKind::Inner;
    }
    if join.kind == JoinKind::Right && predicates.iter().any(|p| rejects_null(p, &left)) {
        join.kind = JoinKind::Inner;
    }
    let (mut to_left, mut to_right, mut on, mut above) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for p in predicates {
        let (l, r) = (reads(&p, &left), reads(&p, &right));
        match join.kind {
            JoinKind::Inner if l && r => {
                // A condition that waits is checked after the join.
                if p.waits() { above.push(p) } else { on.push(p) }
            }
            JoinKind::Inner if r => to_right.push(p),
            JoinKind::Inner => to_left.push(p),
            // The join leaves fewer rows for which the subquery runs.
            JoinKind::Semi | JoinKind::Anti if !r && is_correlated(&p) => above.push(p),
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti if !r => to_left.push(p),
            JoinKind::Right if !l => to_right.push(p),
            _ => above.push(p),
        }
    }
    let mut own = Vec::new();
    for e in std::mem::take(&mut join.on) {
        conjuncts(e, &mut own);
    }
    for p in own {
        let (l, r) = (reads(&p, &left), reads(&p, &right));
        let movable = !p.is_volatile();
        match join.kind {
            JoinKind::Inner if movable && r && !l => to_right.push(p),
            JoinKind::Inner if movable && l && !r => to_left.push(p),
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti if movable && r && !l => {
                to_right.push(p);
            }
            JoinKind::Semi if movable && l && !r => to_left.push(p),
            JoinKind::Right if movable && l && !r => to_left.push(p),
            _ => on.push(p),
        }
    }
    join.left = push(join.left, to_left);
    join.right = push(join.right, to_right);
    join.on = on;
    keep(Node::Join(join), above)
}

/// Whether a subquery runs for each row.
fn is_correlated(e: &Expr) -> bool {
    e.any(&mut |e| match e {
        Expr::Subquery(subquery) => walk::is_correlated(subquery),
        _ => false,
    })
}

/// Whether a condition cannot hold when all of these slots are NULL.
pub(crate) fn rejects_null(e: &Expr, side: &HashSet<Slot>) -> bool {
    match e {
        Expr::Compare(_, a, b) => is_null(a, side) || is_null(b, side),
        Expr::InList(e, _) | Expr::InSet(e, ..) => is_null(e, side),
        Expr::And(list) => list.iter().any(|e| rejects_null(e, side)),
        Expr::Not(inner) => matches!(&**inner, Expr::IsNull(e) if is_null(e, side)),
        _ => false,
    }
}

/// Whether an expression is NULL when all of these slots are.
fn is_null(e: &Expr, side: &HashSet<Slot>) -> bool {
    match e {
        Expr::Column(slot, _) => side.contains(slot),
        Expr::Cast(cast) => is_null(&cast.expr, side),
        Expr::Call(call) if call.function.strict => call.args.iter().any(|e| is_null(e, side)),
        _ => false,
    }
}
