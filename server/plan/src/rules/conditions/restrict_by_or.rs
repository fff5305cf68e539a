//! An OR over several tables also restricts each table alone.
//!
//! ```text
//!   (n1.name = 'A' AND n2.name = 'B') OR (n1.name = 'B' AND n2.name = 'A')
//!   n1.name = 'A' OR n1.name = 'B'     is implied, and n1 can be filtered before the join
//! ```
//!
//! The OR itself stays. Only conditions that cannot fail are taken, since they are looked at for
//! rows that the join may drop.

use super::cannot_fail::cannot_fail;
use crate::Slot;
use crate::rules::push_filters::needs;
use crate::rules::walk;
use crate::tree::expr::{Expr, conjunction};
use crate::tree::node::{JoinKind, Node};

/// The most branches of an OR that is looked at.
const BRANCHES_MAX: usize = 100;

pub(crate) fn apply(mut node: Node) -> Node {
    let mut tables = Vec::new();
    match &mut node {
        Node::Filter(filter) if matches!(filter.input, Node::Join(_)) => {
            collect(&filter.input, &mut tables);
            restrict(&mut filter.predicates, &tables);
        }
        Node::Join(join) if join.kind == JoinKind::Inner => {
            collect(&join.left, &mut tables);
            collect(&join.right, &mut tables);
            restrict(&mut join.on, &tables);
        }
        _ => {}
    }
    walk::map_children(node, &mut apply)
}

/// The slots of each input of a tree of joins.
fn collect(node: &Node, tables: &mut Vec<Vec<Slot>>) {
    match node {
        Node::Join(join) => {
            collect(&join.left, tables);
            if !matches!(join.kind, JoinKind::Semi | JoinKind::Anti) {
                collect(&join.right, tables);
            }
        }
        Node::Filter(filter) => collect(&filter.input, tables),
        other => tables.push(other.slots()),
    }
}

fn restrict(conditions: &mut Vec<Expr>, tables: &[Vec<Slot>]) {
    let mut found = Vec::new();
    for condition in conditions.iter() {
        let Expr::Or(branches) = condition else { continue };
        if branches.len() > BRANCHES_MAX {
            continue;
        }
        let read = needs(condition);
        let used: Vec<&Vec<Slot>> =
            tables.iter().filter(|slots| read.iter().any(|s| slots.contains(s))).collect();
        if used.len() > 1 {
            found.extend(used.into_iter().filter_map(|slots| part_of(branches, slots)));
        }
    }
    conditions.extend(found);
}

/// What an OR says of one table, if each of its branches says something.
fn part_of(branches: &[Expr], slots: &[Slot]) -> Option<Expr> {
    let of_branch = |branch: &Expr| {
        let parts = match branch {
            Expr::And(list) => list.iter().collect(),
            e => vec![e],
        };
        let own = |e: &&&Expr| {
            let read = needs(e);
            !read.is_empty() && read.iter().all(|slot| slots.contains(slot)) && cannot_fail(e)
        };
        let own: Vec<Expr> = parts.iter().filter(own).map(|e| (*e).clone()).collect();
        (!own.is_empty()).then(|| conjunction(own))
    };
    Some(Expr::Or(branches.iter().map(of_branch).collect::<Option<_>>()?))
}
