//! Makes the results of calls.

use braid_types::geometry::Point;
use braid_types::{Datum, Result};

pub(super) fn truth(value: bool) -> Result<Datum> {
    Ok(Datum::Bool(value))
}

pub(super) fn number(value: f64) -> Result<Datum> {
    Ok(Datum::Float(value))
}

pub(super) fn datum(bytes: Vec<u8>) -> Result<Datum> {
    Ok(Datum::bytes(bytes))
}

/// The closest point that was found, and its distance; NULL where the distance is no number.
pub(super) fn closest((distance, point): (f64, Point)) -> Result<Datum> {
    if distance.is_nan() { Ok(Datum::Null) } else { datum(point.to_bytes()) }
}
