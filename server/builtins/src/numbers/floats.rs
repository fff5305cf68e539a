//! Arithmetic and mathematics of `float4` and `float8`.
//!
//! Rules: an infinite result from finite arguments is an overflow, a zero result from arguments
//! that are not zero an underflow (22003), as PostgreSQL reports them.

use std::cell::Cell;

use braid_types::{Datum, Error, Result, SqlState, SqlType, compare_floats};

use super::integers::division_by_zero;
use crate::Call;
use crate::registry::call::out_of_range;
use crate::registry::tables::Registry;

fn overflow() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "value out of range: overflow")
}

fn underflow() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "value out of range: underflow")
}

fn input_out_of_range() -> Error {
    Error::new(SqlState::NumericValueOutOfRange, "input is out of range")
}

/// The result in its type; `may_be_zero` unless a zero means underflow.
fn checked(call: &Call<'_>, value: f64, may_be_infinite: bool, may_be_zero: bool) -> Result<Datum> {
    let value = match call.returns {
        SqlType::Float4 => f64::from(value as f32),
        _ => value,
    };
    if value.is_infinite() && !may_be_infinite {
        return Err(overflow());
    }
    if value == 0.0 && !may_be_zero {
        return Err(underflow());
    }
    Ok(Datum::Float(value))
}

fn add(call: &Call<'_>) -> Result<Datum> {
    let (a, b) = (call.float(0)?, call.float(1)?);
    checked(call, a + b, a.is_infinite() || b.is_infinite(), true)
}

fn subtract(call: &Call<'_>) -> Result<Datum> {
    let (a, b) = (call.float(0)?, call.float(1)?);
    checked(call, a - b, a.is_infinite() || b.is_infinite(), true)
}

fn multiply(call: &Call<'_>) -> Result<Datum> {
    let (a, b) = (call.float(0)?, call.float(1)?);
    checked(call, a * b, a.is_infinite() || b.is_infinite(), a == 0.0 || b == 0.0)
}

fn divide(call: &Call<'_>) -> Result<Datum> {
    let (a, b) = (call.float(0)?, call.float(1)?);
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    checked(call, a / b, a.is_infinite(), a == 0.0 || b.is_infinite())
}

fn power(call: &Call<'_>) -> Result<Datum> {
    let (a, b) = (call.float(0)?, call.float(1)?);
    let state = SqlState::InvalidArgumentForPowerFunction;
    if a == 0.0 && b < 0.0 {
        return Err(Error::new(state, "zero raised to a negative power is undefined"));
    }
    if a < 0.0 && b.is_finite() && b.floor() != b {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(Error::new(state, message));
    }
    if a.is_nan() || b.is_nan() {
        let one = (a == 1.0) || (b == 0.0);
        return Ok(Datum::Float(if one { 1.0 } else { f64::NAN }));
    }
    let exact = a.is_infinite() || b.is_infinite();
    checked(call, a.powf(b), exact, exact || a == 0.0)
}

/// A function of one float that is defined everywhere.
fn map(call: &Call<'_>, f: fn(f64) -> f64) -> Result<Datum> {
    Ok(Datum::Float(f(call.float(0)?)))
}

/// A function of one float that must be finite.
fn map_finite(call: &Call<'_>, f: fn(f64) -> f64) -> Result<Datum> {
    let value = call.float(0)?;
    if value.is_infinite() {
        return Err(input_out_of_range());
    }
    checked(call, f(value), false, true)
}

/// A function of one float between -1 and 1.
fn map_unit(call: &Call<'_>, f: fn(f64) -> f64) -> Result<Datum> {
    let value = call.float(0)?;
    if !value.is_nan() && !(-1.0..=1.0).contains(&value) {
        return Err(input_out_of_range());
    }
    Ok(Datum::Float(f(value)))
}

fn square_root(call: &Call<'_>) -> Result<Datum> {
    let value = call.float(0)?;
    if value < 0.0 {
        let message = "cannot take square root of a negative number";
        return Err(Error::new(SqlState::InvalidArgumentForPowerFunction, message));
    }
    Ok(Datum::Float(value.sqrt()))
}

