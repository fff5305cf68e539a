//! Rewrites of a bound plan: the same rows, less work.
//!
//! ```text
//! plain policies into their scans → EXISTS without its list → dates and times of one type
//!   → NULLs that decide → unnest subqueries → factor ORs
//!   → push filters down, leaky conditions not through barriers
//!   → semi joins with one match become inner → prune, if the plan only reads
//!   → first rows of joins → order joins → choose indexes and methods → unions of scans
//!   → use order → lock while scanning
//!   → drop what a partial index implies → prune → members of jsonb
//! ```

mod barriers;
mod choose_index;
mod conditions;
mod cost;
mod estimate;
mod interleave_joins;
mod join_methods;
mod lock_scans;
mod order;
mod order_joins;
mod partial_indexes;
mod partitions;
mod prune_columns;
mod prune_members;
mod push_filters;
mod spans;
mod unique_semi_joins;
mod unnest;
pub(crate) mod walk;

pub use conditions::cannot_fail::cannot_fail;
pub(crate) use conditions::null_operands;
pub(crate) use estimate::rows as planned_rows;
pub(crate) use estimate::values::put as put_values;
pub(crate) use push_filters::rejects_null;
pub(crate) use spans::candidate::covers;

use braid_catalog::Catalog;

use crate::bind::Binder;
use crate::tree::node::Node;

/// Applies every rule, in order, to a plan and to the plans of its subqueries.
pub(crate) fn optimize(root: Node, binder: &mut Binder<'_>) -> Node {
    let mut root = root;
    // These look into subqueries by themselves.
    barriers::settle(&mut root);
    unnest::exists_lists(&mut root);
    prune_columns::drop_unread_markers(&mut root);
    let mut root = conditions::times::apply(root);
    estimate::guesses::note(&mut root, binder.context().env);
    let root = match prune_columns::changes_or_locks(&root) {
        true => root,
        false => unnest::late_values(root),
    };
    let root = unnest::aggregates(conditions::null_operands::apply(root), binder);
    let catalog = binder.context().catalog.clone();
    let mut root = finish(root, &catalog);
    prune_members::apply(&mut root);
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

/// The rules after subqueries have become joins, for a plan whose subqueries are finished.
fn choose(root: Node, catalog: &Catalog) -> Node {
    let root = conditions::factor_or::apply(root);
    let root = conditions::restrict_by_or::apply(root);
    let root = partitions::apply(push_filters::apply(root), catalog);
    let mut root = unique_semi_joins::apply(root, catalog);
    estimate::size_ctes(&mut root, catalog);
    // Whether an index has all columns of a scan depends on which of them are read.
    prune_columns::before_choices(&mut root);
    let root = order::joined::apply(root, catalog);
    let root = order_joins::apply(root, catalog);
    let root = order::scans::apply(barriers::drop_empty(root), catalog);
    let root = join_methods::apply(root, catalog);
    let mut root = interleave_joins::finish(root);
    spans::union::put_in_place(&mut root);
    let root = order::use_order::apply(root);
    let mut root = lock_scans::apply(root, catalog);
    partial_indexes::drop_implied(&mut root);
    prune_columns::apply(&mut root);
    root
}
