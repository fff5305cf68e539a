//! Whether tables that are interleaved are joined by one pass over their range.
//!
//! ```text
//!   area ◁ site ◁ unit      one pass: (area ⋈ site) ⋈ unit     not: area ⋈ (site ⋈ unit)
//! ```

use super::run::Run;
use super::set::Set;
use crate::tree::node::{JoinKind, Node, Scan};

/// Whether a join of these sets reads the range of the left side only once more: the right side
/// is a table below those on the left, and the left side is such a pass itself.
pub(super) fn is_one_pass(run: &Run, left: Set, right: Set) -> bool {
    let Some(place) = right.first().filter(|_| right.len() == 1) else { return false };
    let is_joined = match run.inputs[place].attached.as_ref().map(|attached| attached.kind) {
        None | Some(JoinKind::Left) => true,
        Some(_) => false,
    };
    if !is_joined || !parent(run, place).is_some_and(|parent| Set::of(parent).is_within(left)) {
        return false;
    }
    let mut roots = 0;
    let mut parents: Vec<usize> = parent(run, place).into_iter().collect();
    for place in left.places() {
        match parent(run, place).filter(|parent| Set::of(*parent).is_within(left)) {
            Some(parent) => parents.push(parent),
            None => roots += 1,
        }
    }
    // Two tables below the same one are not one below the other.
    let number = parents.len();
    parents.sort_unstable();
    parents.dedup();
    roots == 1 && parents.len() == number
}

fn scan(run: &Run, place: usize) -> Option<&Scan> {
    match &run.inputs[place].node {
        Node::Scan(scan) => Some(scan),
        _ => None,
    }
}

/// The input with the nearest table that an input's table is interleaved in.
fn parent(run: &Run, place: usize) -> Option<usize> {
    let above = &scan(run, place)?.table.primary.interleaving.as_ref()?.above;
    above.iter().rev().find_map(|ancestor| {
        let is_it = |other: &usize| scan(run, *other).is_some_and(|s| s.table.id == ancestor.table);
        (0..run.inputs.len()).find(is_it)
    })
}
