//! Boxes.

use braid_types::geometry::arith::{eq, ge, gt, is_less, le, lt, max, min, mul, sub};
use braid_types::geometry::{Corners, Line, Point, Segment, bounds};
use braid_types::{Datum, Result};

use super::arguments::{corners, line, point, segment};
use super::results::{closest, datum, number, truth};
use super::segments;
use crate::Call;
use crate::registry::tables::Registry;

fn width(value: Corners) -> Result<f64> {
    sub(value.high.x, value.low.x)
}

fn height(value: Corners) -> Result<f64> {
    sub(value.high.y, value.low.y)
}

fn area(value: Corners) -> Result<f64> {
    mul(width(value)?, height(value)?)
}

pub(super) fn overlap(one: Corners, other: Corners) -> bool {
    le(one.low.x, other.high.x)
        && le(other.low.x, one.high.x)
        && le(one.low.y, other.high.y)
        && le(other.low.y, one.high.y)
}

pub(super) fn contains(outer: Corners, inner: Corners) -> bool {
    ge(outer.high.x, inner.high.x)
        && le(outer.low.x, inner.low.x)
        && ge(outer.high.y, inner.high.y)
        && le(outer.low.y, inner.low.y)
}

fn contains_point(value: Corners, point: Point) -> bool {
    value.high.x >= point.x
        && value.low.x <= point.x
        && value.high.y >= point.y
        && value.low.y <= point.y
}

/// The sides, in the order in which PostgreSQL tries them.
fn sides(value: Corners) -> [Segment; 4] {
    let (high, low) = (value.high, value.low);
    let top_left = Point { x: low.x, y: high.y };
    let bottom_right = Point { x: high.x, y: low.y };
    let side = |first, second| Segment { first, second };
    [side(low, top_left), side(high, top_left), side(low, bottom_right), side(high, bottom_right)]
}

fn best(found: Option<(f64, Point)>, other: (f64, Point)) -> (f64, Point) {
    match found {
        Some(found) if !is_less(other.0, found.0) => found,
        _ => other,
    }
}

/// The point of a box that is closest to a point, and its distance.
fn closest_to_point(value: Corners, to: Point) -> Result<(f64, Point)> {
    if contains_point(value, to) {
        return Ok((0.0, to));
    }
    let mut found = None;
    for side in sides(value) {
        found = Some(best(found, segments::closest_to_point(side, to)?));
    }
    Ok(found.unwrap_or((f64::NAN, to)))
}

