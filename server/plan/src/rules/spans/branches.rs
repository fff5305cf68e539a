//! An OR of which every branch bounds an index is a union of spans.
//!
//! ```text
//!   (a BETWEEN 1 AND 3 OR a = 9) AND b = 5   index (a, b)
//!   branches: a in 1..3                      b = 5 stays in the filter: a range comes before it
//!             a = 9, b = 5                   each branch also has the conditions beside the OR
//! ```

use super::bounded::Bounded;
use super::columns::is_never;
use crate::tree::expr::Expr;
use crate::tree::node::Bound;

/// The branches of an OR as bounds.
pub(crate) struct Branches {
    /// The bounds of each branch.
    pub branches: Vec<Vec<Bound>>,
    /// The part of the rows that are in one of them, at most.
    pub part: f64,
    /// A branch has a range with one end.
    pub is_half_open: bool,
    /// Places of conditions that the branches express exactly.
    pub used: Vec<usize>,
}

/// The first OR among conditions that bounds an index in every branch. `bounded` gives the bounds
/// of a branch's conditions.
pub(crate) fn branches(
    conditions: &[&Expr],
    bounded: &dyn Fn(&[&Expr]) -> Bounded,
) -> Option<Branches> {
    // Other ORs would multiply the branches.
    let beside: Vec<(usize, &Expr)> = conditions
        .iter()
        .enumerate()
        .filter(|(_, e)| !matches!(e, Expr::Or(_)))
        .map(|(place, e)| (place, *e))
        .collect();
    conditions.iter().enumerate().find_map(|(place, e)| match e {
        Expr::Or(list) => of_list(place, list, &beside, bounded),
        _ => None,
    })
}

fn of_list(
    place: usize,
    list: &[Expr],
    beside: &[(usize, &Expr)],
    bounded: &dyn Fn(&[&Expr]) -> Bounded,
) -> Option<Branches> {
    let (branches, used) = (Vec::new(), Vec::new());
    let mut found = Branches { branches, part: 0.0, is_half_open: false, used };
    let mut exact_everywhere: Vec<usize> = beside.iter().map(|(place, _)| *place).collect();
    let mut is_exact = true;
    for branch in list {
        let mut own = Vec::new();
        parts(branch, &mut own);
        if own.iter().any(|e| is_never(e)) {
            continue;
        }
        let count = own.len();
        own.extend(beside.iter().map(|(_, e)| *e));
        let inside = bounded(&own);
        let waits = inside.bounds.iter().any(waits);
        if waits || !inside.first.iter().any(|place| *place < count) {
            return None;
        }
        // A bound that fails to be computed is left out, so the filter has to check everything.
        let is_safe = !inside.bounds.iter().any(Bound::can_fail);
        is_exact &= is_safe && (0..count).all(|place| inside.exact.contains(&place));
        exact_everywhere.retain(|known| {
            let at = beside.iter().position(|(place, _)| place == known);
            is_safe && at.is_some_and(|at| inside.exact.contains(&(count + at)))
        });
        found.part += inside.part;
        found.is_half_open |= inside.is_half_open;
        found.branches.push(inside.bounds);
    }
    if found.branches.is_empty() {
        return None;
    }
    found.used = exact_everywhere;
    if is_exact {
        found.used.push(place);
    }
    Some(found)
}

/// The conjuncts of a branch.
fn parts<'e>(e: &'e Expr, into: &mut Vec<&'e Expr>) {
    match e {
        Expr::And(list) => list.iter().for_each(|e| parts(e, into)),
        e => into.push(e),
    }
}

/// Whether computing a bound reads the store. A branch's bounds are computed before it is known
/// whether a row leads to the branch.
fn waits(bound: &Bound) -> bool {
    let mut waits = false;
    bound.for_each_expr(&mut |e| waits |= e.waits());
    waits
}
