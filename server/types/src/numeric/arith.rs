//! Addition to remainder and the sign, with PostgreSQL's result scales.

use bigdecimal::num_bigint::{BigInt, Sign};

use super::Numeric;
use super::digits::{SCALE_MAX, digit_count, divide_rounded, pow10, pow10_i128, rescale};
use super::number::align;
use crate::{Error, Result, SqlState};

/// Significant digits that quotients and transcendental functions keep at least.
pub(super) const SIG_DIGITS_MIN: i64 = 16;
/// Scale that a result gets at most, unless an operand has more.
pub(super) const DISPLAY_SCALE_MAX: i64 = 1000;

pub(super) fn division_by_zero() -> Error {
    Error::new(SqlState::DivisionByZero, "division by zero")
}

fn divide_rounded_i128(a: i128, b: i128) -> Option<i128> {
    let quotient = a.checked_div(b)?;
    let rest = (a - quotient * b).unsigned_abs();
    let divisor = b.unsigned_abs();
    if rest >= divisor - rest {
        let step = if (a < 0) != (b < 0) { -1 } else { 1 };
        return quotient.checked_add(step);
    }
    Some(quotient)
}

/// Weight and value of the first base-10000 digit, as PostgreSQL stores numbers.
pub(super) fn leading_group(value: &BigInt, scale: i64) -> (i64, i64) {
    if value.sign() == Sign::NoSign {
        return (0, 0);
    }
    let digits = digit_count(value);
    let exponent = digits - scale - 1;
    let weight = exponent.div_euclid(4);
    let take = exponent - weight * 4 + 1;
    let shifted = if digits > take {
        BigInt::from(value.magnitude().clone()) / pow10((digits - take) as u32)
    } else {
        BigInt::from(value.magnitude().clone()) * pow10((take - digits) as u32)
    };
    (weight, i64::try_from(shifted).unwrap_or(0))
}

fn leading_group_i128(value: i128, scale: u16) -> (i64, i64) {
    let magnitude = value.unsigned_abs();
    let Some(log) = magnitude.checked_ilog10() else { return (0, 0) };
    let exponent = i64::from(log) - i64::from(scale);
    let weight = exponent.div_euclid(4);
    let take = (exponent - weight * 4 + 1) as u32;
    let digits = log + 1;
    let first = if digits > take {
        (magnitude / 10u128.pow(digits - take)) as i64
    } else {
        magnitude as i64 * 10i64.pow(take - digits)
    };
    (weight, first)
}

fn quotient_scale(a: (i64, i64), b: (i64, i64), a_scale: i64, b_scale: i64) -> i64 {
    let mut weight = a.0 - b.0;
    if a.1 <= b.1 {
        weight -= 1;
    }
    (SIG_DIGITS_MIN - weight * 4).max(a_scale).max(b_scale).clamp(0, DISPLAY_SCALE_MAX)
}

impl Numeric {
    /// `self + other`; the larger scale.
    pub fn add(&self, other: &Self) -> Result<Self> {
        if let (Numeric::Small(a, a_scale), Numeric::Small(b, b_scale)) = (self, other) {
            let aligned = if a_scale == b_scale {
                Some((a.get(), b.get()))
            } else {
                align(a.get(), *a_scale, b.get(), *b_scale)
            };
            if let Some((a, b)) = aligned
                && let Some(sum) = a.checked_add(b)
            {
                return Ok(Numeric::from_parts(sum, *a_scale.max(b_scale)));
            }
        }
        match (self, other) {
            (Numeric::NaN, _) | (_, Numeric::NaN) => return Ok(Numeric::NaN),
            (Numeric::Infinity, Numeric::NegInfinity)
            | (Numeric::NegInfinity, Numeric::Infinity) => return Ok(Numeric::NaN),
            _ => {}
        }
        let (Some((a, a_scale)), Some((b, b_scale))) = (self.to_big(), other.to_big()) else {
            return Ok(if self.is_finite() { other.clone() } else { self.clone() });
        };
        let scale = a_scale.max(b_scale);
        Numeric::from_big(rescale(&a, a_scale, scale) + rescale(&b, b_scale, scale), scale)
    }

    /// `self - other`; the larger scale.
    pub fn sub(&self, other: &Self) -> Result<Self> {
        self.add(&other.neg())
    }

