//! Circles.

use std::f64::consts::PI;

use braid_types::geometry::arith::{add, div, eq, ge, gt, hypotenuse, le, lt, mul, ne, sub};
use braid_types::geometry::{Circle, Point};
use braid_types::{Datum, Result};

use super::arguments::{circle, point, polygon};
use super::polygons;
use super::results::{datum, number, truth};
use crate::Call;
use crate::registry::tables::Registry;

fn area(value: Circle) -> Result<f64> {
    mul(mul(value.radius, value.radius)?, PI)
}

fn is_same(one: Circle, other: Circle) -> bool {
    let both_nan = one.radius.is_nan() && other.radius.is_nan();
    (both_nan || eq(one.radius, other.radius)) && one.center.is_at(other.center)
}

/// Whether the first circle holds the second.
fn contains(outer: Circle, inner: Circle) -> Result<bool> {
    Ok(le(outer.center.distance(inner.center)?, sub(outer.radius, inner.radius)?))
}

/// A distance beyond the edge; zero inside.
fn beyond(distance: f64, radius: f64) -> Result<Datum> {
    let found = sub(distance, radius)?;
    number(if found < 0.0 { 0.0 } else { found })
}

fn distance(one: Circle, other: Circle) -> Result<Datum> {
    beyond(one.center.distance(other.center)?, add(one.radius, other.radius)?)
}

fn by_area(call: &Call<'_>, compare: fn(f64, f64) -> bool) -> Result<Datum> {
    truth(compare(area(circle(call, 0)?)?, area(circle(call, 1)?)?))
}

/// The outermost coordinate of a circle on one side of an axis.
type Edge = fn(Circle) -> Result<f64>;

const LEFT: Edge = |c| sub(c.center.x, c.radius);
const RIGHT: Edge = |c| add(c.center.x, c.radius);
const BOTTOM: Edge = |c| sub(c.center.y, c.radius);
const TOP: Edge = |c| add(c.center.y, c.radius);

fn edges(call: &Call<'_>, one: Edge, holds: fn(f64, f64) -> bool, other: Edge) -> Result<Datum> {
    truth(holds(one(circle(call, 0)?)?, other(circle(call, 1)?)?))
}

/// The circle moved by a point, which may change its radius as well.
fn moved(
    call: &Call<'_>,
    by: fn(Point, Point) -> Result<Point>,
    radius: fn(f64, Point) -> Result<f64>,
) -> Result<Datum> {
    let (value, point) = (circle(call, 0)?, point(call, 1)?);
    let moved = Circle { center: by(value.center, point)?, radius: radius(value.radius, point)? };
    datum(moved.to_bytes())
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("circle(point, float8) -> circle", |c| {
        datum(Circle { center: point(c, 0)?, radius: c.float(1)? }.to_bytes())
    });
    for signature in ["circle(box) -> circle", "circle(polygon) -> circle"] {
        registry.add(signature, |c| c.cast(0, c.returns));
    }
    registry.add("polygon(int4, circle) -> polygon", |c| {
        datum(circle(c, 1)?.to_polygon(c.int(0)?)?.to_bytes())
    });
    registry.add("area(circle) -> float8", |c| number(area(circle(c, 0)?)?));
    registry.add("diameter(circle) -> float8", |c| number(mul(circle(c, 0)?.radius, 2.0)?));
    registry.add("radius(circle) -> float8", |c| number(circle(c, 0)?.radius));
    for signature in ["@@(circle) -> point", "center(circle) -> point"] {
        registry.add(signature, |c| datum(circle(c, 0)?.center.to_bytes()));
    }
    registry.add("=(circle, circle) -> bool", |c| by_area(c, eq));
    registry.add("<>(circle, circle) -> bool", |c| by_area(c, ne));
    registry.add("<(circle, circle) -> bool", |c| by_area(c, lt));
    registry.add("<=(circle, circle) -> bool", |c| by_area(c, le));
    registry.add(">(circle, circle) -> bool", |c| by_area(c, gt));
    registry.add(">=(circle, circle) -> bool", |c| by_area(c, ge));
    registry.add("+(circle, point) -> circle", |c| moved(c, Point::plus, |radius, _| Ok(radius)));
    registry.add("-(circle, point) -> circle", |c| moved(c, Point::minus, |radius, _| Ok(radius)));
    registry.add("*(circle, point) -> circle", |c| {
        moved(c, Point::times, |radius, by| mul(radius, hypotenuse(by.x, by.y)?))
    });
    registry.add("/(circle, point) -> circle", |c| {
        moved(c, Point::over, |radius, by| div(radius, hypotenuse(by.x, by.y)?))
    });
    register_places(registry);
}

/// Where circles are beside each other, points and polygons.
fn register_places(registry: &mut Registry) {
    registry.add("~=(circle, circle) -> bool", |c| truth(is_same(circle(c, 0)?, circle(c, 1)?)));
    registry.add("&&(circle, circle) -> bool", |c| {
        let (one, other) = (circle(c, 0)?, circle(c, 1)?);
        truth(le(one.center.distance(other.center)?, add(one.radius, other.radius)?))
    });
    registry.add("@>(circle, circle) -> bool", |c| truth(contains(circle(c, 0)?, circle(c, 1)?)?));
    registry.add("<@(circle, circle) -> bool", |c| truth(contains(circle(c, 1)?, circle(c, 0)?)?));
    registry.add("<<(circle, circle) -> bool", |c| edges(c, RIGHT, lt, LEFT));
    registry.add("&<(circle, circle) -> bool", |c| edges(c, RIGHT, le, RIGHT));
    registry.add(">>(circle, circle) -> bool", |c| edges(c, LEFT, gt, RIGHT));
    registry.add("&>(circle, circle) -> bool", |c| edges(c, LEFT, ge, LEFT));
    registry.add("<<|(circle, circle) -> bool", |c| edges(c, TOP, lt, BOTTOM));
    registry.add("&<|(circle, circle) -> bool", |c| edges(c, TOP, le, TOP));
    registry.add("|>>(circle, circle) -> bool", |c| edges(c, BOTTOM, gt, TOP));
    registry.add("|&>(circle, circle) -> bool", |c| edges(c, BOTTOM, ge, BOTTOM));
    registry.add("@>(circle, point) -> bool", |c| {
        let value = circle(c, 0)?;
        truth(value.center.distance(point(c, 1)?)? <= value.radius)
    });
    registry.add("<@(point, circle) -> bool", |c| {
        let value = circle(c, 1)?;
        truth(value.center.distance(point(c, 0)?)? <= value.radius)
    });
    registry.add("<->(circle, circle) -> float8", |c| distance(circle(c, 0)?, circle(c, 1)?));
    registry.add("<->(point, circle) -> float8", |c| {
        let value = circle(c, 1)?;
        beyond(point(c, 0)?.distance(value.center)?, value.radius)
    });
    registry.add("<->(circle, point) -> float8", |c| {
        let value = circle(c, 0)?;
        beyond(point(c, 1)?.distance(value.center)?, value.radius)
    });
    registry.add("<->(circle, polygon) -> float8", |c| {
        let value = circle(c, 0)?;
        beyond(polygons::distance_to_point(&polygon(c, 1)?, value.center)?, value.radius)
    });
    registry.add("<->(polygon, circle) -> float8", |c| {
        let value = circle(c, 1)?;
        beyond(polygons::distance_to_point(&polygon(c, 0)?, value.center)?, value.radius)
    });
}
