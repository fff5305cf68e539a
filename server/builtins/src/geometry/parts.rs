//! What a subscript reads: the numbers of a point or line, the points of a segment or box.

use braid_types::{Datum, Result};

use super::arguments::bytes;
use crate::Call;
use crate::registry::tables::Registry;

pub(super) fn register(registry: &mut Registry) {
    registry.add("braid_part(point, int4) -> float8", number_part);
    registry.add("braid_part(line, int4) -> float8", number_part);
    registry.add("braid_part(lseg, int4) -> point", point_part);
    registry.add("braid_part(box, int4) -> point", point_part);
}

/// The bytes of one of the parts of that size; `None` outside of the value.
fn part<'a>(call: &Call<'a>, size: usize) -> Result<Option<&'a [u8]>> {
    let Ok(place) = usize::try_from(call.int(1)?) else { return Ok(None) };
    let start = place.saturating_mul(size);
    Ok(bytes(call, 0)?.get(start..start.saturating_add(size)))
}

fn number_part(call: &Call<'_>) -> Result<Datum> {
    let number = part(call, 8)?.and_then(|bytes| bytes.try_into().ok()).map(f64::from_be_bytes);
    Ok(number.map_or(Datum::Null, Datum::Float))
}

fn point_part(call: &Call<'_>) -> Result<Datum> {
    Ok(part(call, 16)?.map_or(Datum::Null, Datum::bytes))
}
