//! Inner joins in a better order: greedy, smallest intermediate result first.
//!
//! A run of inner joins without LATERAL is taken apart into its inputs and conditions; the
//! smallest input starts, and each step adds the input that keeps the result smallest, connected
//! ones before cross products.

use braid_catalog::Catalog;

use crate::Slot;
use crate::tree::expr::Expr;
use crate::tree::node::{Filter, Join, JoinKind, JoinMethod, Node};

use super::push_filters::needs;
use super::{estimate, walk};

pub fn apply(node: Node, catalog: &Catalog) -> Node {
    match node {
        Node::Join(join) if is_plain(&join) => {
            let (mut inputs, mut conditions) = (Vec::new(), Vec::new());
            flatten(Node::Join(join), &mut inputs, &mut conditions, catalog);
            arrange(inputs, conditions, catalog)
        }
        other => walk::map_children(other, &mut |child| apply(child, catalog)),
    }
}

fn is_plain(join: &Join) -> bool {
    join.kind == JoinKind::Inner && !join.lateral
}

fn flatten(node: Node, inputs: &mut Vec<Node>, conditions: &mut Vec<Expr>, catalog: &Catalog) {
    match node {
        Node::Join(join) if is_plain(&join) => {
            let join = *join;
            flatten(join.left, inputs, conditions, catalog);
            flatten(join.right, inputs, conditions, catalog);
            conditions.extend(join.on);
        }
        other => inputs.push(apply(other, catalog)),
    }
}

struct Input {
    node: Node,
    slots: Vec<Slot>,
    rows: f64,
}

fn arrange(inputs: Vec<Node>, conditions: Vec<Expr>, catalog: &Catalog) -> Node {
    let all: Vec<Slot> = inputs.iter().flat_map(Node::slots).collect();
    let mut open: Vec<Input> = inputs
        .into_iter()
        .map(|node| Input { slots: node.slots(), rows: estimate::rows(&node, catalog), node })
        .collect();
    // What each condition needs of this run of joins.
    let mut conditions: Vec<(Vec<Slot>, Expr)> = conditions
        .into_iter()
        .map(|e| {
            let mut slots = needs(&e);
            slots.retain(|slot| all.contains(slot));
            (slots, e)
        })
        .collect();
    let start = (0..open.len()).min_by(|a, b| open[*a].rows.total_cmp(&open[*b].rows));
    let Some(start) = start else { return Node::one_row() };
    let mut done = open.remove(start);
    while !open.is_empty() {
        let mut best: Option<(bool, f64, usize)> = None;
        for (i, input) in open.iter().enumerate() {
            let usable: Vec<Expr> = conditions
                .iter()
                .filter(|(slots, _)| applies(slots, &done.slots, &input.slots))
                .map(|(_, e)| e.clone())
                .collect();
            let rows = estimate::joined(
                (done.rows, input.rows),
                &usable,
                &done.node,
                &input.node,
                catalog,
            );
            let candidate = (usable.is_empty(), rows, i);
            let better = match &best {
                None => true,
                Some((cross, known, _)) => (candidate.0, rows) < (*cross, *known),
            };
            if better {
                best = Some(candidate);
            }
        }
        let Some((_, rows, i)) = best else { break };
        let input = open.remove(i);
        let (on, rest): (Vec<_>, Vec<_>) = conditions
            .into_iter()
            .partition(|(slots, _)| applies(slots, &done.slots, &input.slots));
        conditions = rest;
        let mut slots = done.slots;
        slots.extend(&input.slots);
        let node = Node::Join(Box::new(Join {
            kind: JoinKind::Inner,
            left: done.node,
            right: input.node,
            on: on.into_iter().map(|(_, e)| e).collect(),
            lateral: false,
            outer: Vec::new(),
            method: JoinMethod::Loop,
            rows,
        }));
        done = Input { node, slots, rows };
    }
    if conditions.is_empty() {
        return done.node;
    }
    let predicates = conditions.into_iter().map(|(_, e)| e).collect();
    Node::Filter(Box::new(Filter { input: done.node, predicates }))
}

/// Whether a condition can be checked once these two are joined.
fn applies(slots: &[Slot], left: &[Slot], right: &[Slot]) -> bool {
    slots.iter().all(|slot| left.contains(slot) || right.contains(slot))
        && slots.iter().any(|slot| right.contains(slot))
}
