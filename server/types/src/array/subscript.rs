//! Elements and slices.

use super::{Array, Dimension};
use crate::Datum;

/// The items of a box inside of an array, in order. `spans` has a place and a length for each
/// dimension.
pub(super) fn places(dimensions: &[Dimension], spans: &[(usize, usize)]) -> Vec<usize> {
    let mut found = vec![0];
    for (dimension, (start, length)) in dimensions.iter().zip(spans) {
        found = found
            .into_iter()
            .flat_map(|base| (0..*length).map(move |i| base * dimension.length + start + i))
            .collect();
    }
    found
}

impl Array {
    /// `a[i][j]`: NULL outside of the array, or with another number of subscripts than dimensions.
    pub fn item(&self, subscripts: &[i64]) -> Datum {
        if let ([subscript], true) = (subscripts, self.inner.is_empty()) {
            let place = subscript.checked_sub(i64::from(self.lower));
            let place = place.and_then(|place| usize::try_from(place).ok());
            return place.and_then(|place| self.items.get(place)).cloned().unwrap_or(Datum::Null);
        }
        let dimensions = self.dimensions();
        if dimensions.len() != subscripts.len() {
            return Datum::Null;
        }
        let mut place = 0;
        for (dimension, subscript) in dimensions.iter().zip(subscripts) {
            let Some(inside) = dimension.place(*subscript) else { return Datum::Null };
            place = place * dimension.length + inside;
        }
        self.items.get(place).cloned().unwrap_or(Datum::Null)
    }

    /// `a[1:2][:]`: the part that the array has of it, whose subscripts begin at 1. A bound that
    /// is `None` is the array's own.
    #[must_use]
    pub fn slice(&self, bounds: &[(Option<i64>, Option<i64>)]) -> Array {
        let empty = || Array::new(self.element.clone(), Vec::new());
        let dimensions = self.dimensions();
        if bounds.len() > dimensions.len() {
            return empty();
        }
        let mut spans = Vec::with_capacity(dimensions.len());
        for (at, dimension) in dimensions.iter().enumerate() {
            let (first, last) = (i64::from(dimension.lower), dimension.upper());
            let (lower, upper) = bounds.get(at).copied().unwrap_or_default();
            let lower = lower.unwrap_or(first).max(first);
            let upper = upper.unwrap_or(last).min(last);
            if lower > upper {
                return empty();
            }
            spans.push(((lower - first) as usize, (upper - lower + 1) as usize));
        }
        let items = places(&dimensions, &spans).into_iter().map(|at| self.items[at].clone());
        let items = items.collect();
        let shape: Vec<Dimension> =
            spans.iter().map(|(_, length)| Dimension { lower: 1, length: *length }).collect();
        Array::from_dimensions(self.element.clone(), &shape, items)
    }
}
