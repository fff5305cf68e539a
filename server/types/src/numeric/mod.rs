//! Exact decimal numbers of any length, with PostgreSQL's scale rules.
//!
//! Here: the number, its order and text form. Methods are the basic arithmetic (`arith`) and the
//! conversions (`convert`). Functions by topic are in [`rounding`], [`integers`] (divisors,
//! factorial) and [`math`] (roots, powers, logarithms). Not here: casts by type (`cast`).
//!
//! Rules:
//! - a finite number is a coefficient and a display scale of 0 to 16383 digits;
//! - what fits 128 bits is `Small`, so that sums over many rows allocate nothing; both forms of
//!   one number compare and hash alike;
//! - rounding is half away from zero.

mod arith;
mod convert;
mod digits;
pub mod integers;
pub mod math;
pub mod money;
mod number;
pub mod rounding;
mod template;

pub(crate) use convert::from_f64_exact;
pub use number::{Coefficient, Numeric};
pub use template::{to_char, to_number};
