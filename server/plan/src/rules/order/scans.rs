//! Every scan gets its index: the cheapest one, or one that has the order of a LIMIT above it.

use braid_catalog::Catalog;

use crate::rules::choose_index::{by_subquery, choose};
use crate::rules::walk;
use crate::tree::expr::Expr;
use crate::tree::node::Node;

use super::{extremes, first_of_each, first_rows};

/// Gives the scans of a plan their indexes.
pub(crate) fn apply(node: Node, catalog: &Catalog) -> Node {
    match node {
        // It has one: the first rows of joins are read in its order.
        Node::Scan(scan) if scan.rows > 0.0 => Node::Scan(scan),
        Node::Scan(mut scan) => {
            choose(&mut scan, &[], catalog);
            Node::Scan(scan)
        }
        Node::Filter(mut filter) if matches!(filter.input, Node::Scan(_)) => {
            let more: Vec<Expr> = filter.predicates.iter().filter_map(by_subquery).collect();
            if let Node::Scan(scan) = &mut filter.input {
                choose(scan, &more, catalog);
            }
            Node::Filter(filter)
        }
        Node::Limit(mut limit) => match first_rows::choose(&mut limit, catalog) {
            true => Node::Limit(limit),
            false => walk::map_children(Node::Limit(limit), &mut |child| apply(child, catalog)),
        },
        Node::Aggregate(mut aggregate) => match extremes::as_first_rows(&aggregate, catalog) {
            Some(node) => node,
            None if first_of_each::of_groups(&mut aggregate, catalog) => Node::Aggregate(aggregate),
            None => {
                walk::map_children(Node::Aggregate(aggregate), &mut |child| apply(child, catalog))
            }
        },
        Node::Distinct(mut distinct) => match first_of_each::of_distinct(&mut distinct, catalog) {
            true => Node::Distinct(distinct),
            false => {
                walk::map_children(Node::Distinct(distinct), &mut |child| apply(child, catalog))
            }
        },
        other => walk::map_children(other, &mut |child| apply(child, catalog)),
    }
}
