//! Order and hash of floats, as SQL has them.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// `a` against `b` by exact value; NaN equals itself and is the largest.
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// An integral float that an `i64` holds hashes as that integer, so that equal numbers hash alike.
pub(crate) fn hash_float<H: Hasher>(value: f64, state: &mut H) {
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    if in_range && value.fract() == 0.0 {
        (value as i64).hash(state);
    } else if value.is_nan() {
        f64::NAN.to_bits().hash(state);
    } else {
        value.to_bits().hash(state);
    }
}
