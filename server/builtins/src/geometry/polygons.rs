//! Polygons.

use braid_types::geometry::arith::is_less;
use braid_types::geometry::{Corners, Point, Polygon, Segment};
use braid_types::{Datum, Error, Result, SqlState, work};

use super::arguments::{point, polygon};
use super::inside::contains_point;
use super::paths::{distance, edges};
use super::results::{datum, number, truth};
use super::{boxes, segments};
use crate::Call;
use crate::registry::call::count;
use crate::registry::tables::Registry;

/// The deepest recursion in the search for a segment inside of a polygon.
const DEPTH_MAX: usize = 1000;

fn overlap(one: &Polygon, other: &Polygon) -> Result<bool> {
    if !boxes::overlap(one.bounds(), other.bounds()) {
        return Ok(false);
    }
    for edge in edges(&one.points, true) {
        for against in edges(&other.points, true) {
            work::tick()?;
            if segments::crossing(edge, against)?.is_some() {
                return Ok(true);
            }
        }
    }
    let inside = |inner: &Polygon, outer: &Polygon| match inner.points.first() {
        Some(point) => contains_point(&outer.points, *point),
        None => Ok(false),
    };
    Ok(inside(one, other)? || inside(other, one)?)
}

/// A segment that may be inside of a polygon, and the edge from which on it is compared.
struct Search<'p> {
    points: &'p [Point],
    depth: usize,
}

impl Search<'_> {
    /// Whether a segment is inside, as far as the edges from number `start` on say.
    fn holds(&mut self, segment: Segment, start: usize) -> Result<bool> {
        if self.depth == DEPTH_MAX {
            let message = "stack depth limit exceeded";
            return Err(Error::new(SqlState::StatementTooComplex, message));
        }
        self.depth += 1;
        let holds = self.holds_within(segment, start);
        self.depth -= 1;
        holds
    }

    fn holds_within(&mut self, segment: Segment, start: usize) -> Result<bool> {
        let (a, b) = (segment.first, segment.second);
        let mut is_inside = true;
        for (at, edge) in edges(self.points, true).enumerate().skip(start) {
            work::tick()?;
            if segments::contains(edge, a)? {
                if segments::contains(edge, b)? {
                    return Ok(true);
                }
                is_inside = self.touching(a, b, edge, at + 1)?;
            } else if segments::contains(edge, b)? {
                is_inside = self.touching(b, a, edge, at + 1)?;
            } else if let Some(found) = segments::crossing(segment, edge)? {
                // Both parts have to be inside.
                let part = |first| Segment { first, second: found };
                return Ok(self.holds(part(a), at + 1)? && self.holds(part(b), at + 1)?);
            }
            if !is_inside {
                return Ok(false);
            }
        }
        contains_point(self.points, segment.center()?)
    }

    /// The same where the end `on` is on an edge and the other end is not.
    fn touching(&mut self, on: Point, off: Point, edge: Segment, start: usize) -> Result<bool> {
        let segment = Segment { first: on, second: off };
        let ends = if on.is_at(edge.first) {
            vec![edge.second]
        } else if on.is_at(edge.second) {
            vec![edge.first]
        } else {
            vec![edge.first, edge.second]
        };
        for end in ends {
            if segments::contains(segment, end)? {
                return self.holds(Segment { first: off, second: end }, start);
            }
        }
        Ok(true)
    }
}