fn logarithm(call: &Call<'_>, f: fn(f64) -> f64) -> Result<Datum> {
    let value = call.float(0)?;
    let state = SqlState::InvalidArgumentForLogarithm;
    if value == 0.0 {
        return Err(Error::new(state, "cannot take logarithm of zero"));
    }
    if value < 0.0 {
        return Err(Error::new(state, "cannot take logarithm of a negative number"));
    }
    checked(call, f(value), value.is_infinite(), value == 1.0)
}

fn exponential(call: &Call<'_>) -> Result<Datum> {
    let value = call.float(0)?;
    checked(call, value.exp(), value.is_infinite(), value.is_infinite())
}

fn cotangent(call: &Call<'_>) -> Result<Datum> {
    let value = call.float(0)?;
    if value.is_infinite() {
        return Err(input_out_of_range());
    }
    Ok(Datum::Float(1.0 / value.tan()))
}

/// Exact at multiples of 30 and 45 degrees, as PostgreSQL's degree functions are.
fn sine_degrees(degrees: f64) -> f64 {
    let mut rest = degrees % 360.0;
    let mut sign = 1.0;
    if rest < 0.0 {
        rest = -rest;
        sign = -sign;
    }
    if rest > 180.0 {
        rest = 360.0 - rest;
        sign = -sign;
    }
    if rest > 90.0 {
        rest = 180.0 - rest;
    }
    sign * sine_quadrant(rest)
}

fn cosine_degrees(degrees: f64) -> f64 {
    let mut rest = (degrees % 360.0).abs();
    let mut sign = 1.0;
    if rest > 180.0 {
        rest = 360.0 - rest;
    }
    if rest > 90.0 {
        rest = 180.0 - rest;
        sign = -1.0;
    }
    sign * cosine_quadrant(rest)
}

fn sine_30(degrees: f64) -> f64 {
    degrees.to_radians().sin() / 30f64.to_radians().sin() / 2.0
}

fn cosine_60(degrees: f64) -> f64 {
    let one_minus = |d: f64| 1.0 - d.to_radians().cos();
    1.0 - one_minus(degrees) / one_minus(60.0) / 2.0
}

fn sine_quadrant(degrees: f64) -> f64 {
    if degrees <= 30.0 { sine_30(degrees) } else { cosine_60(90.0 - degrees) }
}

fn cosine_quadrant(degrees: f64) -> f64 {
    if degrees <= 60.0 { cosine_60(degrees) } else { sine_30(90.0 - degrees) }
}

fn tangent_degrees(degrees: f64) -> f64 {
    // Written so that 45 degrees give exactly 1.
    let scale = sine_degrees(45.0) / cosine_degrees(45.0);
    sine_degrees(degrees) / cosine_degrees(degrees) / scale
}

fn arc_sine_degrees(value: f64) -> f64 {
    let quadrant = |x: f64| {
        if x <= 0.5 {
            x.asin() / 0.5f64.asin() * 30.0
        } else {
            90.0 - x.acos() / 0.5f64.acos() * 60.0
        }
    };
    if value >= 0.0 { quadrant(value) } else { -quadrant(-value) }
}

fn arc_cosine_degrees(value: f64) -> f64 {
    90.0 - arc_sine_degrees(value)
}

fn arc_tangent_degrees(value: f64) -> f64 {
    value.atan() / 1f64.atan() * 45.0
}

fn hyperbolic_arc_tangent(call: &Call<'_>) -> Result<Datum> {
    map_unit(call, |value| {
        if value == 1.0 {
            f64::INFINITY
        } else if value == -1.0 {
            f64::NEG_INFINITY
        } else {
            value.atanh()
        }
    })
}

fn hyperbolic_arc_cosine(call: &Call<'_>) -> Result<Datum> {
    let value = call.float(0)?;
    if value < 1.0 {
        return Err(input_out_of_range());
    }
    // Twice a larger value may be infinite, and the root is the value itself.
    Ok(Datum::Float(match value > LARGE {
        true => value.ln() + std::f64::consts::LN_2,
        false => value.acosh(),
    }))
}

/// Above this number `x * x + 1` is `x * x`.
const LARGE: f64 = 268_435_456.0;

fn hyperbolic_arc_sine(value: f64) -> f64 {
    match value.abs() > LARGE && value.is_finite() {
        true => (value.abs().ln() + std::f64::consts::LN_2).copysign(value),
        false => value.asinh(),
    }
}

