//! All rules in their order.

use braid_catalog::Catalog;

use super::choices::choose;
use super::{barriers, conditions, estimate, prune, unnest, walk};
use crate::bind::Binder;
use crate::tree::node::Node;

/// Applies every rule, in order, to a plan and to the plans of its subqueries. `after` is told of
/// the plan before all rules and after each one; not of the rules for the plans of its subqueries.
pub(crate) fn optimize(
    root: Node,
    binder: &mut Binder<'_>,
    after: &mut dyn FnMut(&'static str, &Node),
) -> Node {
    let mut root = root;
    after("bound", &root);
    // These look into subqueries by themselves.
    barriers::settle(&mut root);
    unnest::exists_lists(&mut root);
    after("exists_lists", &root);
    prune::columns::drop_unread_markers(&mut root);
    after("drop_unread_markers", &root);
    let mut root = conditions::times::apply(root);
    after("times", &root);
    estimate::guesses::note(&mut root, binder.context().env);
    let root = match prune::columns::changes_or_locks(&root) {
        true => root,
        false => unnest::late_values(root),
    };
    after("late_values", &root);
    let root = conditions::null_operands::apply(root);
    after("null_operands", &root);
    let root = unnest::aggregates(root, binder);
    after("aggregates", &root);
    let catalog = binder.context().catalog.clone();
    let mut root = finish(root, &catalog, after);
    prune::members::apply(&mut root);
    after("members", &root);
    root
}

/// The other rules, for a plan and for the plans of its subqueries.
fn finish(root: Node, catalog: &Catalog, after: &mut dyn FnMut(&'static str, &Node)) -> Node {
    let mut root = unnest::semi_joins(root);
    after("semi_joins", &root);
    walk::subplans(&mut root, &mut |plan| {
        let taken = std::mem::replace(plan, Node::one_row());
        *plan = finish(taken, catalog, &mut |_, _| ());
    });
    choose(root, catalog, after)
}
