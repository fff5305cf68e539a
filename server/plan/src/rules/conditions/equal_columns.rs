//! A filter of one side of a join reaches the other side through an equality.
//!
//! ```text
//!   a.x = b.y AND a.x = 5    →   b.y = 5 as well: b is read by its index, or filtered
//! ```
//!
//! Both columns must have the same type, so that equal values compare alike with a third one. The
//! conditions moved compare a column with constants or parameters, which cannot fail. A side that
//! a lookup finds cheaply needs none of this.

use braid_catalog::Catalog;

use crate::Slot;
use crate::rules::{choose_index, cost, estimate};
use crate::tree::expr::{CompareOp, Expr};
use crate::tree::node::{Bound, Join, JoinKind, JoinMethod, Node, Scan};

/// The cost of a scan that starts, in rows: as much as a lookup.
const START_COST: f64 = 40.0;
/// Lookups are replaced if the scan costs less than this part of them.
const GAIN: f64 = 0.25;

/// A column and a condition on nothing else.
type Fact = (Slot, Expr);

/// The right side of a join with what the left side's conditions say about it, if they say
/// something and that is cheaper than lookups.
pub(crate) fn narrowed(join: &Join, lookup_cost: f64, catalog: &Catalog) -> Option<Scan> {
    if !matches!(join.kind, JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti) {
        return None;
    }
    let Node::Scan(scan) = &join.right else { return None };
    // The conditions behind bounds are no longer known.
    if !scan.access.bounds.is_empty() || scan.lock.is_some() {
        return None;
    }
    let mut known = Vec::new();
    facts(&join.left, &mut known);
    let right = join.right.slots();
    let pairs = equal_pairs(&join.on);
    let mut found = moved(&known, pairs.into_iter().filter(|(_, to)| right.contains(to)));
    found.retain(|(_, e)| !scan.filter.iter().any(|own| own.same(e)));
    if found.is_empty() {
        return None;
    }
    let mut scan = Scan::clone(scan);
    scan.filter.extend(found.into_iter().map(|(_, e)| e));
    scan.rows = 0.0;
    choose_index::choose(&mut scan, &[], catalog);
    let read = cost::read(&scan, catalog);
    let cost = START_COST + read + estimate::rows(&join.left, catalog);
    (cost < lookup_cost * GAIN).then_some(scan)
}

/// Both directions of each equality of two columns of one type.
fn equal_pairs(conditions: &[Expr]) -> Vec<(Slot, Slot)> {
    let mut pairs = Vec::new();
    for condition in conditions {
        if let Expr::Compare(CompareOp::Eq, a, b) = condition {
            add_pair(a, b, &mut pairs);
        }
    }
    pairs
}

fn add_pair(a: &Expr, b: &Expr, pairs: &mut Vec<(Slot, Slot)>) {
    if let (Expr::Column(a, a_type), Expr::Column(b, b_type)) = (a, b)
        && a_type == b_type
    {
        pairs.extend([(*a, *b), (*b, *a)]);
    }
}

/// The facts of the first column of each pair, said of the second one.
fn moved(known: &[Fact], pairs: impl Iterator<Item = (Slot, Slot)>) -> Vec<Fact> {
    let mut found: Vec<Fact> = Vec::new();
    for (from, to) in pairs {
        for (_, e) in known.iter().filter(|(slot, _)| *slot == from) {
            let mut e = e.clone();
            rename(&mut e, from, to);
            if !found.iter().any(|(_, other)| other.same(&e)) {
                found.push((to, e));
            }
        }
    }
    found
}

fn rename(e: &mut Expr, from: Slot, to: Slot) {
    match e {
        Expr::Column(slot, _) if *slot == from => *slot = to,
        e => e.for_each_child_mut(&mut |child| rename(child, from, to)),
    }
}

/// What is known of the columns of an operator's rows.
fn facts(node: &Node, into: &mut Vec<Fact>) {
    match node {
        Node::Scan(scan) => {
            into.extend(scan.filter.iter().filter_map(fact));
            facts_of_bounds(scan, into);
        }
        Node::Filter(filter) => {
            facts(&filter.input, into);
            into.extend(filter.predicates.iter().filter_map(fact));
        }
        Node::Join(join) => match join.kind {
            JoinKind::Inner => {
                facts(&join.left, into);
                facts(&join.right, into);
                let mut pairs = equal_pairs(&join.on);
                if let JoinMethod::Hash { left, right, .. } = &join.method {
                    left.iter().zip(right).for_each(|(a, b)| add_pair(a, b, &mut pairs));
                }
                let more = moved(into, pairs.into_iter());
                let is_new = |(_, e): &Fact| !into.iter().any(|(_, known)| known.same(e));
                let more: Vec<Fact> = more.into_iter().filter(is_new).collect();
                into.extend(more);
            }
            JoinKind::Left | JoinKind::Semi | JoinKind::Anti => facts(&join.left, into),
            JoinKind::Right | JoinKind::Full => {}
        },
        _ => {}
    }
}

fn is_fixed(e: &Expr) -> bool {
    matches!(e, Expr::Const(..) | Expr::Param(..))
}

/// A comparison of one column with constants or parameters.
fn fact(condition: &Expr) -> Option<Fact> {
    let slot = match condition {
        Expr::Compare(op, a, b) if *op != CompareOp::Ne => match (&**a, &**b) {
            (Expr::Column(slot, _), value) | (value, Expr::Column(slot, _)) if is_fixed(value) => {
                *slot
            }
            _ => return None,
        },
        Expr::InList(e, list) if list.iter().all(is_fixed) => column(e)?,
        Expr::InSet(e, ..) => column(e)?,
        Expr::Quantified(q) if !q.all && is_fixed(&q.array) => column(&q.left)?,
        _ => return None,
    };
    Some((slot, condition.clone()))
}

fn column(e: &Expr) -> Option<Slot> {
    match e {
        Expr::Column(slot, _) => Some(*slot),
        _ => None,
    }
}

/// The comparisons that bounds say: their conditions have left the filter.
fn facts_of_bounds(scan: &Scan, into: &mut Vec<Fact>) {
    let Some(index) = scan.table.all_indexes().find(|index| index.number == scan.access.index)
    else {
        return;
    };
    for (bound, key) in scan.access.bounds.iter().zip(&index.keys) {
        let at = scan.table.position_of(key.column);
        let slot = scan.columns.iter().find(|(_, place)| Some(*place) == at);
        let (Some((slot, _)), Some(at)) = (slot, at) else { continue };
        let column = Box::new(Expr::Column(*slot, scan.table.columns[at].ty.clone()));
        let mut compare = |op, value: &Expr| {
            if is_fixed(value) {
                let value = Box::new(value.clone());
                into.push((*slot, Expr::Compare(op, column.clone(), value)));
            }
        };
        match bound {
            Bound::In(list) => match &list[..] {
                [value] => compare(CompareOp::Eq, value),
                list if list.iter().all(is_fixed) => {
                    into.push((*slot, Expr::InList(column, list.to_vec())));
                }
                _ => {}
            },
            Bound::Range { lower, upper } => {
                if let Some((value, inclusive)) = lower {
                    compare(if *inclusive { CompareOp::Ge } else { CompareOp::Gt }, value);
                }
                if let Some((value, inclusive)) = upper {
                    compare(if *inclusive { CompareOp::Le } else { CompareOp::Lt }, value);
                }
            }
            _ => {}
        }
    }
}