/// Whether a segment touches a box.
fn meets_segment(value: Corners, segment: Segment) -> Result<bool> {
    if !overlap(bounds(&[segment.first, segment.second]), value) {
        return Ok(false);
    }
    if contains_point(value, segment.first) || contains_point(value, segment.second) {
        return Ok(true);
    }
    for side in sides(value) {
        if segments::crossing(side, segment)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The point of a box that is closest to a segment, and its distance. Of a segment that touches
/// the box it is the point closest to the center.
fn closest_to_segment(value: Corners, segment: Segment) -> Result<(f64, Point)> {
    if meets_segment(value, segment)? {
        let (_, found) = segments::closest_to_point(segment, value.center()?)?;
        return Ok((0.0, found));
    }
    let mut found = None;
    for side in sides(value) {
        found = Some(best(found, segments::closest_to_segment(side, segment)?));
    }
    Ok(found.unwrap_or((f64::NAN, value.low)))
}

fn meets_line(value: Corners, line: Line) -> Result<bool> {
    for side in sides(value) {
        if segments::crossing_of_line(side, line)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn intersection(call: &Call<'_>) -> Result<Datum> {
    let (one, other) = (corners(call, 0)?, corners(call, 1)?);
    if !overlap(one, other) {
        return Ok(Datum::Null);
    }
    let high = Point { x: min(one.high.x, other.high.x), y: min(one.high.y, other.high.y) };
    let low = Point { x: max(one.low.x, other.low.x), y: max(one.low.y, other.low.y) };
    datum(Corners { high, low }.to_bytes())
}

fn by_area(call: &Call<'_>, compare: fn(f64, f64) -> bool) -> Result<Datum> {
    truth(compare(area(corners(call, 0)?)?, area(corners(call, 1)?)?))
}

/// Compares two boxes.
fn both(call: &Call<'_>, compare: fn(Corners, Corners) -> bool) -> Result<Datum> {
    truth(compare(corners(call, 0)?, corners(call, 1)?))
}

/// Both corners moved by a point; the corners may change places if it turns the box.
fn moved(call: &Call<'_>, by: fn(Point, Point) -> Result<Point>, turns: bool) -> Result<Datum> {
    let (value, point) = (corners(call, 0)?, point(call, 1)?);
    let (high, low) = (by(value.high, point)?, by(value.low, point)?);
    let moved = if turns { Corners::around(high, low) } else { Corners { high, low } };
    datum(moved.to_bytes())
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("box(point, point) -> box", |c| {
        datum(Corners::around(point(c, 0)?, point(c, 1)?).to_bytes())
    });
    for signature in ["box(point) -> box", "box(circle) -> box", "box(polygon) -> box"] {
        registry.add(signature, |c| c.cast(0, c.returns));
    }
    registry.add("width(box) -> float8", |c| number(width(corners(c, 0)?)?));
    registry.add("height(box) -> float8", |c| number(height(corners(c, 0)?)?));
    registry.add("area(box) -> float8", |c| number(area(corners(c, 0)?)?));
    for signature in ["@@(box) -> point", "center(box) -> point"] {
        registry.add(signature, |c| datum(corners(c, 0)?.center()?.to_bytes()));
    }
    registry.add("diagonal(box) -> lseg", |c| {
        let value = corners(c, 0)?;
        datum(Segment { first: value.high, second: value.low }.to_bytes())
    });
    registry.add("bound_box(box, box) -> box", |c| {
        let (one, other) = (corners(c, 0)?, corners(c, 1)?);
        datum(bounds(&[one.high, one.low, other.high, other.low]).to_bytes())
    });
    registry.add("#(box, box) -> box", intersection);
    registry.add("=(box, box) -> bool", |c| by_area(c, eq));
    registry.add("<(box, box) -> bool", |c| by_area(c, lt));
    registry.add("<=(box, box) -> bool", |c| by_area(c, le));
    registry.add(">(box, box) -> bool", |c| by_area(c, gt));
    registry.add(">=(box, box) -> bool", |c| by_area(c, ge));
    registry.add("+(box, point) -> box", |c| moved(c, Point::plus, false));
    registry.add("-(box, point) -> box", |c| moved(c, Point::minus, false));
    registry.add("*(box, point) -> box", |c| moved(c, Point::times, true));
    registry.add("/(box, point) -> box", |c| moved(c, Point::over, true));
    register_places(registry);
    register_meetings(registry);
}

/// Where two boxes are.
fn register_places(registry: &mut Registry) {
    registry.add("~=(box, box) -> bool", |c| {
        both(c, |a, b| a.high.is_at(b.high) && a.low.is_at(b.low))
    });
    for signature in ["&&(box, box) -> bool", "?#(box, box) -> bool"] {
        registry.add(signature, |c| both(c, overlap));
    }
    registry.add("@>(box, box) -> bool", |c| both(c, contains));
    registry.add("<@(box, box) -> bool", |c| both(c, |a, b| contains(b, a)));
    registry.add("<<(box, box) -> bool", |c| both(c, |a, b| lt(a.high.x, b.low.x)));
    registry.add("&<(box, box) -> bool", |c| both(c, |a, b| le(a.high.x, b.high.x)));
    registry.add(">>(box, box) -> bool", |c| both(c, |a, b| gt(a.low.x, b.high.x)));
    registry.add("&>(box, box) -> bool", |c| both(c, |a, b| ge(a.low.x, b.low.x)));
    registry.add("<<|(box, box) -> bool", |c| both(c, |a, b| lt(a.high.y, b.low.y)));
    registry.add("&<|(box, box) -> bool", |c| both(c, |a, b| le(a.high.y, b.high.y)));
    registry.add("|>>(box, box) -> bool", |c| both(c, |a, b| gt(a.low.y, b.high.y)));
    registry.add("|&>(box, box) -> bool", |c| both(c, |a, b| ge(a.low.y, b.low.y)));
    registry.add("<^(box, box) -> bool", |c| both(c, |a, b| le(a.high.y, b.low.y)));
    registry.add(">^(box, box) -> bool", |c| both(c, |a, b| ge(a.low.y, b.high.y)));
    registry.add("<->(box, box) -> float8", |c| {
        number(corners(c, 0)?.center()?.distance(corners(c, 1)?.center()?)?)
    });
}

/// Where boxes meet points, segments and lines.
fn register_meetings(registry: &mut Registry) {
    registry.add("@>(box, point) -> bool", |c| truth(contains_point(corners(c, 0)?, point(c, 1)?)));
    registry.add("<@(point, box) -> bool", |c| truth(contains_point(corners(c, 1)?, point(c, 0)?)));
    registry.add("<@(lseg, box) -> bool", |c| {
        let (segment, outer) = (segment(c, 0)?, corners(c, 1)?);
        truth(contains_point(outer, segment.first) && contains_point(outer, segment.second))
    });
    registry
        .add("?#(lseg, box) -> bool", |c| truth(meets_segment(corners(c, 1)?, segment(c, 0)?)?));
    registry.add("?#(line, box) -> bool", |c| truth(meets_line(corners(c, 1)?, line(c, 0)?)?));
    registry.add("<->(point, box) -> float8", |c| {
        number(closest_to_point(corners(c, 1)?, point(c, 0)?)?.0)
    });
    registry.add("<->(box, point) -> float8", |c| {
        number(closest_to_point(corners(c, 0)?, point(c, 1)?)?.0)
    });
    registry.add("<->(lseg, box) -> float8", |c| {
        number(closest_to_segment(corners(c, 1)?, segment(c, 0)?)?.0)
    });
    registry.add("<->(box, lseg) -> float8", |c| {
        number(closest_to_segment(corners(c, 0)?, segment(c, 1)?)?.0)
    });
    registry.add("##(point, box) -> point", |c| {
        closest(closest_to_point(corners(c, 1)?, point(c, 0)?)?)
    });
    registry.add("##(lseg, box) -> point", |c| {
        closest(closest_to_segment(corners(c, 1)?, segment(c, 0)?)?)
    });
}
