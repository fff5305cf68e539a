//! Roots, powers and logarithms: fixed-point series with guard digits, rounded to the scale that
//! PostgreSQL would choose.

use bigdecimal::num_bigint::{BigInt, Sign};

use super::arith::{
    DISPLAY_SCALE_MAX, SIG_DIGITS_MIN, division_by_zero, leading_group, quotient_at,
};
use super::digits::{DIGITS_MAX, digit_count, overflow, pow10, rescale};
use super::{Numeric, rounding};
use crate::{Error, Result, SqlState, work};

/// Digits beyond the wanted ones that series are computed with.
const GUARD: i64 = 20;

/// A fixed-point number: `value / 10^digits`.
struct Fixed {
    digits: i64,
    one: BigInt,
}

impl Fixed {
    fn new(digits: i64) -> Self {
        Fixed { digits, one: pow10(digits as u32) }
    }

    fn mul(&self, a: &BigInt, b: &BigInt) -> BigInt {
        a * b / &self.one
    }

    fn div(&self, a: &BigInt, b: &BigInt) -> BigInt {
        a * &self.one / b
    }

    /// ln of a number between about 0.1 and 10: square roots until it is near 1, then atanh.
    fn ln_near_one(&self, value: &BigInt) -> BigInt {
        let mut root = value.clone();
        let mut doublings = 0u32;
        let near = &self.one / 64;
        while BigInt::from((&root - &self.one).magnitude().clone()) > near {
            root = (root * &self.one).sqrt();
            doublings += 1;
        }
        let z = self.div(&(&root - &self.one), &(&root + &self.one));
        let square = self.mul(&z, &z);
        let (mut term, mut sum, mut n) = (z.clone(), z, 1u32);
        loop {
            term = self.mul(&term, &square);
            n += 2;
            let part = &term / n;
            if part.sign() == Sign::NoSign {
                break;
            }
            sum += part;
        }
        sum << (doublings + 1)
    }

    fn ln10(&self) -> BigInt {
        self.ln_near_one(&(&self.one * 10))
    }

    /// ln of a positive number.
    fn ln(&self, value: &BigInt, scale: i64) -> BigInt {
        let exponent = digit_count(value) - scale - 1;
        // value / 10^scale = fraction * 10^exponent with 1 <= fraction < 10
        let fraction = rescale(value, scale + exponent, self.digits);
        // Below 1 keep it undivided: 0.99 is near one, 9.9e-1 is not.
        let direct = rescale(value, scale, self.digits);
        if (-1..=0).contains(&exponent) {
            return self.ln_near_one(&direct);
        }
        self.ln_near_one(&fraction) + self.ln10() * exponent
    }

    /// `e^x` as a fixed-point mantissa and a power of ten.
    fn exp(&self, x: &BigInt) -> (BigInt, i64) {
        let ln10 = self.ln10();
        let power = x / &ln10;
        let rest = x - &power * &ln10;
        const HALVINGS: u32 = 12;
        let small = rest >> HALVINGS;
        let (mut term, mut sum, mut n) = (self.one.clone(), self.one.clone(), 1u32);
        loop {
            term = self.mul(&term, &small) / n;
            // A right shift of a negative number never reaches zero, a division does.
            if term.sign() == Sign::NoSign {
                break;
            }
            sum += &term;
            n += 1;
        }
        for _ in 0..HALVINGS {
            sum = self.mul(&sum, &sum);
        }
        (sum, i64::try_from(power).unwrap_or(0))
    }
}

/// The decimal weight of `ln(x)`, estimated as PostgreSQL does.
fn estimate_ln_weight(value: &BigInt, scale: i64) -> i64 {
    if value.sign() != Sign::Plus {
        return 0;
    }
    let one = pow10(scale as u32);
    let difference = value - &one;
    // 0.9 <= x <= 1.1
    if difference.magnitude() * 10u8 <= *one.magnitude() {
        if difference.sign() == Sign::NoSign {
            return 0;
        }
        let (weight, first) = leading_group(&difference, scale);
        return weight * 4 + (first as f64).log10() as i64;
    }
    let exponent = digit_count(value) - scale - 1;
    let (weight, _) = leading_group(value, scale);
    let take = (exponent - weight * 4 + 1) + 4;
    let digits = digit_count(value);
    let magnitude = BigInt::from(value.magnitude().clone());
    let leading = if digits > take {
        magnitude / pow10((digits - take) as u32)
    } else {
        magnitude * pow10((take - digits) as u32)
    };
    let leading = i64::try_from(leading).unwrap_or(1) as f64;
    let ln = leading.ln() + ((weight * 4 - 4) as f64) * std::f64::consts::LN_10;
    ln.abs().log10() as i64
}

