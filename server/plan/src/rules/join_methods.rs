//! How each join is carried out: in one pass over a range that both sides lie in, by looking an
//! index up, by a hash table of one side, or pair by pair.

use braid_catalog::Catalog;

use crate::Slot;
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{Join, JoinKind, JoinMethod, Node};

use super::conditions::equal_columns;
use super::cost::Lookup;
use super::push_filters::needs;
use super::{cost, estimate, interleave_joins, order_joins, partitions, walk};

pub(crate) fn apply(node: Node, catalog: &Catalog) -> Node {
    let mut node = choose(node, catalog);
    forget(&mut node);
    node
}

/// What bounds express is of no use any more when each join has its method.
fn forget(node: &mut Node) {
    if let Node::Scan(scan) = node {
        scan.bounded_by.clear();
        scan.union.iter_mut().for_each(|part| part.bounded_by.clear());
    }
    walk::children_mut(node, &mut forget);
}

fn choose(node: Node, catalog: &Catalog) -> Node {
    let node = walk::map_children(node, &mut |child| choose(child, catalog));
    if !matches!(node, Node::Join(_)) {
        return node;
    }
    let rows = estimate::rows(&node, catalog);
    let Node::Join(mut join) = node else { return node };
    join.rows = rows;
    if join.lateral {
        return Node::Join(join);
    }
    let looked_up = lookup(&join, catalog);
    let cost = looked_up.as_ref().map_or(f64::INFINITY, |(cost, _)| *cost);
    let mut join = match interleave_joins::one_pass(join, cost, catalog) {
        Ok(node) => return node,
        Err(join) => join,
    };
    if let Some(partitions) = lookup_of_partitions(&join, catalog) {
        join.right = partitions;
        join.lateral = true;
        return Node::Join(join);
    }
    let narrowed = equal_columns::narrowed(&join, cost, catalog);
    match (looked_up.filter(|_| narrowed.is_none()), &mut join.right) {
        (Some((_, found)), Node::Scan(scan)) => {
            found.take(&mut join.on, scan);
            join.lateral = true;
            join.method = JoinMethod::Lookup;
        }
        _ => {
            if let Some(scan) = narrowed {
                join.right = Node::Scan(Box::new(scan));
            }
            let (left, right) = (&join.left, &join.right);
            let sizes = (estimate::rows(left, catalog), estimate::rows(right, catalog));
            hash(&mut join, sizes);
        }
    }
    Node::Join(join)
}

/// How to look the right side's index up for each left row, and what that costs, if it is cheaper
/// than reading the right side.
fn lookup(join: &Join, catalog: &Catalog) -> Option<(f64, Lookup)> {
    let Node::Scan(scan) = &join.right else { return None };
    let left_rows = estimate::rows(&join.left, catalog);
    let found = cost::lookup(scan, &join.on, join.kind, catalog)?;
    let by_join = match join.on.iter().any(cost::is_equality) {
        true => cost::hash_of_either(left_rows, scan.rows, may_build_left(join)),
        false => cost::pairs(left_rows, scan.rows),
    };
    let lookups = found.cost.of(left_rows);
    (lookups < cost::read(scan, catalog) + by_join).then_some((lookups, found))
}

/// The partitions of the right side as lookups for each left row, if that is cheaper than reading
/// them once.
fn lookup_of_partitions(join: &Join, catalog: &Catalog) -> Option<Node> {
    let left_rows = estimate::rows(&join.left, catalog);
    let found = join.rows / left_rows.max(1.0);
    let (each, right) = partitions::lookup(&join.right, (&join.on, join.kind), found, catalog)?;
    let right_rows = estimate::rows(&join.right, catalog);
    let by_join = cost::hash_of_either(left_rows, right_rows, may_build_left(join));
    let lookups = left_rows * (cost::RUN + each);
    (lookups < cost::of_plan(&join.right, catalog) + by_join).then_some(right)
}

/// Whether the left side may be in a hash table. Semi and anti joins give their rows in the order
/// of the left side all the same. Left joins do not: those of catalog views keep that order, and so
/// do those with groups, which were subqueries of the select list.
fn may_build_left(join: &Join) -> bool {
    let reads_table = || [&join.left, &join.right].into_iter().any(order_joins::reads_table);
    let has_order = || {
        join.kind == JoinKind::Left && (matches!(join.right, Node::Aggregate(_)) || !reads_table())
    };
    cost::may_build_left(join.kind, &join.on) && !has_order()
}

/// Equalities between the sides become keys of a hash table; the sides have these rows.
fn hash(join: &mut Join, (left_rows, right_rows): (f64, f64)) {
    let builds_left = may_build_left(join)
        && cost::hash(right_rows, left_rows) < cost::hash(left_rows, right_rows);
    let left: Vec<Slot> = join.left.slots();
    let right: Vec<Slot> = join.right.slots();
    let within = |e: &Expr, side: &[Slot], other: &[Slot]| {
        let slots = needs(e);
        !e.waits()
            && slots.iter().any(|slot| side.contains(slot))
            && !slots.iter().any(|slot| other.contains(slot))
    };
    let (mut left_keys, mut right_keys, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for e in std::mem::take(&mut join.on) {
        match e {
            Expr::Compare(CompareOp::Eq, a, b)
                if within(&a, &left, &right) && within(&b, &right, &left) =>
            {
                left_keys.push(*a);
                right_keys.push(*b);
            }
            Expr::Compare(CompareOp::Eq, a, b)
                if within(&b, &left, &right) && within(&a, &right, &left) =>
            {
                left_keys.push(*b);
                right_keys.push(*a);
            }
            other => rest.push(other),
        }
    }
    join.on = rest;
    if !left_keys.is_empty() {
        join.method = JoinMethod::Hash { left: left_keys, right: right_keys, builds_left };
    }
}
