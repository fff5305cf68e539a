//! The values.

use serde::{Deserialize, Serialize};

use super::arith::{add, div, eq, hypotenuse, is_less, is_same, mul, sub};
use crate::Result;

/// A kind of geometric value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Shape {
    /// `point`
    Point,
    /// `lseg`
    Segment,
    /// `path`
    Path,
    /// `box`
    Corners,
    /// `polygon`
    Polygon,
    /// `line`
    Line,
    /// `circle`
    Circle,
}

impl Shape {
    /// Every kind, ordered by the numbers of the types.
    pub const ALL: [Shape; 7] = [
        Shape::Point,
        Shape::Segment,
        Shape::Path,
        Shape::Corners,
        Shape::Polygon,
        Shape::Line,
        Shape::Circle,
    ];

    /// The name of the type.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Point => "point",
            Shape::Segment => "lseg",
            Shape::Path => "path",
            Shape::Corners => "box",
            Shape::Polygon => "polygon",
            Shape::Line => "line",
            Shape::Circle => "circle",
        }
    }

    /// Whether its values have a fixed number of parts, which subscripts read.
    pub fn has_parts(self) -> bool {
        matches!(self, Shape::Point | Shape::Segment | Shape::Corners | Shape::Line)
    }

    /// Whether all values have the same length.
    pub fn is_fixed(self) -> bool {
        !matches!(self, Shape::Path | Shape::Polygon)
    }

    /// The name of the type of arrays.
    pub fn array_name(self) -> &'static str {
        match self {
            Shape::Point => "point[]",
            Shape::Segment => "lseg[]",
            Shape::Path => "path[]",
            Shape::Corners => "box[]",
            Shape::Polygon => "polygon[]",
            Shape::Line => "line[]",
            Shape::Circle => "circle[]",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Shape> {
        Self::ALL.into_iter().find(|shape| shape.name() == name)
    }
}

/// `point`
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The place on the horizontal axis.
    pub x: f64,
    /// The place on the vertical axis.
    pub y: f64,
}

impl Point {
    /// Whether two points count as one: within the tolerance, or NaN in the same places.
    pub fn is_at(self, other: Point) -> bool {
        let has_nan = [self.x, self.y, other.x, other.y].iter().any(|number| number.is_nan());
        let alike = if has_nan { is_same } else { eq };
        alike(self.x, other.x) && alike(self.y, other.y)
    }

    /// The distance of two points.
    pub fn distance(self, other: Point) -> Result<f64> {
        hypotenuse(sub(self.x, other.x)?, sub(self.y, other.y)?)
    }

    /// The slope of the line through two points; infinite for a vertical one.
    pub fn slope(self, other: Point) -> Result<f64> {
        if eq(self.x, other.x) {
            return Ok(f64::INFINITY);
        }
        if eq(self.y, other.y) {
            return Ok(0.0);
        }
        div(sub(self.y, other.y)?, sub(self.x, other.x)?)
    }

    /// The slope of a line that is perpendicular to that through two points.
    pub fn perpendicular_slope(self, other: Point) -> Result<f64> {
        if eq(self.x, other.x) {
            return Ok(0.0);
        }
        if eq(self.y, other.y) {
            return Ok(f64::INFINITY);
        }
        div(sub(self.x, other.x)?, sub(other.y, self.y)?)
    }

    /// The sum, coordinate by coordinate.
    pub fn plus(self, other: Point) -> Result<Point> {
        Ok(Point { x: add(self.x, other.x)?, y: add(self.y, other.y)? })
    }

    /// The difference, coordinate by coordinate.
    pub fn minus(self, other: Point) -> Result<Point> {
        Ok(Point { x: sub(self.x, other.x)?, y: sub(self.y, other.y)? })
    }

    /// The product of two complex numbers.
    pub fn times(self, other: Point) -> Result<Point> {
        Ok(Point {
            x: sub(mul(self.x, other.x)?, mul(self.y, other.y)?)?,
            y: add(mul(self.x, other.y)?, mul(self.y, other.x)?)?,
        })
    }

    /// The quotient of two complex numbers; 22012 for a divisor of zero.
    pub fn over(self, other: Point) -> Result<Point> {
        let square = add(mul(other.x, other.x)?, mul(other.y, other.y)?)?;
        Ok(Point {
            x: div(add(mul(self.x, other.x)?, mul(self.y, other.y)?)?, square)?,
            y: div(sub(mul(self.y, other.x)?, mul(self.x, other.y)?)?, square)?,
        })
    }
}

/// `lseg`
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// One end.
    pub first: Point,
    /// The other end.
    pub second: Point,
}

/// `box`: the corners at the top right and the bottom left.
#[derive(Clone, Copy, Debug)]
pub struct Corners {
    /// The corner with the larger coordinates.
    pub high: Point,
    /// The corner with the smaller coordinates.
    pub low: Point,
}

impl Corners {
    /// The box of which two points are opposite corners.
    pub fn around(one: Point, other: Point) -> Self {
        let sorted = |a: f64, b: f64| if is_less(b, a) { (a, b) } else { (b, a) };
        let (right, left) = sorted(one.x, other.x);
        let (top, bottom) = sorted(one.y, other.y);
        Corners { high: Point { x: right, y: top }, low: Point { x: left, y: bottom } }
    }
}

/// `line`: the points of which `a·x + b·y + c` is zero.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// The factor of `x`.
    pub a: f64,
    /// The factor of `y`.
    pub b: f64,
    /// The constant.
    pub c: f64,
}

impl Line {
    /// The line through a point with a slope, which is infinite for a vertical line.
    pub fn through(point: Point, slope: f64) -> Result<Self> {
        if slope.is_infinite() {
            return Ok(Line { a: -1.0, b: 0.0, c: point.x });
        }
        if slope == 0.0 {
            return Ok(Line { a: 0.0, b: -1.0, c: point.y });
        }
        let c = sub(point.y, mul(slope, point.x)?)?;
        // No negative zero.
        Ok(Line { a: slope, b: -1.0, c: if c == 0.0 { 0.0 } else { c } })
    }
}

/// `path`: points that follow each other; the last one leads to the first if it is closed.
#[derive(Clone, Debug)]
pub struct Path {
    /// Whether it is closed.
    pub is_closed: bool,
    /// Its points, at least one.
    pub points: Vec<Point>,
}

/// `polygon`
#[derive(Clone, Debug)]
pub struct Polygon {
    /// Its corners, at least one.
    pub points: Vec<Point>,
}

/// `circle`
#[derive(Clone, Copy, Debug)]
pub struct Circle {
    /// Its center.
    pub center: Point,
    /// Its radius, which a literal cannot make negative.
    pub radius: f64,
}
