//! The rules after subqueries have become joins: filters, joins, indexes and orders.

use braid_catalog::Catalog;

use super::{
    barriers, conditions, estimate, interleave_joins, join_methods, lock_scans, order, order_joins,
    partial_indexes, partitions, prune, push_filters, spans, unique_semi_joins,
};
use crate::tree::node::Node;

/// Applies these rules to a plan whose subqueries are finished.
pub(super) fn choose(root: Node, catalog: &Catalog) -> Node {
    let root = conditions::factor_or::apply(root);
    let root = conditions::restrict_by_or::apply(root);
    let root = partitions::apply(push_filters::apply(root), catalog);
    let mut root = unique_semi_joins::apply(root, catalog);
    estimate::size_ctes(&mut root, catalog);
    // Whether an index has all columns of a scan depends on which of them are read.
    prune::columns::before_choices(&mut root);
    let root = order::joined::apply(root, catalog);
    let root = order_joins::apply(root, catalog);
    let root = order::scans::apply(barriers::drop_empty(root), catalog);
    let root = join_methods::apply(root, catalog);
    let mut root = interleave_joins::finish(root);
    spans::union::put_in_place(&mut root);
    let root = order::use_order::apply(root);
    let mut root = lock_scans::apply(root, catalog);
    partial_indexes::drop_implied(&mut root);
    prune::columns::apply(&mut root);
    root
}
