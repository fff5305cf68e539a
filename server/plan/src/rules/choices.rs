//! The rules after subqueries have become joins: filters, joins, indexes and orders.

use braid_catalog::Catalog;

use super::{
    barriers, conditions, estimate, interleave_joins, join_methods, lock_scans, order, order_joins,
    parallel, partial_indexes, partitions, prune, push_filters, spans, unique_semi_joins,
};
use crate::tree::node::Node;

/// Applies these rules to a plan whose subqueries are finished. `after` is told of the plan after
/// each rule.
pub(super) fn choose(
    root: Node,
    catalog: &Catalog,
    after: &mut dyn FnMut(&'static str, &Node),
) -> Node {
    let root = conditions::factor_or::apply(root);
    after("factor_or", &root);
    let root = conditions::restrict_by_or::apply(root);
    after("restrict_by_or", &root);
    let root = push_filters::apply(root);
    after("push_filters", &root);
    let root = partitions::apply(root, catalog);
    after("partitions", &root);
    let mut root = unique_semi_joins::apply(root, catalog);
    after("unique_semi_joins", &root);
    estimate::size_ctes(&mut root, catalog);
    prune::counts::apply(&mut root);
    after("counts", &root);
    // Whether an index has all columns of a scan depends on which of them are read.
    prune::columns::before_choices(&mut root);
    after("columns", &root);
    let root = order::joined::apply(root, catalog);
    after("joined", &root);
    let root = order_joins::apply(root, catalog);
    after("order_joins", &root);
    let root = barriers::drop_empty(root);
    after("drop_empty", &root);
    let root = order::scans::apply(root, catalog);
    after("scans", &root);
    let root = join_methods::apply(root, catalog);
    after("join_methods", &root);
    let mut root = interleave_joins::finish(root);
    after("interleave_joins", &root);
    spans::union::put_in_place(&mut root);
    after("union", &root);
    let root = order::use_order::apply(root);
    after("use_order", &root);
    let mut root = lock_scans::apply(root, catalog);
    after("lock_scans", &root);
    partial_indexes::drop_implied(&mut root);
    after("partial_indexes", &root);
    prune::columns::apply(&mut root);
    after("columns", &root);
    parallel::apply(&mut root, catalog);
    after("parallel", &root);
    root
}
