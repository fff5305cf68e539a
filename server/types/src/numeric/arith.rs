//! Addition to remainder, rounding and modifiers, with PostgreSQL's result scales.

use bigdecimal::num_bigint::{BigInt, Sign};

use super::Numeric;
use super::number::{SCALE_MAX, align, digit_count, overflow, pow10, pow10_i128};
use crate::{Error, Result, SqlState};

/// Significant digits that quotients and transcendental functions keep at least.
pub(super) const SIG_DIGITS_MIN: i64 = 16;
/// Scale that a result gets at most, unless an operand has more.
pub(super) const DISPLAY_SCALE_MAX: i64 = 1000;

pub(super) fn division_by_zero() -> Error {
    Error::new(SqlState::DivisionByZero, "division by zero")
}

/// `value / 10^(from - to)`, rounded half away from zero; multiplied if `to` is larger.
pub(super) fn rescale(value: &BigInt, from: i64, to: i64) -> BigInt {
    if to >= from {
        return value * pow10((to - from) as u32);
    }
    let drop = from - to;
    if drop > digit_count(value) {
        return BigInt::from(0);
    }
    divide_rounded(value, &pow10(drop as u32))
}

/// The quotient rounded half away from zero. The divisor must not be zero.
pub(super) fn divide_rounded(a: &BigInt, b: &BigInt) -> BigInt {
    let quotient = a / b;
    let rest = a - &quotient * b;
    if rest.magnitude() * 2u8 >= *b.magnitude() {
        let negative = (a.sign() == Sign::Minus) != (b.sign() == Sign::Minus);
        if negative { quotient - 1 } else { quotient + 1 }
    } else {
        quotient
    }
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
        if let Some(special) = self.special_quotient(other)? {
            return Ok(special);
        }
        let (Some((a, a_scale)), Some((b, b_scale))) = (self.to_big(), other.to_big()) else {
            return Ok(Numeric::NaN);
        };
        let groups = (leading_group(&a, a_scale), leading_group(&b, b_scale));
        let scale = quotient_scale(groups.0, groups.1, a_scale, b_scale);
        Numeric::from_big(quotient_at(&a, a_scale, &b, b_scale, scale), scale)
    }

    /// The quotient truncated to an integer (`div(a, b)`).
    pub fn div_trunc(&self, other: &Self) -> Result<Self> {
        if let Some(special) = self.special_quotient(other)? {
            return Ok(special);
        }
        let (Some((a, a_scale)), Some((b, b_scale))) = (self.to_big(), other.to_big()) else {
            return Ok(Numeric::NaN);
        };
        let scale = a_scale.max(b_scale);
        Numeric::from_big(rescale(&a, a_scale, scale) / rescale(&b, b_scale, scale), 0)
    }

    /// What division answers if an operand is NaN, infinite or a zero divisor.
    fn special_quotient(&self, other: &Self) -> Result<Option<Self>> {
        if self.is_nan() || other.is_nan() {
            return Ok(Some(Numeric::NaN));
        }
        if other.is_zero() {
            return Err(division_by_zero());
        }
        Ok(match (self.is_finite(), other.is_finite()) {
            (true, true) => None,
            (true, false) => Some(Numeric::ZERO),
            (false, false) => Some(Numeric::NaN),
            (false, true) if self.signum() == other.signum() => Some(Numeric::Infinity),
            (false, true) => Some(Numeric::NegInfinity),
        })
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

    /// Rounded half away from zero to `scale` digits (negative: tens, hundreds…).
    pub fn round(&self, scale: i32) -> Result<Self> {
        self.shorten(scale, divide_rounded)
    }

    /// Cut to `scale` digits.
    pub fn trunc(&self, scale: i32) -> Result<Self> {
        self.shorten(scale, |value, divisor| value / divisor)
    }

    /// At exactly that scale: cut or padded with zeros. For the binary format.
    pub(crate) fn trunc_to_scale(&self, scale: u16) -> Result<Self> {
        let Some((value, from)) = self.to_big() else { return Ok(self.clone()) };
        let to = i64::from(scale);
        if to >= from {
            return Numeric::from_big(rescale(&value, from, to), to);
        }
        Numeric::from_big(value / pow10((from - to) as u32), to)
    }

    /// The smallest integer not below it.
    pub fn ceil(&self) -> Result<Self> {
        self.shorten(0, |value, divisor| {
            let quotient = value / divisor;
            if &quotient * divisor < *value { quotient + 1 } else { quotient }
        })
    }

    /// The largest integer not above it.
    pub fn floor(&self) -> Result<Self> {
        self.shorten(0, |value, divisor| {
            let quotient = value / divisor;
            if &quotient * divisor > *value { quotient - 1 } else { quotient }
        })
    }

    fn shorten(&self, scale: i32, divide: impl Fn(&BigInt, &BigInt) -> BigInt) -> Result<Self> {
        let target = i64::from(scale.clamp(-2000, 2000));
        if let Numeric::Small(value, from) = self {
            let from = i64::from(*from);
            if target == from {
                return Ok(self.clone());
            }
            if target > from
                && let Some(power) = pow10_i128((target - from) as u32)
                && let Some(value) = value.get().checked_mul(power)
            {
                return Ok(Numeric::from_parts(value, target as u16));
            }
        }
        let Some((value, from)) = self.to_big() else { return Ok(self.clone()) };
        if target >= from {
            return Numeric::from_big(rescale(&value, from, target), target);
        }
        let shortened = divide(&value, &pow10((from - target) as u32));
        Numeric::from_big(shortened, target)
    }

    /// Rounds to a column's precision and scale; 22003 if it does not fit.
    pub fn apply_typmod(&self, precision: u16, scale: i16) -> Result<Self> {
        let field_overflow = |detail: String| {
            Error::new(SqlState::NumericValueOutOfRange, "numeric field overflow").detail(detail)
        };
        if self.is_nan() {
            return Ok(Numeric::NaN);
        }
        if !self.is_finite() {
            return Err(field_overflow(format!(
                "A field with precision {precision}, scale {scale} cannot hold an infinite value."
            )));
        }
        let rounded = match self {
            Numeric::Small(_, have) if i32::from(*have) == i32::from(scale) => self.clone(),
            _ => self.round(i32::from(scale))?,
        };
        let digits_max = i64::from(precision) - i64::from(scale);
        let fits = match &rounded {
            Numeric::Small(value, _) if value.get() == 0 => true,
            Numeric::Small(value, have) => {
                let digits = i64::from(value.get().unsigned_abs().ilog10()) + 1;
                digits - i64::from(*have) <= digits_max
            }
            _ => match rounded.to_big() {
                Some((value, have)) => digit_count(&value) - have <= digits_max,
                None => true,
            },
        };
        if fits {
            return Ok(rounded);
        }
        let bound = if digits_max == 0 { "1".to_owned() } else { format!("10^{digits_max}") };
        Err(field_overflow(format!(
            "A field with precision {precision}, scale {scale} must round to an absolute value \
             less than {bound}."
        )))
    }

    /// The least scale that loses nothing; `None` for NaN and the infinities.
    pub fn min_scale(&self) -> Option<i32> {
        let (mut value, mut scale) = self.to_big()?;
        if value.sign() == Sign::NoSign {
            return Some(0);
        }
        while scale > 0 && (&value % 10) == BigInt::from(0) {
            value /= 10;
            scale -= 1;
        }
        Some(scale as i32)
    }

    /// The same number without trailing zeros after the point.
    pub fn trim_scale(&self) -> Result<Self> {
        match self.min_scale() {
            Some(scale) => self.trunc(scale),
            None => Ok(self.clone()),
        }
    }

    /// -1, 0, 1 or NaN.
    #[must_use]
    pub fn sign(&self) -> Self {
        if self.is_nan() { Numeric::NaN } else { Numeric::from_i64(self.signum().into()) }
    }

    /// The greatest common divisor.
    pub fn gcd(&self, other: &Self) -> Result<Self> {
        let (Some((a, a_scale)), Some((b, b_scale))) = (self.to_big(), other.to_big()) else {
            return Ok(Numeric::NaN);
        };
        let scale = a_scale.max(b_scale);
        let (mut a, mut b) = (rescale(&a, a_scale, scale), rescale(&b, b_scale, scale));
        while b.sign() != Sign::NoSign {
            (a, b) = (b.clone(), a % b);
        }
        Numeric::from_big(a.magnitude().clone().into(), scale)
    }

    /// The least common multiple.
    pub fn lcm(&self, other: &Self) -> Result<Self> {
        if !self.is_finite() || !other.is_finite() {
            return Ok(Numeric::NaN);
        }
        if self.is_zero() || other.is_zero() {
            let scale = self.scale().max(other.scale()).unwrap_or(0);
            return Ok(Numeric::from_parts(0, scale as u16));
        }
        Ok(self.mul(&other.div_trunc(&self.gcd(other)?)?)?.abs())
    }

    /// `n!`; 22003 if `n` is negative or the result too large.
    pub fn factorial(n: i64) -> Result<Self> {
        if n < 0 {
            return Err(Error::new(
                SqlState::NumericValueOutOfRange,
                "factorial of a negative number is undefined",
            ));
        }
        if n > 32_177 {
            return Err(overflow());
        }
        let mut product = BigInt::from(1);
        for factor in 2..=n {
            product *= factor;
        }
        Numeric::from_big(product, 0)
    }
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