thread_local! {
    static RANDOM_STATE: Cell<[u64; 2]> = const { Cell::new([0, 0]) };
}

/// One step of xoroshiro128++.
fn next_random() -> u64 {
    RANDOM_STATE.with(|cell| {
        let [mut a, mut b] = cell.get();
        if a == 0 && b == 0 {
            let seed = crate::scalars::uuids::random_bytes();
            a = u64::from_le_bytes(seed[..8].try_into().unwrap_or_default());
            b = u64::from_le_bytes(seed[8..].try_into().unwrap_or_default()) | 1;
        }
        let result = a.wrapping_add(b).rotate_left(17).wrapping_add(a);
        let mixed = b ^ a;
        cell.set([a.rotate_left(49) ^ mixed ^ (mixed << 21), mixed.rotate_left(28)]);
        result
    })
}

/// A random number from 0 on, below 1.
pub(crate) fn random_fraction() -> f64 {
    (next_random() >> 11) as f64 / (1u64 << 53) as f64
}

fn random(_: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Float(random_fraction()))
}

/// Seeds this thread's generator: later calls of the session repeat only while it stays on it.
pub fn seed_random(seed: f64) {
    let bits = seed.to_bits();
    let spread = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xbf58_476d_1ce4_e5b9;
    RANDOM_STATE.with(|cell| cell.set([bits ^ 0x94d0_49bb_1331_11eb, spread | 1]));
}

fn set_seed(call: &Call<'_>) -> Result<Datum> {
    let seed = call.float(0)?;
    if !(-1.0..=1.0).contains(&seed) {
        let message = format!("setseed parameter {seed} is out of allowed range [-1,1]");
        return Err(crate::registry::call::invalid(message));
    }
    seed_random(seed);
    Ok(Datum::Text("".into()))
}

fn width_bucket(call: &Call<'_>) -> Result<Datum> {
    let (value, low, high) = (call.float(0)?, call.float(1)?, call.float(2)?);
    let buckets = call.int(3)?;
    let fail = |message| Err(Error::new(SqlState::InvalidArgumentForWidthBucket, message));
    if buckets <= 0 {
        return fail("count must be greater than zero");
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return fail("operand, lower bound, and upper bound cannot be NaN");
    }
    if low.is_infinite() || high.is_infinite() {
        return fail("lower and upper bounds must be finite");
    }
    if low == high {
        return fail("lower bound cannot equal upper bound");
    }
    let (from, to) = if low < high { (low, high) } else { (-low, -high) };
    let value = if low < high { value } else { -value };
    let found = if value < from {
        0
    } else if value >= to {
        buckets + 1
    } else {
        // Halved, so that the width of the bounds cannot overflow.
        let share = (value / 2.0 - from / 2.0) / (to / 2.0 - from / 2.0);
        ((share * buckets as f64) as i64).min(buckets - 1) + 1
    };
    i32::try_from(found).map(|n| Datum::Int(n.into())).map_err(|_| out_of_range("integer"))
}

