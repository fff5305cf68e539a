//! Exact decimal numbers of any length, with PostgreSQL's scale rules.
//!
//! Here: the number, its order, text form, arithmetic (`arith`), powers and logarithms (`math`)
//! and conversions (`convert`). Not here: casts by type (`cast`).
//!
//! Rules:
//! - a finite number is a coefficient and a display scale of 0 to 16383 digits;
//! - what fits 128 bits is `Small`, so that sums over many rows allocate nothing; both forms of
//!   one number compare and hash alike;
//! - rounding is half away from zero.

mod arith;
mod convert;
mod math;
mod number;
mod template;

pub use number::{Coefficient, Numeric};
pub use template::to_number;
