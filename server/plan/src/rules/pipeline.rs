//! All rules in their order.

use braid_catalog::Catalog;

use super::choices::choose;
use super::{barriers, conditions, estimate, prune, unnest, walk};
use crate::bind::Binder;
use crate::tree::node::Node;

/// Applies every rule, in order, to a plan and to the plans of its subqueries.
pub(crate) fn optimize(root: Node, binder: &mut Binder<'_>) -> Node {
    let mut root = root;
    // These look into subqueries by themselves.
    barriers::settle(&mut root);
    unnest::exists_lists(&mut root);
    prune::columns::drop_unread_markers(&mut root);
    let mut root = conditions::times::apply(root);
    estimate::guesses::note(&mut root, binder.context().env);
    let root = match prune::columns::changes_or_locks(&root) {
        true => root,
        false => unnest::late_values(root),
    };
    let root = unnest::aggregates(conditions::null_operands::apply(root), binder);
    let catalog = binder.context().catalog.clone();
    let mut root = finish(root, &catalog);
    prune::members::apply(&mut root);
    root
}

/// The other rules, for a plan and for the plans of its subqueries.
fn finish(root: Node, catalog: &Catalog) -> Node {
    let mut root = unnest::semi_joins(root);
    walk::subplans(&mut root, &mut |plan| {
        let taken = std::mem::replace(plan, Node::one_row());
        *plan = finish(taken, catalog);
    });
    choose(root, catalog)
}
