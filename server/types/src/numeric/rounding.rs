//! Rounding, scales and the modifier of a column: `numeric(precision, scale)`.

use bigdecimal::num_bigint::{BigInt, Sign};

use super::Numeric;
use super::digits::{
    DIGITS_MAX, SCALE_MAX, digit_count, divide_rounded, pow10, pow10_i128, rescale,
};
use crate::{Error, Result, SqlState};

/// Rounded half away from zero to `scale` digits (negative: tens, hundreds…). A scale that no
/// number has counts as the nearest one that a number can have.
pub fn round(number: &Numeric, scale: i32) -> Result<Numeric> {
    shorten(number, scale, divide_rounded)
}

/// Cut to `scale` digits; a scale that no number has is treated as by [`round`].
pub fn trunc(number: &Numeric, scale: i32) -> Result<Numeric> {
    shorten(number, scale, |value, divisor| value / divisor)
}

/// At exactly that scale: cut or padded with zeros. For the binary format.
pub(crate) fn trunc_to_scale(number: &Numeric, scale: u16) -> Result<Numeric> {
    let Some((value, from)) = number.to_big() else { return Ok(number.clone()) };
    let to = i64::from(scale);
    if to >= from {
        return Numeric::from_big(rescale(&value, from, to), to);
    }
    Numeric::from_big(value / pow10((from - to) as u32), to)
}

/// The smallest integer not below it.
pub fn ceil(number: &Numeric) -> Result<Numeric> {
    shorten(number, 0, |value, divisor| {
        let quotient = value / divisor;
        if &quotient * divisor < *value { quotient + 1 } else { quotient }
    })
}

/// The largest integer not above it.
pub fn floor(number: &Numeric) -> Result<Numeric> {
    shorten(number, 0, |value, divisor| {
        let quotient = value / divisor;
        if &quotient * divisor > *value { quotient - 1 } else { quotient }
    })
}

fn shorten(
    number: &Numeric,
    scale: i32,
    divide: impl Fn(&BigInt, &BigInt) -> BigInt,
) -> Result<Numeric> {
    let target = i64::from(scale).clamp(-DIGITS_MAX - 1, SCALE_MAX);
    if let Numeric::Small(value, from) = number {
        let from = i64::from(*from);
        if target == from {
            return Ok(number.clone());
        }
        if target > from
            && let Some(power) = pow10_i128((target - from) as u32)
            && let Some(value) = value.get().checked_mul(power)
        {
            return Ok(Numeric::from_parts(value, target as u16));
        }
    }
    let Some((value, from)) = number.to_big() else { return Ok(number.clone()) };
    if target >= from {
        return Numeric::from_big(rescale(&value, from, target), target);
    }
    let shortened = divide(&value, &pow10((from - target) as u32));
    Numeric::from_big(shortened, target)
}

/// Rounds to a column's precision and scale; 22003 if it does not fit.
pub fn apply_typmod(number: &Numeric, precision: u16, scale: i16) -> Result<Numeric> {
    let field_overflow = |detail: String| {
        Error::new(SqlState::NumericValueOutOfRange, "numeric field overflow").detail(detail)
    };
    if number.is_nan() {
        return Ok(Numeric::NaN);
    }
    if !number.is_finite() {
        return Err(field_overflow(format!(
            "A field with precision {precision}, scale {scale} cannot hold an infinite value."
        )));
    }
    let rounded = match number {
        Numeric::Small(_, have) if i32::from(*have) == i32::from(scale) => number.clone(),
        _ => round(number, i32::from(scale))?,
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
pub fn min_scale(number: &Numeric) -> Option<i32> {
    let (mut value, mut scale) = number.to_big()?;
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
pub fn trim_scale(number: &Numeric) -> Result<Numeric> {
    match min_scale(number) {
        Some(scale) => trunc(number, scale),
        None => Ok(number.clone()),
    }
}

/// -1, 0, 1 or NaN.
#[must_use]
pub fn sign(number: &Numeric) -> Numeric {
    if number.is_nan() { Numeric::NaN } else { Numeric::from_i64(number.signum().into()) }
}
