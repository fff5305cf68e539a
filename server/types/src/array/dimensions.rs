//! Dimensions of arrays and their limits.

use crate::{Error, Result, SqlState};

/// The largest number of dimensions of an array.
pub const DIMENSIONS_MAX: usize = 6;
/// The largest number of elements of an array.
pub const ITEMS_MAX: usize = 134_217_727;

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
