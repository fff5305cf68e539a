//! Reads the arguments of calls.

use braid_types::geometry::{Circle, Corners, Line, Path, Point, Polygon, Segment};
use braid_types::{Error, Result};

use crate::Call;

pub(super) fn bytes<'a>(call: &Call<'a>, index: usize) -> Result<&'a [u8]> {
    call.datum(index).as_bytes().ok_or_else(wrong)
}

fn wrong() -> Error {
    Error::internal("an argument that is no such geometric value")
}

pub(super) fn point(call: &Call<'_>, index: usize) -> Result<Point> {
    Point::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

pub(super) fn line(call: &Call<'_>, index: usize) -> Result<Line> {
    Line::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

pub(super) fn segment(call: &Call<'_>, index: usize) -> Result<Segment> {
    Segment::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

pub(super) fn corners(call: &Call<'_>, index: usize) -> Result<Corners> {
    Corners::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

pub(super) fn path(call: &Call<'_>, index: usize) -> Result<Path> {
    Path::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

pub(super) fn polygon(call: &Call<'_>, index: usize) -> Result<Polygon> {
    Polygon::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}

pub(super) fn circle(call: &Call<'_>, index: usize) -> Result<Circle> {
    Circle::from_bytes(bytes(call, index)?).ok_or_else(wrong)
}