fn logarithm_argument(value: &Numeric) -> Result<()> {
    let what = match value.signum() {
        _ if value.is_nan() => return Ok(()),
        0 => "cannot take logarithm of zero",
        -1 => "cannot take logarithm of a negative number",
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::InvalidArgumentForLogarithm, what))
}

fn power_error(message: &str) -> Error {
    Error::new(SqlState::InvalidArgumentForPowerFunction, message)
}

/// The square root; 2201F if it is negative.
pub fn sqrt(number: &Numeric) -> Result<Numeric> {
    if number.signum() < 0 {
        return Err(power_error("cannot take square root of a negative number"));
    }
    let Some((value, scale)) = number.to_big() else { return Ok(number.clone()) };
    let (weight, _) = leading_group(&value, scale);
    let result_scale = (SIG_DIGITS_MIN - (weight * 2 + 1)).max(scale).clamp(0, DISPLAY_SCALE_MAX);
    let digits = result_scale + 1;
    let shift = 2 * digits - scale;
    let scaled =
        if shift >= 0 { value * pow10(shift as u32) } else { value / pow10((-shift) as u32) };
    Numeric::from_big(rescale(&scaled.sqrt(), digits, result_scale), result_scale)
}

/// The natural logarithm; 2201E unless it is positive.
pub fn ln(number: &Numeric) -> Result<Numeric> {
    logarithm_argument(number)?;
    let Some((value, scale)) = number.to_big() else { return Ok(number.clone()) };
    let result_scale =
        (SIG_DIGITS_MIN - estimate_ln_weight(&value, scale)).max(scale).clamp(0, DISPLAY_SCALE_MAX);
    let fixed = Fixed::new(result_scale + GUARD);
    let ln = fixed.ln(&value, scale);
    Numeric::from_big(rescale(&ln, fixed.digits, result_scale), result_scale)
}

/// The logarithm to base 10; 2201E unless it is positive.
pub fn log10(number: &Numeric) -> Result<Numeric> {
    log(number, &Numeric::from_i64(10))
}

/// The logarithm to a base; 2201E unless both are positive, 22012 for base 1.
pub fn log(number: &Numeric, base: &Numeric) -> Result<Numeric> {
    if number.is_nan() || base.is_nan() {
        return Ok(Numeric::NaN);
    }
    logarithm_argument(base)?;
    logarithm_argument(number)?;
    let (Some((value, scale)), Some((base_value, base_scale))) = (number.to_big(), base.to_big())
    else {
        return Ok(match (number.is_finite(), base.is_finite()) {
            (false, false) => Numeric::NaN,
            (true, _) => Numeric::ZERO,
            (false, _) => Numeric::Infinity,
        });
    };
    let base_weight = estimate_ln_weight(&base_value, base_scale);
    let weight = estimate_ln_weight(&value, scale) - base_weight;
    let result_scale =
        (SIG_DIGITS_MIN - weight).max(scale).max(base_scale).clamp(0, DISPLAY_SCALE_MAX);
    let fixed = Fixed::new(result_scale + base_weight.abs() + weight.abs() + GUARD);
    let divisor = fixed.ln(&base_value, base_scale);
    if divisor.sign() == Sign::NoSign {
        return Err(division_by_zero());
    }
    let quotient = fixed.div(&fixed.ln(&value, scale), &divisor);
    Numeric::from_big(rescale(&quotient, fixed.digits, result_scale), result_scale)
}

/// `e^number`; 22003 if it is too large.
pub fn exp(number: &Numeric) -> Result<Numeric> {
    match number {
        Numeric::NegInfinity => return Ok(Numeric::ZERO),
        Numeric::NaN | Numeric::Infinity => return Ok(number.clone()),
        _ => {}
    }
    let Some((value, scale)) = number.to_big() else { return Ok(number.clone()) };
    let argument = number.to_f64();
    if argument >= 6000.0 {
        return Err(overflow());
    }
    let approximate = argument * std::f64::consts::LOG10_E;
    let weight = approximate.clamp(-2000.0, 2000.0) as i64;
    let result_scale = (SIG_DIGITS_MIN - weight).max(scale).clamp(0, DISPLAY_SCALE_MAX);
    exp_at(&value, scale, approximate, result_scale)
}