fn contains(outer: &Polygon, inner: &Polygon) -> Result<bool> {
    if !boxes::contains(outer.bounds(), inner.bounds()) {
        return Ok(false);
    }
    for edge in edges(&inner.points, true) {
        let mut search = Search { points: &outer.points, depth: 0 };
        if !search.holds(edge, 0)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two polygons have the same corners in the same order, from any corner, in either
/// direction.
fn is_same(one: &Polygon, other: &Polygon) -> Result<bool> {
    let (a, b) = (&one.points, &other.points);
    let count = a.len();
    if count != b.len() {
        return Ok(false);
    }
    let alike = |step: &dyn Fn(usize) -> usize| -> Result<bool> {
        for (at, point) in a.iter().enumerate() {
            work::tick()?;
            if b.get(step(at)).is_none_or(|other| !other.is_at(*point)) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    for start in 0..count {
        let forward = |at: usize| (start + at) % count;
        let backward = |at: usize| (start + count - at) % count;
        if alike(&forward)? || alike(&backward)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The distance of a point; zero inside.
pub(super) fn distance_to_point(polygon: &Polygon, to: Point) -> Result<f64> {
    if contains_point(&polygon.points, to)? {
        return Ok(0.0);
    }
    let mut least = f64::NAN;
    for edge in edges(&polygon.points, true) {
        work::tick()?;
        let (found, _) = segments::closest_to_point(edge, to)?;
        if is_less(found, least) {
            least = found;
        }
    }
    Ok(least)
}

fn between(one: &Polygon, other: &Polygon) -> Result<Datum> {
    if overlap(one, other)? {
        return number(0.0);
    }
    let found = distance((&one.points, true), (&other.points, true))?;
    Ok(found.map_or(Datum::Null, Datum::Float))
}

/// Compares the bounds of two polygons.
fn bounds(call: &Call<'_>, compare: fn(Corners, Corners) -> bool) -> Result<Datum> {
    truth(compare(polygon(call, 0)?.bounds(), polygon(call, 1)?.bounds()))
}

pub(super) fn register(registry: &mut Registry) {
    for signature in ["polygon(box) -> polygon", "polygon(path) -> polygon"] {
        registry.add(signature, |c| c.cast(0, c.returns));
    }
    registry.add("polygon(circle) -> polygon", |c| c.cast(0, c.returns));
    for signature in ["#(polygon) -> int4", "npoints(polygon) -> int4"] {
        registry.add(signature, |c| count(polygon(c, 0)?.points.len()));
    }
    registry.add("@@(polygon) -> point", |c| datum(polygon(c, 0)?.to_circle()?.center.to_bytes()));
    registry
        .add("~=(polygon, polygon) -> bool", |c| truth(is_same(&polygon(c, 0)?, &polygon(c, 1)?)?));
    registry
        .add("&&(polygon, polygon) -> bool", |c| truth(overlap(&polygon(c, 0)?, &polygon(c, 1)?)?));
    registry.add("@>(polygon, polygon) -> bool", |c| {
        truth(contains(&polygon(c, 0)?, &polygon(c, 1)?)?)
    });
    registry.add("<@(polygon, polygon) -> bool", |c| {
        truth(contains(&polygon(c, 1)?, &polygon(c, 0)?)?)
    });
    registry.add("@>(polygon, point) -> bool", |c| {
        truth(contains_point(&polygon(c, 0)?.points, point(c, 1)?)?)
    });
    registry.add("<@(point, polygon) -> bool", |c| {
        truth(contains_point(&polygon(c, 1)?.points, point(c, 0)?)?)
    });
    registry.add("<->(polygon, polygon) -> float8", |c| between(&polygon(c, 0)?, &polygon(c, 1)?));
    registry.add("<->(point, polygon) -> float8", |c| {
        number(distance_to_point(&polygon(c, 1)?, point(c, 0)?)?)
    });
    registry.add("<->(polygon, point) -> float8", |c| {
        number(distance_to_point(&polygon(c, 0)?, point(c, 1)?)?)
    });
    registry.add("<<(polygon, polygon) -> bool", |c| bounds(c, |a, b| a.high.x < b.low.x));
    registry.add("&<(polygon, polygon) -> bool", |c| bounds(c, |a, b| a.high.x <= b.high.x));
    registry.add(">>(polygon, polygon) -> bool", |c| bounds(c, |a, b| a.low.x > b.high.x));
    registry.add("&>(polygon, polygon) -> bool", |c| bounds(c, |a, b| a.low.x >= b.low.x));
    registry.add("<<|(polygon, polygon) -> bool", |c| bounds(c, |a, b| a.high.y < b.low.y));
    registry.add("&<|(polygon, polygon) -> bool", |c| bounds(c, |a, b| a.high.y <= b.high.y));
    registry.add("|>>(polygon, polygon) -> bool", |c| bounds(c, |a, b| a.low.y > b.high.y));
    registry.add("|&>(polygon, polygon) -> bool", |c| bounds(c, |a, b| a.low.y >= b.low.y));
}
