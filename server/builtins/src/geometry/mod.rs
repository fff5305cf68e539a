//! Operators and functions of the geometric types.
//!
//! Coordinates within 0.000001 of each other count as equal where PostgreSQL says so, and are
//! compared exactly where it does not (see [`braid_types::geometry::arith`]).
//!
//! ```text
//! points ◄── lines ◄── segments ◄── boxes ◄── paths ◄── polygons ◄── circles
//! ```

mod boxes;
mod circles;
mod inside;
mod lines;
mod paths;
mod points;
mod polygons;
mod segments;

use braid_types::geometry::{Circle, Corners, Line, Path, Point, Polygon, Segment};
use braid_types::{Datum, Error, Result};

use crate::Call;
use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    points::register(registry);
    lines::register(registry);
    segments::register(registry);
    boxes::register(registry);
    paths::register(registry);
    polygons::register(registry);
    circles::register(registry);
    register_parts(registry);
    for signature in [
        "point_send(point) -> bytea",
        "lseg_send(lseg) -> bytea",
        "path_send(path) -> bytea",
        "box_send(box) -> bytea",
        "poly_send(polygon) -> bytea",
        "line_send(line) -> bytea",
        "circle_send(circle) -> bytea",
    ] {
        registry.add(signature, |c| Ok(c.datum(0).clone()));
    }
}

/// What a subscript reads: the numbers of a point or line, the points of a segment or box.
fn register_parts(registry: &mut Registry) {
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

fn bytes<'a>(call: &Call<'a>, index: usize) -> Result<&'a [u8]> {
    call.datum(index).as_bytes().ok_or_else(wrong)
}

fn wrong() -> Error {
    Error::internal("an argument that is no such geometric value")
}

fn point(call: &Call<'_>, index: usize) -> Result<Point> {
    Point::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

fn line(call: &Call<'_>, index: usize) -> Result<Line> {
    Line::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

fn segment(call: &Call<'_>, index: usize) -> Result<Segment> {
    Segment::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

fn corners(call: &Call<'_>, index: usize) -> Result<Corners> {
    Corners::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

fn path(call: &Call<'_>, index: usize) -> Result<Path> {
    Path::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

fn polygon(call: &Call<'_>, index: usize) -> Result<Polygon> {
    Polygon::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

fn circle(call: &Call<'_>, index: usize) -> Result<Circle> {
    Circle::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

fn truth(value: bool) -> Result<Datum> {
    Ok(Datum::Bool(value))
}

fn number(value: f64) -> Result<Datum> {
    Ok(Datum::Float(value))
}

fn datum(bytes: Vec<u8>) -> Result<Datum> {
    Ok(Datum::bytes(bytes))
}

/// The closest point that was found, and its distance; NULL where the distance is no number.
fn closest((distance, point): (f64, Point)) -> Result<Datum> {
    if distance.is_nan() { Ok(Datum::Null) } else { datum(point.to_bytes()) }
}
