//! Arithmetic and mathematics of `numeric`; the numbers themselves compute in `braid_types`.

use braid_types::numeric::{self, integers, math, rounding};
use braid_types::{Datum, Error, Numeric, Result, SqlState, SqlType};

use super::floats::bucket;
use crate::Call;
use crate::registry::call::out_of_range;
use crate::registry::tables::Registry;

fn binary(call: &Call<'_>, op: fn(&Numeric, &Numeric) -> Result<Numeric>) -> Result<Datum> {
    Ok(Datum::Numeric(op(call.numeric(0)?, call.numeric(1)?)?))
}

fn unary(call: &Call<'_>, op: fn(&Numeric) -> Result<Numeric>) -> Result<Datum> {
    Ok(Datum::Numeric(op(call.numeric(0)?)?))
}

/// The least common multiple, with the larger scale of the two.
fn least_common_multiple(a: &Numeric, b: &Numeric) -> Result<Numeric> {
    let scale = a.scale().max(b.scale()).unwrap_or(0);
    rounding::round(&integers::lcm(a, b)?, scale)
}

fn scales(call: &Call<'_>, of: fn(&Numeric) -> Option<i32>) -> Result<Datum> {
    Ok(of(call.numeric(0)?).map_or(Datum::Null, |scale| Datum::Int(scale.into())))
}

fn round(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Numeric(rounding::round(call.numeric(0)?, call.int4(1)?)?))
}

fn trunc(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Numeric(rounding::trunc(call.numeric(0)?, call.int4(1)?)?))
}

fn width_bucket(call: &Call<'_>) -> Result<Datum> {
    let (value, low, high) = (call.numeric(0)?, call.numeric(1)?, call.numeric(2)?);
    let buckets = call.int(3)?;
    let fail = |message| Err(Error::new(SqlState::InvalidArgumentForWidthBucket, message));
    if buckets <= 0 {
        return fail("count must be greater than zero");
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return fail("operand, lower bound, and upper bound cannot be NaN");
    }
    if !low.is_finite() || !high.is_finite() {
        return fail("lower and upper bounds must be finite");
    }
    let order = low.cmp(high);
    if order.is_eq() {
        return fail("lower bound cannot equal upper bound");
    }
    let (below, above) = if order.is_lt() {
        (value.cmp(low).is_lt(), value.cmp(high).is_ge())
    } else {
        (value.cmp(low).is_gt(), value.cmp(high).is_le())
    };
    let found = if below {
        0
    } else if above {
        buckets + 1
    } else {
        let parts = value.sub(low)?.mul(&Numeric::from_i64(buckets))?;
        let inside = integers::div_trunc(&parts, &high.sub(low)?)?;
        inside.to_i64().unwrap_or(0) + 1
    };
    i32::try_from(found).map(|n| Datum::Int(n.into())).map_err(|_| out_of_range("integer"))
}

fn width_bucket_array(call: &Call<'_>) -> Result<Datum> {
    let array = call.array(1)?;
    if !array.inner.is_empty() {
        let message = "thresholds must be one-dimensional array";
        return Err(Error::new(SqlState::ArraySubscriptError, message));
    }
    let thresholds = &array.items;
    if thresholds.iter().any(Datum::is_null) {
        let message = "thresholds array must not contain NULLs";
        return Err(Error::new(SqlState::NullValueNotAllowed, message));
    }
    crate::registry::call::count(bucket(call.datum(0), thresholds))
}

/// `to_char` of a number of any type.
fn to_char(call: &Call<'_>) -> Result<Datum> {
    let template = call.text(1)?;
    if template.is_empty() {
        return crate::registry::call::text("");
    }
    let value = match call.datum(0) {
        Datum::Int(value) => Numeric::from_i64(*value),
        Datum::Float(value) if *call.ty(0) == SqlType::Float4 => Numeric::from_f32(*value as f32),
        Datum::Float(value) => Numeric::from_f64(*value),
        _ => call.numeric(0)?.clone(),
    };
    crate::registry::call::text(numeric::to_char(&value, template)?)
}

