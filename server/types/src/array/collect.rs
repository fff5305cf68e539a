//! Arrays that become the elements of one array: `array_agg` and `ARRAY (SELECT …)` of arrays.

use super::{Array, Dimension, check_dimensions};
use crate::{Datum, Error, Result, SqlState, SqlType};

/// The cause of an error: arrays that are not alike cannot become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnlikeArrays;

impl std::error::Error for UnlikeArrays {}

impl std::fmt::Display for UnlikeArrays {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the arrays are not alike")
    }
}

/// The arrays so far, which all have the same dimensions.
pub struct ArrayOfArrays {
    element: SqlType,
    inner: Vec<Dimension>,
    items: Vec<Datum>,
    count: usize,
    bytes: usize,
}

impl ArrayOfArrays {
    /// No arrays of these elements.
    pub fn new(element: SqlType) -> Self {
        ArrayOfArrays { element, inner: Vec::new(), items: Vec::new(), count: 0, bytes: 0 }
    }

    /// Adds an array; 22004 for NULL, 2202E for an empty one and for other dimensions.
    pub fn add(&mut self, array: &Datum) -> Result<()> {
        let Datum::Array(array) = array else {
            let message = "cannot accumulate null arrays";
            return Err(Error::new(SqlState::NullValueNotAllowed, message).caused_by(UnlikeArrays));
        };
        let mismatch = |message: &str| {
            Err(Error::new(SqlState::ArraySubscriptError, message).caused_by(UnlikeArrays))
        };
        let dimensions = array.dimensions();
        if dimensions.is_empty() {
            return mismatch("cannot accumulate empty arrays");
        }
        if self.count == 0 {
            self.inner = dimensions;
        } else if self.inner != dimensions {
            return mismatch("cannot accumulate arrays of different dimensionality");
        }
        self.count += 1;
        check_dimensions(&self.dimensions())?;
        self.bytes += array.items.iter().map(Datum::size_bytes).sum::<usize>();
        self.items.extend(array.items.iter().cloned());
        Ok(())
    }

    fn dimensions(&self) -> Vec<Dimension> {
        let first = Dimension { lower: 1, length: self.count };
        std::iter::once(first).chain(self.inner.iter().copied()).collect()
    }

    /// The array of all of them; `None` if there were none.
    pub fn to_array(&self) -> Option<Array> {
        let dimensions = self.dimensions();
        let array =
            || Array::from_dimensions(self.element.clone(), &dimensions, self.items.clone());
        (self.count > 0).then(array)
    }

    /// Approximate bytes of memory that it takes.
    pub fn size_bytes(&self) -> usize {
        self.bytes
    }
}
