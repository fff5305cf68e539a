//! Arithmetic of coordinates. An infinite result of finite operands is an overflow, a zero of
//! operands that are not zero an underflow (22003).

use crate::{Error, Result, SqlState};

fn checked(value: f64, may_be_infinite: bool, may_be_zero: bool) -> Result<f64> {
    let wrong = |what: &str| {
        let message = format!("value out of range: {what}");
        Err(Error::new(SqlState::NumericValueOutOfRange, message))
    };
    match value {
        value if value.is_infinite() && !may_be_infinite => wrong("overflow"),
        0.0 if !may_be_zero => wrong("underflow"),
        value => Ok(value),
    }
}

/// The sum.
pub fn add(a: f64, b: f64) -> Result<f64> {
    checked(a + b, a.is_infinite() || b.is_infinite(), true)
}

/// The difference.
pub fn sub(a: f64, b: f64) -> Result<f64> {
    checked(a - b, a.is_infinite() || b.is_infinite(), true)
}

/// The product.
pub fn mul(a: f64, b: f64) -> Result<f64> {
    checked(a * b, a.is_infinite() || b.is_infinite(), a == 0.0 || b == 0.0)
}

/// The quotient; 22012 for a divisor of zero.
pub fn div(a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(Error::new(SqlState::DivisionByZero, "division by zero"));
    }
    checked(a / b, a.is_infinite(), a == 0.0 || b.is_infinite())
}

/// The length of the hypotenuse over two legs, without an overflow of squares.
pub fn hypotenuse(a: f64, b: f64) -> Result<f64> {
    if a.is_infinite() || b.is_infinite() {
        return Ok(f64::INFINITY);
    }
    if a.is_nan() || b.is_nan() {
        return Ok(f64::NAN);
    }
    let (a, b) = (a.abs(), b.abs());
    let (long, short) = if a < b { (b, a) } else { (a, b) };
    if short == 0.0 {
        return Ok(long);
    }
    let ratio = short / long;
    checked(long * (1.0 + ratio * ratio).sqrt(), false, false)
}

/// How far coordinates may be apart and still count as equal.
const TOLERANCE: f64 = 1.0e-6;

/// Whether a number counts as zero.
pub fn is_zero(a: f64) -> bool {
    a.abs() <= TOLERANCE
}

/// Whether two numbers count as equal.
pub fn eq(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= TOLERANCE
}

/// Whether two numbers differ by more than the tolerance; NaN differs from nothing.
pub fn ne(a: f64, b: f64) -> bool {
    (a - b).abs() > TOLERANCE
}

/// Whether the first number is smaller, by more than the tolerance.
pub fn lt(a: f64, b: f64) -> bool {
    a + TOLERANCE < b
}

/// Whether the first number is smaller or counts as equal.
pub fn le(a: f64, b: f64) -> bool {
    a <= b + TOLERANCE
}

/// Whether the first number is larger, by more than the tolerance.
pub fn gt(a: f64, b: f64) -> bool {
    a > b + TOLERANCE
}

/// Whether the first number is larger or counts as equal.
pub fn ge(a: f64, b: f64) -> bool {
    a + TOLERANCE >= b
}

/// Whether the first number is smaller, where NaN is the largest.
pub fn is_less(a: f64, b: f64) -> bool {
    !a.is_nan() && (b.is_nan() || a < b)
}

/// Whether two numbers are equal, where NaN equals NaN.
pub fn is_same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// The smaller number, where NaN is the largest.
pub fn min(a: f64, b: f64) -> f64 {
    if is_less(a, b) { a } else { b }
}

/// The larger number, where NaN is the largest.
pub fn max(a: f64, b: f64) -> f64 {
    if is_less(b, a) { a } else { b }
}
