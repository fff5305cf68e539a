//! Decimal digits of big integers: powers of ten, counting, rounding to a scale.

use bigdecimal::num_bigint::{BigInt, Sign};

use crate::{Error, SqlState};

/// Digits after the decimal point that a numeric can have.
pub(super) const SCALE_MAX: i64 = 16_383;
/// Digits before the decimal point that a numeric can have.
pub(super) const DIGITS_MAX: i64 = 131_072;

pub(super) fn overflow() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "value overflows numeric format")
}

/// `10^n` if it fits 128 bits.
pub(super) fn pow10_i128(n: u32) -> Option<i128> {
    10i128.checked_pow(n)
}

/// `10^n`.
pub(super) fn pow10(n: u32) -> BigInt {
    BigInt::from(10u8).pow(n)
}

/// Decimal digits of the magnitude; 0 for 0.
pub(super) fn digit_count(value: &BigInt) -> i64 {
    if value.sign() == Sign::NoSign {
        return 0;
    }
    let bits = value.bits();
    // log10(2) from below; then at most one correction.
    let low = ((bits - 1) as f64 * std::f64::consts::LOG10_2).floor() as u32;
    let mut digits = low;
    let magnitude = BigInt::from(value.magnitude().clone());
    let mut bound = pow10(low);
    while magnitude >= bound {
        digits += 1;
        bound *= 10;
    }
    i64::from(digits)
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
