//! The array itself: its dimensions, their limits, its order.

use std::cmp::Ordering;

use crate::{Datum, Error, Result, SqlState, SqlType};

/// The largest number of dimensions of an array.
pub const DIMENSIONS_MAX: usize = 6;
/// The largest number of elements of an array.
pub const ITEMS_MAX: usize = 134_217_727;

/// An array.
#[derive(Clone, Debug)]
pub struct Array {
    /// The type of its elements.
    pub element: SqlType,
    /// The subscript of the first element, 1 unless a literal or an assignment said otherwise.
    pub lower: i32,
    /// The elements; those of the last dimension stand side by side.
    pub items: Vec<Datum>,
    /// The dimensions after the first one; most arrays have none.
    pub inner: Vec<Dimension>,
}

/// One dimension of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The first subscript.
    pub lower: i32,
    /// How many subscripts there are.
    pub length: usize,
}

impl Dimension {
    /// The last subscript.
    pub fn upper(&self) -> i64 {
        i64::from(self.lower) + self.length as i64 - 1
    }

    /// The place of a subscript, `None` outside of the dimension.
    pub fn place(&self, subscript: i64) -> Option<usize> {
        let place = usize::try_from(subscript.checked_sub(i64::from(self.lower))?).ok()?;
        (place < self.length).then_some(place)
    }
}

/// 54000 for an array with too many elements.
pub fn too_many_items() -> Error {
    let message = format!("array size exceeds the maximum allowed ({ITEMS_MAX})");
    Error::new(SqlState::ProgramLimitExceeded, message)
}

/// 54000 for an array with too many dimensions.
pub fn too_many_dimensions(count: usize) -> Error {
    let message = format!(
        "number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
    );
    Error::new(SqlState::ProgramLimitExceeded, message)
}

/// The number of elements of these dimensions; 54000 beyond a limit.
pub fn check_dimensions(dimensions: &[Dimension]) -> Result<usize> {
    if dimensions.len() > DIMENSIONS_MAX {
        return Err(too_many_dimensions(dimensions.len()));
    }
    let mut count = 1usize;
    for dimension in dimensions {
        count = count
            .checked_mul(dimension.length)
            .filter(|n| *n <= ITEMS_MAX)
            .ok_or_else(too_many_items)?;
    }
    for dimension in dimensions {
        if i64::from(dimension.lower) + dimension.length as i64 > i64::from(i32::MAX) {
            let message = format!("array lower bound is too large: {}", dimension.lower);
            return Err(Error::new(SqlState::ProgramLimitExceeded, message));
        }
    }
    Ok(if dimensions.is_empty() { 0 } else { count })
}

impl Array {
    /// An array of one dimension whose first subscript is 1.
    pub fn new(element: SqlType, items: Vec<Datum>) -> Self {
        Array::from_lower(element, 1, items)
    }

    /// An array of one dimension.
    pub fn from_lower(element: SqlType, lower: i32, items: Vec<Datum>) -> Self {
        Array { element, lower, items, inner: Vec::new() }
    }

    /// An array of these dimensions, which hold as many items. Without items it has none.
    pub fn from_dimensions(element: SqlType, dimensions: &[Dimension], items: Vec<Datum>) -> Self {
        match dimensions {
            [first, inner @ ..] if !items.is_empty() => {
                debug_assert_eq!(
                    dimensions.iter().map(|d| d.length).product::<usize>(),
                    items.len()
                );
                Array { element, lower: first.lower, items, inner: inner.to_vec() }
            }
            _ => Array::new(element, Vec::new()),
        }
    }

    /// The same dimensions with other items of another type.
    #[must_use]
    pub fn with_items(&self, element: SqlType, items: Vec<Datum>) -> Self {
        debug_assert_eq!(items.len(), self.items.len());
        Array { element, lower: self.lower, items, inner: self.inner.clone() }
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
