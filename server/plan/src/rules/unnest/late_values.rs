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
use crate::tree::expr::Expr;
use crate::tree::node::{Limit, Node, Project, Sort};

/// Moves such values in a plan and in its subqueries.
pub fn apply(node: Node) -> Node {
    let mut node = walk::map_children(node, &mut apply);
    walk::subplans(&mut node, &mut |plan| {
        let taken = std::mem::replace(plan, Node::one_row());
        *plan = apply(taken);
    });
    match node {
        Node::Limit(limit) if is_late(&limit) => late(*limit),
        node => node,
    }
}

fn sorted_project(limit: &Limit) -> Option<(&Sort, &Project)> {
    let Node::Sort(sort) = &limit.input else { return None };
    let Node::Project(project) = &sort.input else { return None };
    Some((sort, project))
}

fn has_subquery(e: &Expr) -> bool {
    e.any(&mut |e| matches!(e, Expr::Subquery(_)))
}

fn is_late(limit: &Limit) -> bool {
    let Some((sort, project)) = sorted_project(limit) else { return false };
    let values = || project.exprs.iter().map(|(_, e)| e);
    let keys = sort.keys.iter().map(|key| &key.expr).chain(&limit.ties);
    let is_known = |key: &Expr| {
        let mut key = key.clone();
        substitute(&mut key, &project.exprs);
        !has_subquery(&key)
    };
    limit.limit.is_some()
        && values().any(has_subquery)
        && !values().any(Expr::is_volatile)
        && keys.into_iter().all(is_known)
}

fn late(mut limit: Limit) -> Node {
    let mut sort = match std::mem::replace(&mut limit.input, Node::one_row()) {
        Node::Sort(sort) => *sort,
        input => return Node::Limit(Box::new(Limit { input, ..limit })),
    };
    let project = match std::mem::replace(&mut sort.input, Node::one_row()) {
        Node::Project(project) => *project,
        input => {
            limit.input = Node::Sort(Box::new(Sort { input, ..sort }));
            return Node::Limit(Box::new(limit));
        }
    };
    let keys = sort.keys.iter_mut().map(|key| &mut key.expr);
    keys.chain(&mut limit.ties).for_each(|key| substitute(key, &project.exprs));
    sort.input = project.input;
    limit.input = Node::Sort(Box::new(sort));
    Node::Project(Box::new(Project { input: Node::Limit(Box::new(limit)), exprs: project.exprs }))
}
