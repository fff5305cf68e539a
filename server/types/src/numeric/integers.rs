//! Functions of whole numbers: truncated quotient, greatest common divisor, factorial.

use bigdecimal::num_bigint::{BigInt, Sign};

use super::Numeric;
use super::arith::special_quotient;
use super::digits::{overflow, rescale};
use crate::{Error, Result, SqlState};

/// The quotient truncated to an integer (`div(a, b)`).
pub fn div_trunc(number: &Numeric, other: &Numeric) -> Result<Numeric> {
    if let Some(special) = special_quotient(number, other)? {
        return Ok(special);
    }
    let (Some((a, a_scale)), Some((b, b_scale))) = (number.to_big(), other.to_big()) else {
        return Ok(Numeric::NaN);
    };
    let scale = a_scale.max(b_scale);
    Numeric::from_big(rescale(&a, a_scale, scale) / rescale(&b, b_scale, scale), 0)
}

/// The greatest common divisor.
pub fn gcd(number: &Numeric, other: &Numeric) -> Result<Numeric> {
    let (Some((a, a_scale)), Some((b, b_scale))) = (number.to_big(), other.to_big()) else {
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
pub fn lcm(number: &Numeric, other: &Numeric) -> Result<Numeric> {
    if !number.is_finite() || !other.is_finite() {
        return Ok(Numeric::NaN);
    }
    if number.is_zero() || other.is_zero() {
        let scale = number.scale().max(other.scale()).unwrap_or(0);
        return Ok(Numeric::from_parts(0, scale as u16));
    }
    Ok(number.mul(&div_trunc(other, &gcd(number, other)?)?)?.abs())
}

/// `n!`; 22003 if `n` is negative or the result too large.
pub fn factorial(n: i64) -> Result<Numeric> {
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
