//! Segments.

use braid_types::geometry::arith::{add, eq, ge, gt, is_less, le, lt};
use braid_types::geometry::{Line, Point, Segment};
use braid_types::{Datum, Result};

use super::arguments::{line, point, segment};
use super::lines;
use super::results::{closest, datum, number, truth};
use crate::Call;
use crate::registry::tables::Registry;

fn length(segment: Segment) -> Result<f64> {
    segment.first.distance(segment.second)
}

fn slope(segment: Segment) -> Result<f64> {
    segment.first.slope(segment.second)
}

/// The line on which a segment is.
fn line_of(segment: Segment) -> Result<Line> {
    Line::through(segment.first, slope(segment)?)
}

pub(super) fn contains(segment: Segment, point: Point) -> Result<bool> {
    let around = add(point.distance(segment.first)?, point.distance(segment.second)?)?;
    Ok(eq(around, length(segment)?))
}

/// Where a segment crosses a line. An end that is as good as there is exact.
pub(super) fn crossing_of_line(segment: Segment, line: Line) -> Result<Option<Point>> {
    let Some(found) = lines::crossing(line_of(segment)?, line)? else { return Ok(None) };
    if !contains(segment, found)? {
        return Ok(None);
    }
    let end = [segment.first, segment.second].into_iter().find(|end| end.is_at(found));
    Ok(Some(end.unwrap_or(found)))
}

/// Where two segments cross.
pub(super) fn crossing(one: Segment, other: Segment) -> Result<Option<Point>> {
    let Some(found) = crossing_of_line(one, line_of(other)?)? else { return Ok(None) };
    Ok(contains(other, found)?.then_some(found))
}

/// The point of a segment that is closest to a point, and its distance.
pub(super) fn closest_to_point(segment: Segment, to: Point) -> Result<(f64, Point)> {
    let slope = segment.first.perpendicular_slope(segment.second)?;
    let (_, found) = closest_to_line(segment, Line::through(to, slope)?)?;
    Ok((found.distance(to)?, found))
}

/// The point of a segment that is closest to a line, and its distance.
pub(super) fn closest_to_line(segment: Segment, line: Line) -> Result<(f64, Point)> {
    if let Some(found) = crossing_of_line(segment, line)? {
        return Ok((0.0, found));
    }
    let (first, _) = lines::closest_to_point(line, segment.first)?;
    let (second, _) = lines::closest_to_point(line, segment.second)?;
    Ok(if first < second { (first, segment.first) } else { (second, segment.second) })
}

/// The point of a segment that is closest to another segment, and its distance.
pub(super) fn closest_to_segment(on: Segment, to: Segment) -> Result<(f64, Point)> {
    if let Some(found) = crossing(on, to)? {
        return Ok((0.0, found));
    }
    let mut best = closest_to_point(on, to.first)?;
    for other in [
        closest_to_point(on, to.second)?,
        (closest_to_point(to, on.first)?.0, on.first),
        (closest_to_point(to, on.second)?.0, on.second),
    ] {
        if is_less(other.0, best.0) {
            best = other;
        }
    }
    Ok(best)
}

/// Whether both ends of two segments are the same.
fn is_equal(call: &Call<'_>) -> Result<bool> {
    let (one, other) = (segment(call, 0)?, segment(call, 1)?);
    Ok(one.first.is_at(other.first) && one.second.is_at(other.second))
}

