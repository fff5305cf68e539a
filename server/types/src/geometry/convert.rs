//! One kind of value from another: centers, bounds, and the casts between the types.

use std::f64::consts::{PI, SQRT_2};

use super::arith::{add, div, is_zero, max, min, mul, sub};
use super::value::{Circle, Corners, Path, Point, Polygon, Segment, Shape};
use crate::{Datum, Error, Result, SqlState, work};

/// The most corners of a polygon, which has up to 1 GiB.
const CORNERS_MAX: i64 = (1 << 26) - 1;
/// Corners of the polygon that a circle becomes by a cast.
const CIRCLE_CORNERS: i64 = 12;

fn middle(a: f64, b: f64) -> Result<f64> {
    div(add(a, b)?, 2.0)
}

impl Segment {
    /// The point between the ends.
    pub fn center(self) -> Result<Point> {
        let (a, b) = (self.first, self.second);
        Ok(Point { x: middle(a.x, b.x)?, y: middle(a.y, b.y)? })
    }
}

impl Corners {
    /// The point between the corners.
    pub fn center(self) -> Result<Point> {
        Segment { first: self.high, second: self.low }.center()
    }

    /// The four corners, from the one at the bottom left over the top.
    pub fn to_polygon(self) -> Polygon {
        let (high, low) = (self.high, self.low);
        let points = vec![low, Point { x: low.x, y: high.y }, high, Point { x: high.x, y: low.y }];
        Polygon { points }
    }

    /// The circle through the corners.
    pub fn to_circle(self) -> Result<Circle> {
        let center = self.center()?;
        Ok(Circle { center, radius: center.distance(self.high)? })
    }
}

impl Polygon {
    /// The smallest box around the corners.
    pub fn bounds(&self) -> Corners {
        bounds(&self.points)
    }

    /// The circle around the mean of the corners, with their mean distance from it.
    pub fn to_circle(&self) -> Result<Circle> {
        let count = self.points.len() as f64;
        let mut center = Point { x: 0.0, y: 0.0 };
        for point in &self.points {
            center = center.plus(*point)?;
        }
        center = Point { x: div(center.x, count)?, y: div(center.y, count)? };
        let mut radius = 0.0;
        for point in &self.points {
            radius = add(radius, point.distance(center)?)?;
        }
        Ok(Circle { center, radius: div(radius, count)? })
    }
}

/// The smallest box around some points.
pub fn bounds(points: &[Point]) -> Corners {
    let mut found: Option<Corners> = None;
    for point in points {
        let known = found.unwrap_or(Corners { high: *point, low: *point });
        found = Some(Corners {
            high: Point { x: max(known.high.x, point.x), y: max(known.high.y, point.y) },
            low: Point { x: min(known.low.x, point.x), y: min(known.low.y, point.y) },
        });
    }
    let origin = Point { x: 0.0, y: 0.0 };
    found.unwrap_or(Corners { high: origin, low: origin })
}

impl Path {
    /// The polygon of the same points; 22023 for an open path.
    pub fn to_polygon(&self) -> Result<Polygon> {
        if !self.is_closed {
            let message = "open path cannot be converted to polygon";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        Ok(Polygon { points: self.points.clone() })
    }
}

impl Circle {
    /// The square inside of the circle.
    pub fn inner_box(self) -> Result<Corners> {
        let half = div(self.radius, SQRT_2)?;
        let corner = Point { x: half, y: half };
        Ok(Corners { high: self.center.plus(corner)?, low: self.center.minus(corner)? })
    }

    /// A polygon with that many corners on the circle. 0A000 for a radius of zero, 22023 for less
    /// than two corners, 54000 for too many.
    pub fn to_polygon(self, corners: i64) -> Result<Polygon> {
        if is_zero(self.radius) {
            let message = "cannot convert circle with radius zero to polygon";
            return Err(Error::new(SqlState::FeatureNotSupported, message));
        }
        if corners < 2 {
            let message = "must request at least 2 points";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        if corners > CORNERS_MAX {
            let message = "too many points requested";
            return Err(Error::new(SqlState::ProgramLimitExceeded, message));
        }
        let count = usize::try_from(corners).unwrap_or(usize::MAX);
        // The points, their bytes, and those of the datum.
        work::afford(count.saturating_mul(3 * size_of::<Point>()))?;
        let step = div(2.0 * PI, corners as f64)?;
        let mut points = Vec::with_capacity(count);
        for place in 0..corners {
            work::tick()?;
            let angle = mul(step, place as f64)?;
            points.push(Point {
                x: sub(self.center.x, mul(self.radius, angle.cos())?)?,
                y: add(self.center.y, mul(self.radius, angle.sin())?)?,
            });
        }
        Ok(Polygon { points })
    }
}

/// A cast between two of the types, one that the list of casts has.
pub(crate) fn cast(datum: &Datum, from: Shape, to: Shape) -> Result<Datum> {
    let wrong = || Error::internal("a geometric datum holds something else");
    let bytes = datum.as_bytes().ok_or_else(wrong)?;
    let point = || Point::from_bytes(bytes).ok_or_else(wrong);
    let corners = || Corners::from_bytes(bytes).ok_or_else(wrong);
    let polygon = || Polygon::from_bytes(bytes).ok_or_else(wrong);
    let circle = || Circle::from_bytes(bytes).ok_or_else(wrong);
    Ok(Datum::bytes(match (from, to) {
        (Shape::Point, Shape::Corners) => Corners { high: point()?, low: point()? }.to_bytes(),
        (Shape::Segment, Shape::Point) => {
            Segment::from_bytes(bytes).ok_or_else(wrong)?.center()?.to_bytes()
        }
        (Shape::Path, Shape::Polygon) => {
            Path::from_bytes(bytes).ok_or_else(wrong)?.to_polygon()?.to_bytes()
        }
        (Shape::Corners, Shape::Point) => corners()?.center()?.to_bytes(),
        (Shape::Corners, Shape::Segment) => {
            let corners = corners()?;
            Segment { first: corners.high, second: corners.low }.to_bytes()
        }
        (Shape::Corners, Shape::Polygon) => corners()?.to_polygon().to_bytes(),
        (Shape::Corners, Shape::Circle) => corners()?.to_circle()?.to_bytes(),
        (Shape::Polygon, Shape::Point) => polygon()?.to_circle()?.center.to_bytes(),
        (Shape::Polygon, Shape::Corners) => polygon()?.bounds().to_bytes(),
        (Shape::Polygon, Shape::Circle) => polygon()?.to_circle()?.to_bytes(),
        (Shape::Polygon, Shape::Path) => {
            Path { is_closed: true, points: polygon()?.points }.to_bytes()
        }
        (Shape::Circle, Shape::Point) => circle()?.center.to_bytes(),
        (Shape::Circle, Shape::Corners) => circle()?.inner_box()?.to_bytes(),
        (Shape::Circle, Shape::Polygon) => circle()?.to_polygon(CIRCLE_CORNERS)?.to_bytes(),
        (from, to) if from == to => bytes.to_vec(),
        _ => return Err(wrong()),
    }))
}
