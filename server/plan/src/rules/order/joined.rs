//! The first rows of joins: `FROM orders JOIN users … ORDER BY orders.at LIMIT 10`, with or without
//! an order.
//!
//! ```text
//! Limit ── Sort ── Join               Limit ── Lookup Join
//!                  ├ users     ►               ├ orders by the index on at
//!                  └ orders                    └ users by their key
//! ```
//!
//! The table whose columns are sorted becomes the leftmost input and is read in order. All others
//! are looked up, which keeps the order, so that reading stops early. Without an order, each table
//! is tried as the leftmost input. The usual plan is made as well, and the cheaper one of both is
//! taken. Joins made here are lookups already, and the rules that follow leave such joins and their
//! scans as they are.

use braid_catalog::Catalog;

use crate::Slot;
use crate::rules::cost::LookupCost;
use crate::rules::push_filters::needs;
use crate::rules::spans::candidate;
use crate::rules::{cost, estimate, join_methods, order_joins, walk};
use crate::tree::node::{Join, JoinKind, JoinMethod, Limit, Node, Scan, SortKey};

use super::first_rows::{PART_MAX, cheapest, sort_below, wanted};
use super::index_order::rewrite_below;
use super::scans;

/// Gives joins below a sort with a limit this form where it costs less.
pub(crate) fn apply(node: Node, catalog: &Catalog) -> Node {
    let mut node = walk::map_children(node, &mut |child| apply(child, catalog));
    if let Node::Limit(limit) = &mut node {
        match sort_below(&mut limit.input).is_some() {
            true => read_in_order(limit, catalog),
            false => read_some(limit, catalog),
        };
    }
    node
}

fn read_in_order(limit: &mut Limit, catalog: &Catalog) -> Option<()> {
    let wanted = wanted(limit)?;
    let sort = sort_below(&mut limit.input)?;
    let given = estimate::rows(&sort.input, catalog);
    let mut keys = sort.keys.clone();
    let joined = joins_below(&mut sort.input, &mut keys)?;
    let first = needs(&keys.first()?.expr);
    let part = (wanted / given).min(1.0);
    let (cost, ordered) = looked_up(joined, &first, (&keys, part), catalog)?;
    take_cheaper(joined, ordered, cost, catalog);
    Some(())
}

fn read_some(limit: &mut Limit, catalog: &Catalog) -> Option<()> {
    let wanted = wanted(limit)?;
    let joined = joins_below(&mut limit.input, &mut [])?;
    let part = wanted / estimate::rows(joined, catalog);
    // All rows are read anyway, so the usual plan is right.
    if part >= 1.0 {
        return None;
    }
    let mut leaves = Vec::new();
    scans_of(joined, &mut leaves);
    let forms = leaves.iter().filter_map(|slots| looked_up(joined, slots, (&[], part), catalog));
    let (cost, form) = forms.min_by(|(one, _), (other, _)| one.total_cmp(other))?;
    take_cheaper(joined, form, cost, catalog);
    Some(())
}

/// Puts a form of joins in their place if it costs less than the usual one.
fn take_cheaper(joined: &mut Node, form: Node, cost: f64, catalog: &Catalog) {
    if cost <= usual_cost(joined.clone(), catalog) * PART_MAX {
        *joined = form;
    }
}

/// The slots of each table below joins.
fn scans_of(node: &Node, found: &mut Vec<Vec<Slot>>) {
    match node {
        Node::Scan(_) => found.push(node.slots()),
        Node::Join(join) => {
            scans_of(&join.left, found);
            scans_of(&join.right, found);
        }
        _ => {}
    }
}

/// The joins as lookups, with the table that gives these slots as the leftmost input, and what
/// they cost until this part of the rows has been read.
fn looked_up(
    joined: &Node,
    first: &[Slot],
    (keys, part): (&[SortKey], f64),
    catalog: &Catalog,
) -> Option<(f64, Node)> {
    let mut form = joined.clone();
    if !put_leftmost(&mut form, first) {
        return None;
    }
    let cost = look_up(&mut form, keys, part, catalog)?;
    Some((cost, form))
}

/// The joins below a sort or a limit. `keys` are rewritten to their columns.
fn joins_below<'n>(node: &'n mut Node, keys: &mut [SortKey]) -> Option<&'n mut Node> {
    match node {
        Node::Join(_) => Some(node),
        Node::Project(project) => {
            rewrite_below(project, keys)?;
            joins_below(&mut project.input, keys)
        }
        _ => None,
    }
}

/// Exchanges the sides of inner joins so that the scan with these slots is the leftmost input;
/// false if that cannot be, or if another input is no scan.
fn put_leftmost(node: &mut Node, first: &[Slot]) -> bool {
    let Node::Join(join) = node else { return gives(node, first) };
    if join.lateral || matches!(join.kind, JoinKind::Right | JoinKind::Full) {
        return false;
    }
    if gives(&join.right, first) {
        if join.kind != JoinKind::Inner {
            return false;
        }
        std::mem::swap(&mut join.left, &mut join.right);
    }
    matches!(join.right, Node::Scan(_)) && put_leftmost(&mut join.left, first)
}

fn gives(node: &Node, wanted: &[Slot]) -> bool {
    let slots = node.slots();
    !wanted.is_empty() && wanted.iter().all(|slot| slots.contains(slot))
}

/// Makes the joins lookups below a scan in order; what they cost until this part of the rows has
/// been read. `None` if no index has the order, or if a table has no index to look up.
fn look_up(node: &mut Node, keys: &[SortKey], part: f64, catalog: &Catalog) -> Option<f64> {
    match node {
        Node::Scan(scan) => read_part(scan, keys, part, catalog),
        Node::Join(join) => {
            let cost = look_up(&mut join.left, keys, part, catalog)?;
            let lookups = look_up_right(join, catalog)?;
            Some(cost + lookups.of(estimate::rows(&join.left, catalog)))
        }
        _ => None,
    }
}

fn read_part(scan: &mut Scan, keys: &[SortKey], part: f64, catalog: &Catalog) -> Option<f64> {
    let (cost, found) = cheapest(scan, (keys, &[]), part, catalog)?;
    candidate::take(scan, found, catalog);
    scan.rows = (scan.rows * part).max(1.0);
    Some(cost)
}

fn look_up_right(join: &mut Join, catalog: &Catalog) -> Option<LookupCost> {
    let Node::Scan(scan) = &mut join.right else { return None };
    let found = cost::lookup(scan, &join.on, join.kind, catalog)?;
    let cost = found.cost;
    scan.rows = estimate::rows(&Node::Scan(scan.clone()), catalog);
    join.rows = estimate::rows(&Node::Join(Box::new(join.clone())), catalog);
    if let Node::Scan(scan) = &mut join.right {
        found.take(&mut join.on, scan);
    }
    (join.lateral, join.method) = (true, JoinMethod::Lookup);
    Some(cost)
}

/// What the plan costs that reads and sorts everything.
fn usual_cost(node: Node, catalog: &Catalog) -> f64 {
    let node = scans::apply(order_joins::apply(node, catalog), catalog);
    let node = join_methods::apply(node, catalog);
    cost::of_plan(&node, catalog) + estimate::rows(&node, catalog)
}