fn by_length(call: &Call<'_>, compare: fn(f64, f64) -> bool) -> Result<Datum> {
    truth(compare(length(segment(call, 0)?)?, length(segment(call, 1)?)?))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("lseg(point, point) -> lseg", |c| {
        datum(Segment { first: point(c, 0)?, second: point(c, 1)? }.to_bytes())
    });
    registry.add("lseg(box) -> lseg", |c| c.cast(0, c.returns));
    registry.add("=(lseg, lseg) -> bool", |c| truth(is_equal(c)?));
    registry.add("<>(lseg, lseg) -> bool", |c| truth(!is_equal(c)?));
    registry.add("<(lseg, lseg) -> bool", |c| by_length(c, lt));
    registry.add("<=(lseg, lseg) -> bool", |c| by_length(c, le));
    registry.add(">(lseg, lseg) -> bool", |c| by_length(c, gt));
    registry.add(">=(lseg, lseg) -> bool", |c| by_length(c, ge));
    for signature in ["@-@(lseg) -> float8", "length(lseg) -> float8"] {
        registry.add(signature, |c| number(length(segment(c, 0)?)?));
    }
    registry.add("@@(lseg) -> point", |c| datum(segment(c, 0)?.center()?.to_bytes()));
    for signature in ["?-(lseg) -> bool", "ishorizontal(lseg) -> bool"] {
        registry.add(signature, |c| {
            let segment = segment(c, 0)?;
            truth(eq(segment.first.y, segment.second.y))
        });
    }
    for signature in ["?|(lseg) -> bool", "isvertical(lseg) -> bool"] {
        registry.add(signature, |c| {
            let segment = segment(c, 0)?;
            truth(eq(segment.first.x, segment.second.x))
        });
    }
    for signature in ["?||(lseg, lseg) -> bool", "isparallel(lseg, lseg) -> bool"] {
        registry.add(signature, |c| truth(eq(slope(segment(c, 0)?)?, slope(segment(c, 1)?)?)));
    }
    for signature in ["?-|(lseg, lseg) -> bool", "isperp(lseg, lseg) -> bool"] {
        registry.add(signature, |c| {
            let other = segment(c, 1)?;
            let wanted = other.first.perpendicular_slope(other.second)?;
            truth(eq(slope(segment(c, 0)?)?, wanted))
        });
    }
    register_meetings(registry);
}

/// Where segments meet points, lines and each other.
fn register_meetings(registry: &mut Registry) {
    registry.add("?#(lseg, lseg) -> bool", |c| {
        truth(crossing(segment(c, 0)?, segment(c, 1)?)?.is_some())
    });
    registry.add("#(lseg, lseg) -> point", |c| {
        let found = crossing(segment(c, 0)?, segment(c, 1)?)?;
        found.map_or(Ok(Datum::Null), |found| datum(found.to_bytes()))
    });
    registry.add("?#(lseg, line) -> bool", |c| {
        truth(crossing_of_line(segment(c, 0)?, line(c, 1)?)?.is_some())
    });
    registry.add("<@(point, lseg) -> bool", |c| truth(contains(segment(c, 1)?, point(c, 0)?)?));
    registry.add("<@(lseg, line) -> bool", |c| {
        let (segment, line) = (segment(c, 0)?, line(c, 1)?);
        truth(lines::contains(line, segment.first)? && lines::contains(line, segment.second)?)
    });
    registry.add("<->(lseg, lseg) -> float8", |c| {
        number(closest_to_segment(segment(c, 0)?, segment(c, 1)?)?.0)
    });
    registry.add("<->(point, lseg) -> float8", |c| {
        number(closest_to_point(segment(c, 1)?, point(c, 0)?)?.0)
    });
    registry.add("<->(lseg, point) -> float8", |c| {
        number(closest_to_point(segment(c, 0)?, point(c, 1)?)?.0)
    });
    registry.add("<->(line, lseg) -> float8", |c| {
        number(closest_to_line(segment(c, 1)?, line(c, 0)?)?.0)
    });
    registry.add("<->(lseg, line) -> float8", |c| {
        number(closest_to_line(segment(c, 0)?, line(c, 1)?)?.0)
    });
    registry.add("##(point, lseg) -> point", |c| {
        closest(closest_to_point(segment(c, 1)?, point(c, 0)?)?)
    });
    registry.add("##(lseg, lseg) -> point", |c| {
        let (one, other) = (segment(c, 0)?, segment(c, 1)?);
        if slope(one)? == slope(other)? {
            return Ok(Datum::Null);
        }
        closest(closest_to_segment(other, one)?)
    });
    registry.add("##(line, lseg) -> point", |c| {
        let (line, segment) = (line(c, 0)?, segment(c, 1)?);
        if slope(segment)? == lines::slope(line)? {
            return Ok(Datum::Null);
        }
        closest(closest_to_line(segment, line)?)
    });
}
