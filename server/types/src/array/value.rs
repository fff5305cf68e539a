//! How arrays are made, their shape and their order.

use std::cmp::Ordering;

use super::{Dimension, Members};
use crate::{Array, Datum, SqlType, work};

impl Array {
    /// An array of one dimension whose first subscript is 1.
    pub fn new(element: SqlType, items: Vec<Datum>) -> Self {
        Array::from_lower(element, 1, items)
    }

    /// An array of one dimension.
    pub fn from_lower(element: SqlType, lower: i32, items: Vec<Datum>) -> Self {
        Array { element, lower, items, inner: Vec::new(), members: Members::default() }
    }

    /// An array of these dimensions, which hold as many items. Without items it has none.
    pub fn from_dimensions(element: SqlType, dimensions: &[Dimension], items: Vec<Datum>) -> Self {
        match dimensions {
            [first, inner @ ..] if !items.is_empty() => {
                debug_assert_eq!(
                    dimensions.iter().map(|d| d.length).product::<usize>(),
                    items.len()
                );
                Array { inner: inner.to_vec(), ..Array::from_lower(element, first.lower, items) }
            }
            _ => Array::new(element, Vec::new()),
        }
    }

    /// The same dimensions with other items of another type.
    #[must_use]
    pub fn with_items(&self, element: SqlType, items: Vec<Datum>) -> Self {
        debug_assert_eq!(items.len(), self.items.len());
        Array { inner: self.inner.clone(), ..Array::from_lower(element, self.lower, items) }
    }

    /// The number of elements below one subscript of the first dimension.
    pub fn inner_len(&self) -> usize {
        self.inner.iter().map(|dimension| dimension.length).product()
    }

    /// The length of the first dimension.
    pub fn outer_len(&self) -> usize {
        self.items.len().checked_div(self.inner_len()).unwrap_or(0)
    }

    /// Every dimension; none for an array without elements.
    pub fn dimensions(&self) -> Vec<Dimension> {
        if self.items.is_empty() {
            return Vec::new();
        }
        let first = Dimension { lower: self.lower, length: self.outer_len() };
        std::iter::once(first).chain(self.inner.iter().copied()).collect()
    }

    /// PostgreSQL's array order: elements, then their number, then dimensions, then bounds.
    pub fn compare(&self, other: &Self) -> Ordering {
        for (left, right) in self.items.iter().zip(&other.items) {
            work::note(1);
            let order = left.compare_typed(right, &self.element);
            if order != Ordering::Equal {
                return order;
            }
        }
        let length = self.items.len().cmp(&other.items.len());
        let count = length.then_with(|| self.inner.len().cmp(&other.inner.len()));
        // Empty arrays have no bounds.
        if count != Ordering::Equal || self.items.is_empty() {
            return count;
        }
        let lengths = |array: &Self| array.dimensions().into_iter().map(|d| d.length);
        let lowers = |array: &Self| array.dimensions().into_iter().map(|d| d.lower);
        if self.inner.is_empty() {
            return self.lower.cmp(&other.lower);
        }
        lengths(self).cmp(lengths(other)).then_with(|| lowers(self).cmp(lowers(other)))
    }
}
