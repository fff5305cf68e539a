//! Values that need subqueries are computed for the rows that LIMIT leaves, not for all that are
//! sorted.
//!
//! ```text
//!   SELECT c.id, (SELECT count(*) FROM o WHERE o.c = c.id) FROM c ORDER BY c.id LIMIT 50
//!
//!   Limit ── Sort ── Project ── c      ──▶      Project ── Limit ── Sort ── c
//! ```
//!
//! The keys of the sort must not need the subqueries themselves. Volatile values stay where they
//! are: how often they are computed shows.

use crate::rules::push_filters::substitute;
use crate::rules::walk;
use crate::tree::expr::{Expr, Slot};
use crate::tree::node::{Limit, Node, Project};

/// Moves such values in a plan and in its subqueries.
pub(crate) fn apply(node: Node) -> Node {
    let mut node = without_subqueries(node);
    // Once for the whole plan: each operator would look through all that are below it.
    walk::subplans(&mut node, &mut |plan| {
        let taken = std::mem::replace(plan, Node::one_row());
        *plan = apply(taken);
    });
    node
}

fn without_subqueries(node: Node) -> Node {
    let mut node = walk::map_children(node, &mut without_subqueries);
    move_up(&mut node);
    node
}

fn has_subquery(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e, Expr::Subquery(_)))
}

/// Whether values can be computed behind a sort by these keys, and are worth it.
fn are_late<'k>(values: &[(Slot, Expr)], mut keys: impl Iterator<Item = &'k Expr>) -> bool {
    let is_known = |key: &Expr| {
        let mut key = key.clone();
        substitute(&mut key, values);
        !has_subquery(&key)
    };
    values.iter().any(|(_, e)| has_subquery(e))
        && !values.iter().any(|(_, e)| e.is_volatile())
        && keys.all(is_known)
}

/// Puts the projection below a limit and its sort above them, if its values are late ones.
fn move_up(node: &mut Node) {
    let Node::Limit(limit) = node else { return };
    let Limit { input: Node::Sort(sort), limit: Some(_), ties, .. } = &mut **limit else { return };
    let Node::Project(project) = &mut sort.input else { return };
    if !are_late(&project.exprs, sort.keys.iter().map(|key| &key.expr).chain(&*ties)) {
        return;
    }
    let exprs = std::mem::take(&mut project.exprs);
    let keys = sort.keys.iter_mut().map(|key| &mut key.expr);
    keys.chain(ties).for_each(|key| substitute(key, &exprs));
    sort.input = std::mem::replace(&mut project.input, Node::one_row());
    let input = std::mem::replace(node, Node::one_row());
    *node = Node::Project(Box::new(Project { input, exprs }));
}
