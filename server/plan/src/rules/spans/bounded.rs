//! The bounds of an index while conditions are added.

use crate::tree::node::Bound;

/// The most combinations of several IN lists that one access may have.
const POINTS_MAX: usize = 10_000;

/// Bounds of an index's key columns.
pub(crate) struct Bounded {
    /// Conditions on the first key columns.
    pub bounds: Vec<Bound>,
    /// The part of the rows inside, of those that the index has.
    pub part: f64,
    /// How many keys equalities give, at most.
    pub points: usize,
    /// Places of conditions that the bounds express exactly.
    pub exact: Vec<usize>,
    /// Places of the conditions that the first bound comes from.
    pub first: Vec<usize>,
    /// A bound is a range with one end.
    pub is_half_open: bool,
}

impl Bounded {
    pub(crate) fn push(&mut self, bound: Bound, used: Vec<usize>, part: f64) {
        if self.bounds.is_empty() {
            self.first.clone_from(&used);
        }
        self.bounds.push(bound);
        self.exact.extend(used);
        self.part *= part.min(1.0);
    }

    /// Whether this number of values for the next column is not too much.
    pub(crate) fn has_place_for(&self, count: usize) -> bool {
        self.points == 1 || self.points.saturating_mul(count) <= POINTS_MAX
    }
}
