//! Geometric types of the plane: points, segments, paths, boxes, polygons, lines and circles.
//!
//! Here: the values, their text and binary forms, and arithmetic that reports overflows.
//! Not here: operators and functions (`builtins`).
//!
//! Rule: a datum holds a value as a [`crate::Datum::Bytes`] of PostgreSQL's binary format. Such
//! bytes have no order and no equality; no key and no hash table may hold them.
//!
//! ```text
//! point    x y                     box      high corner, low corner
//! lseg     first end, second end   line     a b c of a·x + b·y + c = 0
//! path     closed? count points    polygon  count points
//! circle   center, radius
//! ```

pub mod arith;
mod bytes;
mod convert;
mod forms;
mod read;
mod value;
mod write;

pub use convert::bounds;
pub(crate) use convert::cast;
pub(crate) use forms::{decode, format, parse};
pub use value::{Circle, Corners, Line, Path, Point, Polygon, Segment, Shape};
