//! Whether a point is inside of a ring of points.

use braid_types::geometry::Point;
use braid_types::geometry::arith::{ge, gt, is_zero, le, lt, mul, sub};
use braid_types::{Result, work};

/// How an edge passes the ray from the origin to the right.
enum Crossing {
    /// The origin is on the edge.
    On,
    /// How often it crosses upwards, twice counted; an end on the ray counts once.
    Times(i32),
}

/// How the edge from `before` to `to` crosses the positive half of the horizontal axis.
fn crossing(to: Point, before: Point) -> Result<Crossing> {
    use Crossing::{On, Times};
    let on_unless = |misses: bool| if misses { Times(0) } else { On };
    if is_zero(to.y) {
        if is_zero(to.x) {
            return Ok(On);
        }
        let is_right = gt(to.x, 0.0);
        return Ok(match (is_right, is_zero(before.y)) {
            (true, true) => on_unless(gt(before.x, 0.0)),
            (true, false) => Times(if lt(before.y, 0.0) { 1 } else { -1 }),
            (false, true) => on_unless(lt(before.x, 0.0)),
            (false, false) => Times(0),
        });
    }
    let sign = if gt(to.y, 0.0) { 1 } else { -1 };
    if is_zero(before.y) {
        return Ok(Times(if lt(before.x, 0.0) { 0 } else { sign }));
    }
    let is_same_side = if sign < 0 { lt(before.y, 0.0) } else { gt(before.y, 0.0) };
    if is_same_side {
        return Ok(Times(0));
    }
    if ge(to.x, 0.0) && gt(before.x, 0.0) {
        return Ok(Times(2 * sign));
    }
    if lt(to.x, 0.0) && le(before.x, 0.0) {
        return Ok(Times(0));
    }
    let rise = mul(sub(to.x, before.x)?, to.y)?;
    let run = mul(sub(to.y, before.y)?, to.x)?;
    let turn = sub(rise, run)?;
    if is_zero(turn) {
        return Ok(On);
    }
    let is_left = if sign < 0 { lt(turn, 0.0) } else { gt(turn, 0.0) };
    Ok(Times(if is_left { 0 } else { 2 * sign }))
}

/// Whether a point is within a polygon or on its edge.
pub(super) fn contains_point(points: &[Point], point: Point) -> Result<bool> {
    let Some(first) = points.first() else { return Ok(false) };
    let start = first.minus(point)?;
    let (mut before, mut total) = (start, 0);
    let rest = points.iter().skip(1).map(|next| next.minus(point));
    for next in rest.chain([Ok(start)]) {
        work::tick()?;
        let next = next?;
        match crossing(next, before)? {
            Crossing::On => return Ok(true),
            Crossing::Times(times) => total += times,
        }
        before = next;
    }
    Ok(total != 0)
}