pub(crate) fn register(registry: &mut Registry) {
    use SqlType::{Float4, Float8};
    for (left, right) in [(Float4, Float4), (Float4, Float8), (Float8, Float4), (Float8, Float8)] {
        let both_small = left == Float4 && right == Float4;
        let wider = if both_small { Float4 } else { Float8 };
        let args = [left, right];
        registry.add_typed("+", &args, wider.clone(), add);
        registry.add_typed("-", &args, wider.clone(), subtract);
        registry.add_typed("*", &args, wider.clone(), multiply);
        registry.add_typed("/", &args, wider, divide);
    }
    for ty in [Float4, Float8] {
        let one = [ty.clone()];
        registry.add_typed("+", &one, ty.clone(), |c| map(c, |x| x));
        registry.add_typed("-", &one, ty.clone(), |c| map(c, |x| -x));
        registry.add_typed("@", &one, ty.clone(), |c| map(c, f64::abs));
        registry.add_typed("abs", &one, ty, |c| map(c, f64::abs));
    }
    registry.add_typed("^", &[Float8, Float8], Float8, power);
    registry.add("power|pow|dpow(float8, float8) -> float8", power);
    registry.add_typed("|/", &[Float8], Float8, square_root);
    registry.add("sqrt(float8) -> float8", square_root);
    registry.add_typed("||/", &[Float8], Float8, |c| map(c, f64::cbrt));
    registry.add("cbrt(float8) -> float8", |c| map(c, f64::cbrt));
    registry.add("ceil|ceiling(float8) -> float8", |c| map(c, f64::ceil));
    registry.add("floor(float8) -> float8", |c| map(c, f64::floor));
    registry.add("round(float8) -> float8", |c| map(c, f64::round_ties_even));
    registry.add("trunc(float8) -> float8", |c| map(c, f64::trunc));
    registry.add("sign(float8) -> float8", |c| {
        map(c, |x| {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                x.abs().min(0.0)
            }
        })
    });
    registry.add("exp(float8) -> float8", exponential);
    registry.add("ln(float8) -> float8", |c| logarithm(c, f64::ln));
    registry.add("log|log10(float8) -> float8", |c| logarithm(c, f64::log10));
    registry.add("degrees(float8) -> float8", |c| {
        let value = c.float(0)?;
        checked(c, value.to_degrees(), value.is_infinite(), true)
    });
    registry.add("radians(float8) -> float8", |c| map(c, f64::to_radians));
    registry.add("pi() -> float8", |_| Ok(Datum::Float(std::f64::consts::PI)));
    registry.add("random() -> float8 volatile", random);
    registry.add("setseed(float8) -> void volatile", set_seed);
    registry.add("width_bucket(float8, float8, float8, int4) -> int4", width_bucket);
    register_trigonometry(registry);
}

fn register_trigonometry(registry: &mut Registry) {
    registry.add("sin(float8) -> float8", |c| map_finite(c, f64::sin));
    registry.add("cos(float8) -> float8", |c| map_finite(c, f64::cos));
    registry.add("tan(float8) -> float8", |c| map_finite(c, f64::tan));
    registry.add("cot(float8) -> float8", cotangent);
    registry.add("asin(float8) -> float8", |c| map_unit(c, f64::asin));
    registry.add("acos(float8) -> float8", |c| map_unit(c, f64::acos));
    registry.add("atan(float8) -> float8", |c| map(c, f64::atan));
    registry.add("atan2(float8, float8) -> float8", |c| {
        Ok(Datum::Float(c.float(0)?.atan2(c.float(1)?)))
    });
    registry.add("sind(float8) -> float8", |c| map_finite(c, sine_degrees));
    registry.add("cosd(float8) -> float8", |c| map_finite(c, cosine_degrees));
    registry.add("tand(float8) -> float8", |c| {
        let value = c.float(0)?;
        if value.is_infinite() { Err(input_out_of_range()) } else { map(c, tangent_degrees) }
    });
    registry.add("cotd(float8) -> float8", |c| {
        let value = c.float(0)?;
        if value.is_infinite() {
            return Err(input_out_of_range());
        }
        map(c, |x| 1.0 / tangent_degrees(x))
    });
    registry.add("asind(float8) -> float8", |c| map_unit(c, arc_sine_degrees));
    registry.add("acosd(float8) -> float8", |c| map_unit(c, arc_cosine_degrees));
    registry.add("atand(float8) -> float8", |c| map(c, arc_tangent_degrees));
    registry.add("atan2d(float8, float8) -> float8", |c| {
        Ok(Datum::Float(c.float(0)?.atan2(c.float(1)?) / 1f64.atan() * 45.0))
    });
    registry.add("sinh(float8) -> float8", |c| map(c, f64::sinh));
    registry.add("cosh(float8) -> float8", |c| map(c, f64::cosh));
    registry.add("tanh(float8) -> float8", |c| map(c, f64::tanh));
    registry.add("asinh(float8) -> float8", |c| map(c, hyperbolic_arc_sine));
    registry.add("acosh(float8) -> float8", hyperbolic_arc_cosine);
    registry.add("atanh(float8) -> float8", hyperbolic_arc_tangent);
}

/// Where a value stands among sorted thresholds: how many are at or below it.
pub(crate) fn bucket(value: &Datum, thresholds: &[Datum]) -> usize {
    thresholds.partition_point(|one| match (one, value) {
        (Datum::Float(a), Datum::Float(b)) => compare_floats(*a, *b).is_le(),
        (a, b) => a.compare(b).is_le(),
    })
}