fn to_number(call: &Call<'_>) -> Result<Datum> {
    let template = call.text(1)?;
    if template.is_empty() {
        return Ok(Datum::Null);
    }
    Ok(Datum::Numeric(numeric::to_number(call.text(0)?, template)?))
}

pub(crate) fn register(registry: &mut Registry) {
    let ty = SqlType::Numeric(None);
    let (one, two) = ([ty.clone()], [ty.clone(), ty.clone()]);
    registry.add_typed("+", &two, ty.clone(), |c| binary(c, Numeric::add));
    registry.add_typed("-", &two, ty.clone(), |c| binary(c, Numeric::sub));
    registry.add_typed("*", &two, ty.clone(), |c| binary(c, Numeric::mul));
    registry.add_typed("/", &two, ty.clone(), |c| binary(c, Numeric::div));
    registry.add_typed("%", &two, ty.clone(), |c| binary(c, Numeric::rem));
    registry.add_typed("^", &two, ty.clone(), |c| binary(c, math::pow));
    registry.add_typed("+", &one, ty.clone(), |c| unary(c, |x| Ok(x.clone())));
    registry.add_typed("-", &one, ty.clone(), |c| unary(c, |x| Ok(x.neg())));
    registry.add_typed("@", &one, ty, |c| unary(c, |x| Ok(x.abs())));
    registry.add("abs(numeric) -> numeric", |c| unary(c, |x| Ok(x.abs())));
    registry.add("mod(numeric, numeric) -> numeric", |c| binary(c, Numeric::rem));
    registry.add("div(numeric, numeric) -> numeric", |c| binary(c, integers::div_trunc));
    registry.add("power|pow(numeric, numeric) -> numeric", |c| binary(c, math::pow));
    registry.add("gcd(numeric, numeric) -> numeric", |c| binary(c, integers::gcd));
    registry.add("lcm(numeric, numeric) -> numeric", |c| binary(c, least_common_multiple));
    registry.add("log(numeric, numeric) -> numeric", |c| binary(c, |base, x| math::log(x, base)));
    registry.add("ceil|ceiling(numeric) -> numeric", |c| unary(c, rounding::ceil));
    registry.add("floor(numeric) -> numeric", |c| unary(c, rounding::floor));
    registry.add("round(numeric) -> numeric", |c| unary(c, |x| rounding::round(x, 0)));
    registry.add("round(numeric, int4) -> numeric", round);
    registry.add("trunc(numeric) -> numeric", |c| unary(c, |x| rounding::trunc(x, 0)));
    registry.add("trunc(numeric, int4) -> numeric", trunc);
    registry.add("sign(numeric) -> numeric", |c| unary(c, |x| Ok(rounding::sign(x))));
    registry.add("sqrt(numeric) -> numeric", |c| unary(c, math::sqrt));
    registry.add("exp(numeric) -> numeric", |c| unary(c, math::exp));
    registry.add("ln(numeric) -> numeric", |c| unary(c, math::ln));
    registry.add("log|log10(numeric) -> numeric", |c| unary(c, math::log10));
    registry.add("trim_scale(numeric) -> numeric", |c| unary(c, rounding::trim_scale));
    registry.add("scale(numeric) -> int4", |c| scales(c, Numeric::scale));
    registry.add("min_scale(numeric) -> int4", |c| scales(c, rounding::min_scale));
    registry.add("width_bucket(numeric, numeric, numeric, int4) -> int4", width_bucket);
    registry.add("to_char(int4, text) -> text stable", to_char);
    registry.add("to_char(int8, text) -> text stable", to_char);
    registry.add("to_char(float4, text) -> text stable", to_char);
    registry.add("to_char(float8, text) -> text stable", to_char);
    registry.add("to_char(numeric, text) -> text stable", to_char);
    registry.add("to_number(text, text) -> numeric stable", to_number);
    registry.add("width_bucket(anycompatible, anycompatiblearray) -> int4", width_bucket_array);
    registry
        .add("factorial(int8) -> numeric", |c| Ok(Datum::Numeric(integers::factorial(c.int(0)?)?)));
}