    /// `self * other`; the scales added.
    pub fn mul(&self, other: &Self) -> Result<Self> {
        if let (Numeric::Small(a, a_scale), Numeric::Small(b, b_scale)) = (self, other)
            && let Some(product) = a.get().checked_mul(b.get())
            && let scale = u32::from(*a_scale) + u32::from(*b_scale)
            && scale <= SCALE_MAX as u32
        {
            return Ok(Numeric::from_parts(product, scale as u16));
        }
        if self.is_nan() || other.is_nan() {
            return Ok(Numeric::NaN);
        }
        let (Some((a, a_scale)), Some((b, b_scale))) = (self.to_big(), other.to_big()) else {
            return Ok(match self.signum() * other.signum() {
                0 => Numeric::NaN,
                1 => Numeric::Infinity,
                _ => Numeric::NegInfinity,
            });
        };
        Numeric::from_big(a * b, a_scale + b_scale)
    }

    /// `self / other` with at least 16 significant digits; 22012 if `other` is zero.
    pub fn div(&self, other: &Self) -> Result<Self> {
        if let (Numeric::Small(a, a_scale), Numeric::Small(b, b_scale)) = (self, other)
            && b.get() != 0
        {
            let scale = quotient_scale(
                leading_group_i128(a.get(), *a_scale),
                leading_group_i128(b.get(), *b_scale),
                i64::from(*a_scale),
                i64::from(*b_scale),
            );
            let shift = scale + i64::from(*b_scale) - i64::from(*a_scale);
            if let Ok(shift) = u32::try_from(shift)
                && let Some(power) = pow10_i128(shift)
                && let Some(dividend) = a.get().checked_mul(power)
                && let Some(quotient) = divide_rounded_i128(dividend, b.get())
            {
                return Ok(Numeric::from_parts(quotient, scale as u16));
            }
        }
        if let Some(special) = special_quotient(self, other)? {
            return Ok(special);
        }
        let (Some((a, a_scale)), Some((b, b_scale))) = (self.to_big(), other.to_big()) else {
            return Ok(Numeric::NaN);
        };
        let groups = (leading_group(&a, a_scale), leading_group(&b, b_scale));
        let scale = quotient_scale(groups.0, groups.1, a_scale, b_scale);
        Numeric::from_big(quotient_at(&a, a_scale, &b, b_scale, scale), scale)
    }

    /// The remainder with the sign of `self`; 22012 if `other` is zero.
    pub fn rem(&self, other: &Self) -> Result<Self> {
        if self.is_nan() || other.is_nan() {
            return Ok(Numeric::NaN);
        }
        if other.is_zero() {
            return Err(division_by_zero());
        }
        let (Some((a, a_scale)), Some((b, b_scale))) = (self.to_big(), other.to_big()) else {
            return Ok(if self.is_finite() { self.clone() } else { Numeric::NaN });
        };
        let scale = a_scale.max(b_scale);
        Numeric::from_big(rescale(&a, a_scale, scale) % rescale(&b, b_scale, scale), scale)
    }

    /// `-self`.
    #[must_use]
    pub fn neg(&self) -> Self {
        match self {
            Numeric::Small(value, scale) => match value.get().checked_neg() {
                Some(value) => Numeric::from_parts(value, *scale),
                None => {
                    let value = -BigInt::from(value.get());
                    let value = bigdecimal::BigDecimal::new(value, i64::from(*scale));
                    Numeric::Finite(Box::new(value))
                }
            },
            Numeric::Finite(value) => Numeric::Finite(Box::new(-(**value).clone())),
            Numeric::NaN => Numeric::NaN,
            Numeric::Infinity => Numeric::NegInfinity,
            Numeric::NegInfinity => Numeric::Infinity,
        }
    }

    /// The magnitude.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.signum() < 0 { self.neg() } else { self.clone() }
    }
}

/// What division answers if an operand is NaN, infinite or a zero divisor.
pub(super) fn special_quotient(number: &Numeric, other: &Numeric) -> Result<Option<Numeric>> {
    if number.is_nan() || other.is_nan() {
        return Ok(Some(Numeric::NaN));
    }
    if other.is_zero() {
        return Err(division_by_zero());
    }
    Ok(match (number.is_finite(), other.is_finite()) {
        (true, true) => None,
        (true, false) => Some(Numeric::ZERO),
        (false, false) => Some(Numeric::NaN),
        (false, true) if number.signum() == other.signum() => Some(Numeric::Infinity),
        (false, true) => Some(Numeric::NegInfinity),
    })
}

/// `a / b` at a scale, rounded.
pub(super) fn quotient_at(
    a: &BigInt,
    a_scale: i64,
    b: &BigInt,
    b_scale: i64,
    scale: i64,
) -> BigInt {
    let shift = scale + b_scale - a_scale;
    if shift >= 0 {
        divide_rounded(&(a * pow10(shift as u32)), b)
    } else {
        divide_rounded(a, &(b * pow10((-shift) as u32)))
    }
}
