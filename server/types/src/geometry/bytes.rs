//! Values to and from PostgreSQL's binary format: numbers of eight bytes, the first byte first.

use super::arith::is_zero;
use super::value::{Circle, Corners, Line, Path, Point, Polygon, Segment};
use crate::{Error, Result, SqlState};

/// Bytes of a point.
const POINT_BYTES: usize = 16;

fn joined(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

/// Exactly that many numbers.
fn numbers<const N: usize>(bytes: &[u8]) -> Option<[f64; N]> {
    let mut found = [0.0; N];
    let (chunks, rest) = bytes.as_chunks::<8>();
    if chunks.len() != N || !rest.is_empty() {
        return None;
    }
    for (place, chunk) in found.iter_mut().zip(chunks) {
        *place = f64::from_be_bytes(*chunk);
    }
    Some(found)
}

fn put_points(out: &mut Vec<u8>, points: &[Point]) {
    out.extend_from_slice(&(points.len() as u32).to_be_bytes());
    for point in points {
        out.extend_from_slice(&point.to_bytes());
    }
}

/// How many points are announced, and their bytes.
fn counted(bytes: &[u8]) -> Option<(i32, &[u8])> {
    let (count, rest) = bytes.split_first_chunk::<4>()?;
    Some((i32::from_be_bytes(*count), rest))
}

fn points(bytes: &[u8]) -> Option<Vec<Point>> {
    let (count, rest) = counted(bytes)?;
    let count = usize::try_from(count).ok()?;
    if count == 0 || rest.len() != count.checked_mul(POINT_BYTES)? {
        return None;
    }
    let mut points = Vec::with_capacity(count);
    for chunk in rest.chunks(POINT_BYTES) {
        points.push(Point::from_bytes(chunk)?);
    }
    Some(points)
}

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::InvalidBinaryRepresentation, message)
}

/// 22P03 for a number of points that no value has.
fn check_count(name: &str, bytes: &[u8]) -> Result<()> {
    match counted(bytes) {
        Some((count, _)) if count <= 0 => {
            Err(invalid(format!("invalid number of points in external \"{name}\" value")))
        }
        _ => Ok(()),
    }
}

impl Point {
    /// The bytes of a datum.
    pub fn to_bytes(self) -> Vec<u8> {
        joined(&[self.x, self.y])
    }

    /// The value of a datum's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [x, y] = numbers(bytes)?;
        Some(Point { x, y })
    }
}

impl Segment {
    /// The bytes of a datum.
    pub fn to_bytes(self) -> Vec<u8> {
        joined(&[self.first.x, self.first.y, self.second.x, self.second.y])
    }

    /// The value of a datum's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, d] = numbers(bytes)?;
        Some(Segment { first: Point { x: a, y: b }, second: Point { x: c, y: d } })
    }
}

impl Corners {
    /// The bytes of a datum.
    pub fn to_bytes(self) -> Vec<u8> {
        joined(&[self.high.x, self.high.y, self.low.x, self.low.y])
    }

    /// The value of a datum's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, d] = numbers(bytes)?;
        Some(Corners { high: Point { x: a, y: b }, low: Point { x: c, y: d } })
    }
}

impl Line {
    /// The bytes of a datum.
    pub fn to_bytes(self) -> Vec<u8> {
        joined(&[self.a, self.b, self.c])
    }

    /// The value of a datum's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [a, b, c] = numbers(bytes)?;
        Some(Line { a, b, c })
    }

    /// What a client sends; 22P03 if no line has such factors.
    pub(super) fn received(bytes: &[u8]) -> Result<Option<Self>> {
        let line = Self::from_bytes(bytes);
        if line.is_some_and(|line| is_zero(line.a) && is_zero(line.b)) {
            return Err(invalid("invalid line specification: A and B cannot both be zero"));
        }
        Ok(line)
    }
}

impl Path {
    /// The bytes of a datum.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(5 + self.points.len() * POINT_BYTES);
        out.push(u8::from(self.is_closed));
        put_points(&mut out, &self.points);
        out
    }

    /// The value of a datum's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&closed, rest) = bytes.split_first()?;
        Some(Path { is_closed: closed != 0, points: points(rest)? })
    }

    /// What a client sends; 22P03 for a path without points.
    pub(super) fn received(bytes: &[u8]) -> Result<Option<Self>> {
        check_count("path", bytes.get(1..).unwrap_or_default())?;
        Ok(Self::from_bytes(bytes))
    }
}

impl Polygon {
    /// The bytes of a datum.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 + self.points.len() * POINT_BYTES);
        put_points(&mut out, &self.points);
        out
    }

    /// The value of a datum's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(Polygon { points: points(bytes)? })
    }

    /// What a client sends; 22P03 for a polygon without corners.
    pub(super) fn received(bytes: &[u8]) -> Result<Option<Self>> {
        check_count("polygon", bytes)?;
        Ok(Self::from_bytes(bytes))
    }
}

impl Circle {
    /// The bytes of a datum.
    pub fn to_bytes(self) -> Vec<u8> {
        joined(&[self.center.x, self.center.y, self.radius])
    }

    /// The value of a datum's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [x, y, radius] = numbers(bytes)?;
        Some(Circle { center: Point { x, y }, radius })
    }

    /// What a client sends; 22P03 for a negative radius.
    pub(super) fn received(bytes: &[u8]) -> Result<Option<Self>> {
        let circle = Self::from_bytes(bytes);
        if circle.is_some_and(|circle| circle.radius < 0.0) {
            return Err(invalid("invalid radius in external \"circle\" value"));
        }
        Ok(circle)
    }
}
