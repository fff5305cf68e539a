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
use crate::tree::node::{Limit, Node, Project, Sort};

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

/// What a projection computes.
type Values = Vec<(Slot, Expr)>;

/// The sort below a limit, and the projection between them that leaves its hidden keys out.
fn sort_below(limit: &mut Limit) -> Option<(&mut Sort, Option<Values>)> {
    match &mut limit.input {
        Node::Sort(sort) => Some((sort, None)),
        Node::Project(outer) => {
            let is_plain = outer.exprs.iter().all(|(_, e)| matches!(e, Expr::Column(..)));
            let Node::Sort(sort) = &mut outer.input else { return None };
            is_plain.then(|| (&mut **sort, Some(outer.exprs.clone())))
        }
        _ => None,
    }
}

/// Puts the projection below a limit and its sort above them, if its values are late ones.
fn move_up(node: &mut Node) {
    let Node::Limit(limit) = node else { return };
    if limit.limit.is_none() {
        return;
    }
    let mut ties = limit.ties.clone();
    let Some((sort, outer)) = sort_below(limit) else { return };
    let shown = outer.as_deref().unwrap_or_default();
    ties.iter_mut().for_each(|tie| substitute(tie, shown));
    let Node::Project(project) = &mut sort.input else { return };
    if !are_late(&project.exprs, sort.keys.iter().map(|key| &key.expr).chain(&ties)) {
        return;
    }
    let exprs = std::mem::take(&mut project.exprs);
    let keys = sort.keys.iter_mut().map(|key| &mut key.expr);
    keys.chain(&mut ties).for_each(|key| substitute(key, &exprs));
    sort.input = std::mem::replace(&mut project.input, Node::one_row());
    if let Node::Project(between) = &mut limit.input {
        limit.input = std::mem::replace(&mut between.input, Node::one_row());
    }
    limit.ties = ties;
    let input = std::mem::replace(node, Node::one_row());
    let values = Node::Project(Box::new(Project { input, exprs }));
    *node = match outer {
        None => values,
        Some(exprs) => Node::Project(Box::new(Project { input: values, exprs })),
    };
}
