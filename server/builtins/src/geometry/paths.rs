//! Paths.

use std::cmp::Ordering;

use braid_types::geometry::arith::{add, eq, is_less, mul, sub};
use braid_types::geometry::{Path, Point, Segment, bounds};
use braid_types::{Datum, Result, work};

use super::arguments::{bytes, path, point};
use super::inside::contains_point;
use super::results::{datum, number, truth};
use super::{boxes, segments};
use crate::Call;
use crate::registry::call::{count, may_return};
use crate::registry::tables::Registry;

/// The segments of a path; that from the last point to the first one comes first, if it is closed.
pub(super) fn edges(points: &[Point], is_closed: bool) -> impl Iterator<Item = Segment> + '_ {
    let ring = points.first().zip(points.last()).filter(|_| is_closed);
    let closing = ring.map(|(first, last)| Segment { first: *last, second: *first });
    let steps = points.windows(2).filter_map(|pair| match pair {
        [first, second] => Some(Segment { first: *first, second: *second }),
        _ => None,
    });
    closing.into_iter().chain(steps)
}

fn length(path: &Path) -> Result<f64> {
    edges(&path.points, path.is_closed)
        .try_fold(0.0, |sum, edge| add(sum, edge.first.distance(edge.second)?))
}

/// The area inside of a closed path.
fn area(path: &Path) -> Result<Datum> {
    if !path.is_closed {
        return Ok(Datum::Null);
    }
    let mut sum = 0.0;
    let next = path.points.iter().skip(1).chain(path.points.first());
    for (point, next) in path.points.iter().zip(next) {
        sum = add(sum, mul(point.x, next.y)?)?;
        sum = sub(sum, mul(point.y, next.x)?)?;
    }
    number(sum.abs() / 2.0)
}

fn meet(one: &Path, other: &Path) -> Result<bool> {
    if !boxes::overlap(bounds(&one.points), bounds(&other.points)) {
        return Ok(false);
    }
    for edge in edges(&one.points, one.is_closed) {
        for against in edges(&other.points, other.is_closed) {
            work::tick()?;
            if segments::crossing(edge, against)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The smallest distance of two edges; `None` if a path has no edge.
pub(super) fn distance(one: (&[Point], bool), other: (&[Point], bool)) -> Result<Option<f64>> {
    let mut least = None;
    for edge in edges(one.0, one.1) {
        for against in edges(other.0, other.1) {
            work::tick()?;
            let (found, _) = segments::closest_to_segment(edge, against)?;
            if least.is_none_or(|least| is_less(found, least)) {
                least = Some(found);
            }
        }
    }
    Ok(least)
}

fn distance_to_point(path: &Path, to: Point) -> Result<Datum> {
    let mut least = None;
    for edge in edges(&path.points, path.is_closed) {
        work::tick()?;
        let (found, _) = segments::closest_to_point(edge, to)?;
        if least.is_none_or(|least| is_less(found, least)) {
            least = Some(found);
        }
    }
    number(least.unwrap_or(0.0))
}

/// Whether a point is on an open path, or within a closed one.
fn contains(path: &Path, point: Point) -> Result<bool> {
    if path.is_closed {
        return contains_point(&path.points, point);
    }
    for edge in edges(&path.points, false) {
        work::tick()?;
        let around = add(point.distance(edge.first)?, point.distance(edge.second)?)?;
        if eq(around, edge.first.distance(edge.second)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn by_points(call: &Call<'_>, holds: fn(Ordering) -> bool) -> Result<Datum> {
    truth(holds(path(call, 0)?.points.len().cmp(&path(call, 1)?.points.len())))
}

/// Every point moved by a point.
fn moved(call: &Call<'_>, by: fn(Point, Point) -> Result<Point>) -> Result<Datum> {
    let (mut path, other) = (path(call, 0)?, point(call, 1)?);
    for point in &mut path.points {
        work::tick()?;
        *point = by(*point, other)?;
    }
    datum(path.to_bytes())
}

/// Two open paths, one after the other.
fn joined(call: &Call<'_>) -> Result<Datum> {
    let (one, other) = (bytes(call, 0)?, bytes(call, 1)?);
    let is_closed = |bytes: &[u8]| bytes.first().is_some_and(|first| *first != 0);
    if is_closed(one) || is_closed(other) {
        return Ok(Datum::Null);
    }
    let size = one.len().saturating_add(other.len());
    may_return(size)?;
    // The points of the result, their bytes, and those of the datum.
    work::afford(size.saturating_mul(3))?;
    work::spend_bytes(size)?;
    let (mut joined, other) = (path(call, 0)?, path(call, 1)?);
    joined.points.reserve_exact(other.points.len());
    joined.points.extend(other.points);
    datum(joined.to_bytes())
}

fn with_end(call: &Call<'_>, is_closed: bool) -> Result<Datum> {
    datum(Path { is_closed, ..path(call, 0)? }.to_bytes())
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("=(path, path) -> bool", |c| by_points(c, Ordering::is_eq));
    registry.add("<(path, path) -> bool", |c| by_points(c, Ordering::is_lt));
    registry.add("<=(path, path) -> bool", |c| by_points(c, Ordering::is_le));
    registry.add(">(path, path) -> bool", |c| by_points(c, Ordering::is_gt));
    registry.add(">=(path, path) -> bool", |c| by_points(c, Ordering::is_ge));
    for signature in ["#(path) -> int4", "npoints(path) -> int4"] {
        registry.add(signature, |c| count(path(c, 0)?.points.len()));
    }
    registry.add("isclosed(path) -> bool", |c| truth(path(c, 0)?.is_closed));
    registry.add("isopen(path) -> bool", |c| truth(!path(c, 0)?.is_closed));
    registry.add("pclose(path) -> path", |c| with_end(c, true));
    registry.add("popen(path) -> path", |c| with_end(c, false));
    registry.add("path(polygon) -> path", |c| c.cast(0, c.returns));
    registry.add("area(path) -> float8", |c| area(&path(c, 0)?));
    for signature in ["@-@(path) -> float8", "length(path) -> float8"] {
        registry.add(signature, |c| number(length(&path(c, 0)?)?));
    }
    registry.add("?#(path, path) -> bool", |c| truth(meet(&path(c, 0)?, &path(c, 1)?)?));
    registry.add("<->(path, path) -> float8", |c| {
        let (one, other) = (path(c, 0)?, path(c, 1)?);
        let found = distance((&one.points, one.is_closed), (&other.points, other.is_closed))?;
        Ok(found.map_or(Datum::Null, Datum::Float))
    });
    registry.add("<->(point, path) -> float8", |c| distance_to_point(&path(c, 1)?, point(c, 0)?));
    registry.add("<->(path, point) -> float8", |c| distance_to_point(&path(c, 0)?, point(c, 1)?));
    registry.add("@>(path, point) -> bool", |c| truth(contains(&path(c, 0)?, point(c, 1)?)?));
    registry.add("<@(point, path) -> bool", |c| truth(contains(&path(c, 1)?, point(c, 0)?)?));
    registry.add("+(path, path) -> path", joined);
    registry.add("+(path, point) -> path", |c| moved(c, Point::plus));
    registry.add("-(path, point) -> path", |c| moved(c, Point::minus));
    registry.add("*(path, point) -> path", |c| moved(c, Point::times));
    registry.add("/(path, point) -> path", |c| moved(c, Point::over));
}
