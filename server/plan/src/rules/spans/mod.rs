//! From the conditions on a table to the bounds of an index.
//!
//! ```text
//!   index (a, b)
//!   a = 1 AND b < 5                           a: In [1]   b: Range (.. 5)
//!   a IN (1, 2) AND b IN (3, 4)               a: In [1, 2]   b: In [3, 4]   four spans
//!   a = 1 OR a = 2                            a: In [1, 2]
//!   (a = 1 AND b < 5) OR a > 7   a: Branches [ [In [1], Range (.. 5)], [Range (7 ..)] ]
//! ```
//!
//! Conditions on an inverted index become the terms that rows must have: see [`terms`].
//!
//! `exec` computes the spans of bounds when the scan starts, since parameters are known then. It
//! sorts and merges the spans of branches, so no row comes twice.

pub(crate) mod bounded;
pub(crate) mod bounds;
pub(crate) mod branches;
pub(crate) mod candidate;
pub(crate) mod columns;
mod local_times;
pub(crate) mod terms;
pub(crate) mod union;
