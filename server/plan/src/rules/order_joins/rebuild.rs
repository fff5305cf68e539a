//! The joins of a plan in the order that was found.

use braid_catalog::Catalog;

use crate::tree::expr::Expr;
use crate::tree::node::{Filter, Join, JoinKind, Node};

use super::run::{Attached, Input, Run, is_reordered};
use super::search::{self, Step, Tree};
use super::set::Set;
use super::sizes::Sizes;
use crate::rules::push_filters::needs;
use crate::rules::walk;

/// Gives every run of joins of a plan its order.
pub(crate) fn apply(node: Node, catalog: &Catalog) -> Node {
    match node {
        Node::Join(join) if is_reordered(&join) => {
            let mut run = Run::of(Node::Join(join), catalog, &|node| apply(node, catalog));
            if run.inputs.len() > Set::INPUTS_MAX {
                return in_written_order(run);
            }
            run.find_derived();
            match search::cheapest(&Sizes::new(&run, catalog)) {
                Some(tree) => in_order(run, &tree),
                None => in_written_order(run),
            }
        }
        other => walk::map_children(other, &mut |child| apply(child, catalog)),
    }
}

/// The joins as a tree says.
fn in_order(mut run: Run, tree: &Tree) -> Node {
    let all = Set::up_to(run.inputs.len() - 1);
    let node = built(&mut run, all, tree);
    let open = run.conditions.into_iter().filter(|condition| condition.needs.is_empty());
    filtered(node, open.map(|condition| condition.expr).collect())
}

fn built(run: &mut Run, set: Set, tree: &Tree) -> Node {
    let Some(part) = tree.get(&set) else { return Node::one_row() };
    let (left, right) = match part.step {
        Step::Input(place) => {
            return std::mem::replace(&mut run.inputs[place].node, Node::one_row());
        }
        Step::Join { left, right } => (left, right),
    };
    let checked = run.checked(left, right);
    let nodes = (built(run, left, tree), built(run, right, tree));
    let checked = checked.into_iter().map(|place| run.conditions[place].expr.clone());
    let checked: Vec<Expr> = checked.collect();
    match attached_in(run, right) {
        Some(attached) => {
            let kind = attached.kind;
            let on = std::mem::take(&mut attached.on);
            filtered(joined(kind, nodes, on, part.rows), checked)
        }
        None => joined(JoinKind::Inner, nodes, checked, part.rows),
    }
}

fn attached_in(run: &mut Run, set: Set) -> Option<&mut Attached> {
    let place = set.first().filter(|_| set.len() == 1)?;
    run.inputs.get_mut(place)?.attached.as_mut()
}

/// One input after the other: there are too many to look for an order.
fn in_written_order(run: Run) -> Node {
    let mut conditions: Vec<Expr> = run.conditions.into_iter().map(|c| c.expr).collect();
    let mut inputs = run.inputs.into_iter();
    let Some(first) = inputs.next() else { return Node::one_row() };
    let (mut node, mut slots) = (first.node, first.slots);
    let mut all = slots.clone();
    let inputs: Vec<Input> = inputs.collect();
    all.extend(inputs.iter().flat_map(|input| &input.slots));
    for Input { node: right, slots: own, attached, .. } in inputs {
        slots.extend(own);
        let is_ready = |e: &Expr| {
            let mut read = needs(e).into_iter().filter(|slot| all.contains(slot));
            read.all(|slot| slots.contains(&slot))
        };
        let (ready, rest) = conditions.into_iter().partition(is_ready);
        conditions = rest;
        node = match attached {
            Some(Attached { kind, on, .. }) => {
                filtered(joined(kind, (node, right), on, 0.0), ready)
            }
            None => joined(JoinKind::Inner, (node, right), ready, 0.0),
        };
    }
    filtered(node, conditions)
}

fn filtered(input: Node, predicates: Vec<Expr>) -> Node {
    match predicates.is_empty() {
        true => input,
        false => Node::Filter(Filter::of(input, predicates)),
    }
}

fn joined(kind: JoinKind, inputs: (Node, Node), on: Vec<Expr>, rows: f64) -> Node {
    Node::Join(Box::new(Join { rows, ..Join::new(kind, inputs, on) }))
}
