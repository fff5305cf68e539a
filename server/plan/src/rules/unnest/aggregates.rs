//! Correlated scalar subqueries of aggregates become left joins with groups, where that is cheaper.
//!
//! ```text
//!   SELECT * FROM o WHERE o.x < (SELECT avg(s.v) FROM s WHERE s.k = o.k)
//!
//!   o ⟕ (SELECT k, avg(v) AS a FROM s GROUP BY k) g ON o.k = g.k   WHERE o.x < g.a
//! ```
//!
//! A condition that refuses NULL, as this one does, makes it an inner join later.
//!
//! The subquery is found in WHERE, HAVING, the select list, GROUP BY and in arguments of
//! aggregates. It runs for each row of the operator's input. If an index leads to few rows of `s`,
//! and `o` has few rows, that is cheaper than to read and group all of `s`.
//!
//! Plans that lock or change rows keep their subqueries: which rows they lock, and when they read
//! others, must not depend on estimates.

use std::sync::Arc;

use braid_types::Datum;

use super::grouped::Grouped;
use super::semi_joins;
use crate::Slot;
use crate::bind::Binder;
use crate::rules::choices::choose;
use crate::rules::{cost, estimate, prune, push_filters, walk};
use crate::tree::expr::{Expr, SubqueryExpr, SubqueryKind, conjuncts};
use crate::tree::node::{Filter, Join, JoinKind, Limit, Node};

/// The part of the rows that a comparison with a subquery is believed to leave.
const COMPARED: f64 = 0.3;
/// The rows that a LIMIT is believed to want if its number is a parameter.
const LIMIT_DEFAULT: f64 = 100.0;

/// Rewrites the subqueries of a plan, those inside of others first.
pub(crate) fn apply(node: Node, binder: &mut Binder<'_>) -> Node {
    match prune::columns::changes_or_locks(&node) {
        true => node,
        false => within(node, f64::INFINITY, binder),
    }
}

/// The same for a plan of which only some rows are wanted.
fn within(mut node: Node, wanted: f64, binder: &mut Binder<'_>) -> Node {
    walk::exprs_mut(&mut node, &mut |e| inside(e, binder));
    let below = match &node {
        Node::Limit(limit) => rows_wanted(limit),
        Node::Project(_) => wanted,
        _ => f64::INFINITY,
    };
    let mut node = walk::map_children(node, &mut |child| within(child, below, binder));
    unnest(&mut node, wanted, binder);
    node
}

/// Rewrites what is in the subqueries of an expression.
fn inside(e: &mut Expr, binder: &mut Binder<'_>) {
    if let Expr::Subquery(subquery) = e {
        let plan = Arc::make_mut(&mut subquery.plan);
        let taken = std::mem::replace(plan, Node::one_row());
        *plan = apply(taken, binder);
    }
    e.for_each_child_mut(&mut |child| inside(child, binder));
}

/// The rows that a LIMIT wants of its input.
fn rows_wanted(limit: &Limit) -> f64 {
    let number = |e: &Option<Expr>, default: f64| match e {
        Some(Expr::Const(Datum::Int(number), _)) => *number as f64,
        Some(_) => LIMIT_DEFAULT,
        None => default,
    };
    number(&limit.limit, f64::INFINITY) + number(&limit.offset, 0.0)
}

/// Joins an operator's input with the groups of the subqueries in its expressions.
fn unnest(node: &mut Node, wanted: f64, binder: &mut Binder<'_>) {
    if !matches!(node, Node::Filter(_) | Node::Project(_) | Node::Aggregate(_)) {
        return;
    }
    let mut found: Vec<SubqueryExpr> = Vec::new();
    walk::exprs_mut(node, &mut |e| candidates(e, &mut found));
    if found.is_empty() {
        return;
    }
    let rows = estimated_rows(node, wanted, binder);
    let Some(input) = input_of(node) else { return };
    let outer: Vec<Slot> = input.slots();
    let mut values: Vec<(u32, Expr)> = Vec::new();
    for subquery in found {
        let Some(grouped) = Grouped::of(&subquery, &outer, binder) else { continue };
        if is_cheaper(&subquery, &grouped, rows, binder) {
            let left = std::mem::replace(input, Node::one_row());
            let join = Join::new(JoinKind::Left, (left, grouped.node), grouped.on);
            *input = Node::Join(Box::new(join));
            values.push((subquery.id, grouped.value));
        }
    }
    walk::exprs_mut(node, &mut |e| replace(e, &values));
}

/// The correlated scalar subqueries of an expression, each once.
fn candidates(e: &mut Expr, found: &mut Vec<SubqueryExpr>) {
    if is_scalar(e)
        && let Expr::Subquery(subquery) = e
        && !found.iter().any(|known| known.id == subquery.id)
        && walk::is_correlated(subquery)
    {
        found.push(SubqueryExpr::clone(subquery));
    }
    e.for_each_child_mut(&mut |child| candidates(child, found));
}

fn is_scalar(e: &Expr) -> bool {
    matches!(e, Expr::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar))
}

fn replace(e: &mut Expr, values: &[(u32, Expr)]) {
    if let Expr::Subquery(subquery) = e
        && let Some((_, value)) = values.iter().find(|(id, _)| *id == subquery.id)
    {
        *e = value.clone();
        return;
    }
    e.for_each_child_mut(&mut |child| replace(child, values));
}

fn input_of(node: &mut Node) -> Option<&mut Node> {
    match node {
        Node::Filter(n) => Some(&mut n.input),
        Node::Project(n) => Some(&mut n.input),
        Node::Aggregate(n) => Some(&mut n.input),
        _ => None,
    }
}

/// For how many rows the subqueries of an operator run.
fn estimated_rows(node: &Node, wanted: f64, binder: &Binder<'_>) -> f64 {
    let catalog = &binder.context().catalog;
    let (input, wanted) = match node {
        // The other conditions are checked first.
        Node::Filter(filter) => {
            let mut predicates = Vec::new();
            filter.predicates.iter().for_each(|e| conjuncts(e.clone(), &mut predicates));
            predicates.retain(|e| !e.any(&mut is_scalar));
            let input = Node::Filter(Filter::of(filter.input.clone(), predicates));
            (input, wanted / COMPARED)
        }
        Node::Project(project) => (project.input.clone(), wanted),
        Node::Aggregate(aggregate) => (aggregate.input.clone(), f64::INFINITY),
        _ => return 1.0,
    };
    let input = push_filters::apply(semi_joins::apply(input));
    estimate::rows(&input, catalog).min(wanted)
}

/// Whether groups cost less than the subquery for each of some rows.
fn is_cheaper(subquery: &SubqueryExpr, grouped: &Grouped, rows: f64, binder: &Binder<'_>) -> bool {
    let catalog = &binder.context().catalog;
    let finished = |plan: &Node| choose(plan.clone(), catalog, &mut |_, _| ());
    let each = cost::of_plan(&finished(&subquery.plan), catalog) + cost::RUN;
    let groups = finished(&grouped.node);
    let number = estimate::rows(&groups, catalog);
    cost::of_plan(&groups, catalog) + cost::hash(rows, number) + cost::given(rows) < rows * each
}
