//! Arrays of up to six dimensions: what they hold, their elements, slices and assignment.
//!
//! Here: the value, its order, `a[i][j]`, `a[1:2]`, and the array that an assignment to a part
//! makes. Not here: text and binary formats (`text`, `binary`), functions by name (`builtins`).
//!
//! ```text
//!   '[0:1][1:3]={{1,2,3},{4,5,6}}'
//!       lower 0, inner [lower 1, length 3], items 1 2 3 4 5 6
//! ```
//!
//! Rule: the number of items is a multiple of the product of the inner lengths, and an array
//! without items has no dimension.

mod assign;
mod collect;
mod dimensions;
mod members;
mod subscript;
mod value;

pub use crate::datum::{Array, Members};
pub use collect::{ArrayOfArrays, UnlikeArrays};
pub use dimensions::{
    DIMENSIONS_MAX, Dimension, ITEMS_MAX, check_dimensions, too_many_dimensions, too_many_items,
};