/// `number ^ exponent`; 2201F where it is undefined, 22003 if it is too large.
pub fn pow(number: &Numeric, exponent: &Numeric) -> Result<Numeric> {
    if let Some(special) = special_power(number, exponent)? {
        return Ok(special);
    }
    let (Some((base, base_scale)), Some((power, power_scale))) =
        (number.to_big(), exponent.to_big())
    else {
        return Ok(Numeric::NaN);
    };
    let integral = rounding::min_scale(exponent) == Some(0);
    if base.sign() == Sign::NoSign && power.sign() == Sign::Minus {
        return Err(power_error("zero raised to a negative power is undefined"));
    }
    if base.sign() == Sign::Minus && !integral {
        return Err(power_error(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    if integral
        && let Some(power) = exponent.to_i64()
        && let Ok(power) = i32::try_from(power)
    {
        return power_integer(&base, base_scale, power);
    }
    if base.sign() == Sign::NoSign {
        return Ok(Numeric::from_parts(0, SIG_DIGITS_MIN as u16));
    }
    let negative = base.sign() == Sign::Minus && rescale(&power, power_scale, 0).bit(0);
    let base = BigInt::from(base.magnitude().clone());
    let weight = estimate_ln_weight(&base, base_scale);
    // About 8 digits, rounded as PostgreSQL rounds them: the result's scale hangs on it.
    let rough_scale = (8 - weight).clamp(0, DISPLAY_SCALE_MAX);
    let rough = Fixed::new(rough_scale + GUARD);
    let ln = rescale(&rough.ln(&base, base_scale), rough.digits, rough_scale) * &power;
    let ln = rescale(&ln, rough_scale + power_scale, rough_scale);
    let estimate = Numeric::from_big(ln, rough_scale)
        .map_or(f64::MAX * f64::from(exponent.signum()), |value| value.to_f64());
    if estimate.abs() > 6020.0 {
        return if estimate > 0.0 {
            Err(overflow())
        } else {
            Ok(Numeric::from_parts(0, DISPLAY_SCALE_MAX as u16))
        };
    }
    let decimal = estimate * std::f64::consts::LOG10_E;
    let result_scale = (SIG_DIGITS_MIN - decimal as i64)
        .max(base_scale)
        .max(power_scale)
        .clamp(0, DISPLAY_SCALE_MAX);
    let digits = result_scale + decimal.abs() as i64 + digit_count(&power) + GUARD;
    let fixed = Fixed::new(digits);
    let ln = fixed.ln(&base, base_scale) * power;
    let result = exp_at(&ln, digits + power_scale, decimal, result_scale)?;
    Ok(if negative { result.neg() } else { result })
}

/// Powers with NaN or an infinity, as POSIX `pow` has them.
fn special_power(number: &Numeric, exponent: &Numeric) -> Result<Option<Numeric>> {
    if number.is_finite() && exponent.is_finite() {
        return Ok(None);
    }
    let one = Numeric::ONE;
    if number.is_nan() {
        let is_zero = exponent.is_zero();
        return Ok(Some(if is_zero { one } else { Numeric::NaN }));
    }
    if exponent.is_nan() {
        return Ok(Some(if *number == one { one } else { Numeric::NaN }));
    }
    if exponent.is_zero() || *number == one {
        return Ok(Some(one));
    }
    if number.is_zero() && exponent.signum() < 0 {
        return Err(power_error("zero raised to a negative power is undefined"));
    }
    if !exponent.is_finite() {
        let magnitude = number.abs();
        return Ok(Some(if magnitude == one {
            one
        } else if (magnitude > one) == (exponent.signum() > 0) {
            Numeric::Infinity
        } else {
            Numeric::ZERO
        }));
    }
    if number.signum() > 0 {
        let grows = exponent.signum() > 0;
        return Ok(Some(if grows { Numeric::Infinity } else { Numeric::ZERO }));
    }
    if rounding::min_scale(exponent) != Some(0) {
        return Err(power_error(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    if exponent.signum() < 0 {
        return Ok(Some(Numeric::ZERO));
    }
    let odd = exponent.rem(&Numeric::from_i64(2))?.signum() != 0;
    Ok(Some(if odd { Numeric::NegInfinity } else { Numeric::Infinity }))
}

/// `e^(value / 10^scale)` at a scale; `decimal` is its estimated weight.
fn exp_at(value: &BigInt, scale: i64, decimal: f64, result_scale: i64) -> Result<Numeric> {
    if decimal > DIGITS_MAX as f64 {
        return Err(overflow());
    }
    if decimal < -(result_scale as f64) - 2.0 {
        return Numeric::from_big(BigInt::from(0), result_scale);
    }
    let fixed = Fixed::new(result_scale + decimal.max(0.0) as i64 + GUARD);
    let x = rescale(value, scale, fixed.digits);
    let (mantissa, power) = fixed.exp(&x);
    Numeric::from_big(rescale(&mantissa, fixed.digits - power, result_scale), result_scale)
}

/// Integer powers: exact while short, else with enough leading digits.
fn power_integer(base: &BigInt, base_scale: i64, power: i32) -> Result<Numeric> {
    let result_scale = SIG_DIGITS_MIN.max(base_scale).min(DISPLAY_SCALE_MAX);
    let at_scale = |value: BigInt, scale: i64| {
        Numeric::from_big(rescale(&value, scale, result_scale), result_scale)
    };
    if power == 0 {
        return at_scale(BigInt::from(1), 0);
    }
    if base.sign() == Sign::NoSign {
        return at_scale(BigInt::from(0), 0);
    }
    let digits = digit_count(base);
    let magnitude = Numeric::from_big(BigInt::from(base.magnitude().clone()), base_scale)?;
    let log = approximate_log10(&magnitude);
    let weight = f64::from(power) * log;
    if weight > (DIGITS_MAX + 4) as f64 {
        return Err(overflow());
    }
    if weight + 1.0 < -(result_scale as f64) {
        return at_scale(BigInt::from(0), 0);
    }
    let steps = power.unsigned_abs();
    if digits.saturating_mul(i64::from(steps)) < 10_000 {
        let exact = base.pow(steps);
        let scale = base_scale * i64::from(steps);
        if power > 0 {
            return at_scale(exact, scale);
        }
        let quotient = quotient_at(&BigInt::from(1), 0, &exact, scale, result_scale);
        return Numeric::from_big(quotient, result_scale);
    }
    let keep = 1 + result_scale + weight.abs() as i64 + GUARD + 16;
    let (mantissa, scale) = power_truncated(base, base_scale, steps, keep)?;
    if power > 0 {
        return at_scale(mantissa, scale);
    }
    let quotient = quotient_at(&BigInt::from(1), 0, &mantissa, scale, result_scale);
    Numeric::from_big(quotient, result_scale)
}

/// Square and multiply, keeping the leading `keep` digits.
fn power_truncated(base: &BigInt, scale: i64, mut steps: u32, keep: i64) -> Result<(BigInt, i64)> {
    let shorten = |value: BigInt, scale: i64| {
        let extra = digit_count(&value) - keep;
        if extra > 0 { (value / pow10(extra as u32), scale - extra) } else { (value, scale) }
    };
    let mut result = (BigInt::from(1), 0);
    let mut square = shorten(base.clone(), scale);
    loop {
        // Each step multiplies and divides numbers of up to DIGITS_MAX digits.
        work::check()?;
        if steps & 1 == 1 {
            result = shorten(result.0 * &square.0, result.1 + square.1);
        }
        steps >>= 1;
        if steps == 0 {
            return Ok(result);
        }
        square = shorten(&square.0 * &square.0, square.1 * 2);
    }
}

fn approximate_log10(value: &Numeric) -> f64 {
    let Some((value, scale)) = value.to_big() else { return 0.0 };
    let digits = digit_count(&value);
    let leading = if digits > 17 { value / pow10((digits - 17) as u32) } else { value };
    let dropped = (digits - 17).max(0);
    let leading = i64::try_from(leading).unwrap_or(1) as f64;
    leading.log10() + (dropped - scale) as f64
}
