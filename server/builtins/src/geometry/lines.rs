//! Lines.

use braid_types::geometry::arith::{add, div, eq, hypotenuse, is_same, is_zero, mul, sub};
use braid_types::geometry::{Line, Point};
use braid_types::{Datum, Error, Result, SqlState};

use super::arguments::{line, point};
use super::results::{closest, datum, number, truth};
use crate::Call;
use crate::registry::tables::Registry;

/// A zero without a sign.
fn unsigned(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// Where two lines cross; `None` for parallel ones.
pub(super) fn crossing(one: Line, other: Line) -> Result<Option<Point>> {
    // The line whose `y` can be computed comes first.
    let (one, other) = match (is_zero(one.b), is_zero(other.b)) {
        (false, _) => (one, other),
        (true, false) => (other, one),
        (true, true) => return Ok(None),
    };
    if eq(other.a, mul(one.a, div(other.b, one.b)?)?) {
        return Ok(None);
    }
    let x = div(
        sub(mul(one.b, other.c)?, mul(other.b, one.c)?)?,
        sub(mul(one.a, other.b)?, mul(other.a, one.b)?)?,
    )?;
    let y = div(-add(mul(one.a, x)?, one.c)?, one.b)?;
    Ok(Some(Point { x: unsigned(x), y: unsigned(y) }))
}

/// The point of a line that is closest to a point, and its distance.
pub(super) fn closest_to_point(line: Line, to: Point) -> Result<(f64, Point)> {
    let perpendicular = Line::through(to, perpendicular_slope(line)?)?;
    match crossing(perpendicular, line)? {
        Some(found) => Ok((found.distance(to)?, found)),
        // Only coordinates that are no numbers lead here.
        None => Ok((f64::NAN, to)),
    }
}

pub(super) fn contains(line: Line, point: Point) -> Result<bool> {
    Ok(is_zero(add(add(mul(line.a, point.x)?, mul(line.b, point.y)?)?, line.c)?))
}

pub(super) fn slope(line: Line) -> Result<f64> {
    match line {
        line if is_zero(line.a) => Ok(0.0),
        line if is_zero(line.b) => Ok(f64::INFINITY),
        line => div(line.a, -line.b),
    }
}

fn perpendicular_slope(line: Line) -> Result<f64> {
    match line {
        line if is_zero(line.a) => Ok(f64::INFINITY),
        line if is_zero(line.b) => Ok(0.0),
        line => div(line.b, line.a),
    }
}

fn distance(one: Line, other: Line) -> Result<f64> {
    if crossing(one, other)?.is_some() {
        return Ok(0.0);
    }
    let may_divide = |a: f64, b: f64| !is_zero(a) && !a.is_nan() && !is_zero(b) && !b.is_nan();
    let ratio = if may_divide(one.a, other.a) {
        div(one.a, other.a)?
    } else if may_divide(one.b, other.b) {
        div(one.b, other.b)?
    } else {
        1.0
    };
    div(sub(one.c, mul(ratio, other.c)?)?.abs(), hypotenuse(one.a, one.b)?)
}

fn is_equal(one: Line, other: Line) -> Result<bool> {
    let parts = |line: Line| [line.a, line.b, line.c];
    let pairs = || parts(one).into_iter().zip(parts(other));
    if pairs().any(|(a, b)| a.is_nan() || b.is_nan()) {
        return Ok(pairs().all(|(a, b)| is_same(a, b)));
    }
    let ratio = match pairs().find(|(_, b)| !is_zero(*b)) {
        Some((a, b)) => div(a, b)?,
        None => 1.0,
    };
    for (a, b) in pairs() {
        if !eq(a, mul(ratio, b)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn are_perpendicular(one: Line, other: Line) -> Result<bool> {
    if is_zero(one.a) {
        return Ok(is_zero(other.b));
    }
    if is_zero(other.a) {
        return Ok(is_zero(one.b));
    }
    if is_zero(one.b) {
        return Ok(is_zero(other.a));
    }
    if is_zero(other.b) {
        return Ok(is_zero(one.a));
    }
    Ok(eq(div(mul(one.a, other.a)?, mul(one.b, other.b)?)?, -1.0))
}

fn through_points(call: &Call<'_>) -> Result<Datum> {
    let (first, second) = (point(call, 0)?, point(call, 1)?);
    if first.is_at(second) {
        let message = "invalid line specification: must be two distinct points";
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    datum(Line::through(first, first.slope(second)?)?.to_bytes())
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("line(point, point) -> line", through_points);
    registry.add("=(line, line) -> bool", |c| truth(is_equal(line(c, 0)?, line(c, 1)?)?));
    registry
        .add("?#(line, line) -> bool", |c| truth(crossing(line(c, 0)?, line(c, 1)?)?.is_some()));
    registry.add("#(line, line) -> point", |c| {
        let found = crossing(line(c, 0)?, line(c, 1)?)?;
        found.map_or(Ok(Datum::Null), |found| datum(found.to_bytes()))
    });
    for signature in ["?||(line, line) -> bool", "isparallel(line, line) -> bool"] {
        registry.add(signature, |c| truth(crossing(line(c, 0)?, line(c, 1)?)?.is_none()));
    }
    for signature in ["?-|(line, line) -> bool", "isperp(line, line) -> bool"] {
        registry.add(signature, |c| truth(are_perpendicular(line(c, 0)?, line(c, 1)?)?));
    }
    for signature in ["?-(line) -> bool", "ishorizontal(line) -> bool"] {
        registry.add(signature, |c| truth(is_zero(line(c, 0)?.a)));
    }
    for signature in ["?|(line) -> bool", "isvertical(line) -> bool"] {
        registry.add(signature, |c| truth(is_zero(line(c, 0)?.b)));
    }
    registry.add("<->(line, line) -> float8", |c| number(distance(line(c, 0)?, line(c, 1)?)?));
    registry.add("<->(point, line) -> float8", |c| {
        number(closest_to_point(line(c, 1)?, point(c, 0)?)?.0)
    });
    registry.add("<->(line, point) -> float8", |c| {
        number(closest_to_point(line(c, 0)?, point(c, 1)?)?.0)
    });
    registry
        .add("##(point, line) -> point", |c| closest(closest_to_point(line(c, 1)?, point(c, 0)?)?));
    registry.add("<@(point, line) -> bool", |c| truth(contains(line(c, 1)?, point(c, 0)?)?));
}
