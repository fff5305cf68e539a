//! Ranges and multiranges: their values, their order and what their operators compute.
//!
//! Here: which ranges there are (`kind`), how a range is made and compared (`value`), and sets of
//! ranges, which both kinds of values are (`set`). Not here: their text form (`text`), their wire
//! form (`binary`), functions by name (`builtins`).
//!
//! ```text
//!   int4range   [2,5)        one range:   lower cut before 2, upper cut before 5
//!   int4range   empty        no range
//!   int4multirange {[1,3),[7,9)}          several ranges, sorted, with gaps between them
//! ```
//!
//! Rules that must always hold:
//! - a range of integers or dates is stored as `[a,b)`; only a bound that is an infinite date keeps
//!   its own form;
//! - the ranges of a multirange are not empty, sorted, and neither overlap nor touch;
//! - an infinite bound (no value) is never inclusive.

mod kind;
mod set;
mod value;

pub use crate::datum::Range;
pub use kind::RangeKind;
pub use set::{
    adjoins, contains, contains_value, difference, ends_within, hull, intersection, is_left_of,
    merged, normalized, overlaps, starts_within,
};
