//! Arithmetic and bits of `int2`, `int4` and `int8`.
//!
//! The result is checked against the range of the result's type, which is the wider of the two
//! arguments' types; all of it happens in 64 bits.

use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::Call;
use crate::registry::call::out_of_range;
use crate::registry::tables::Registry;

/// 22012.
pub(crate) fn division_by_zero() -> Error {
    Error::new(SqlState::DivisionByZero, "division by zero")
}

/// The integer as a value of that type; 22003 if it does not fit.
pub(crate) fn fit(ty: &SqlType, value: Option<i64>) -> Result<Datum> {
    let fits = match (ty, value) {
        (_, None) => None,
        (SqlType::Int2, Some(value)) => i16::try_from(value).ok().map(i64::from),
        (SqlType::Int4, Some(value)) => i32::try_from(value).ok().map(i64::from),
        (_, value) => value,
    };
    fits.map(Datum::Int).ok_or_else(|| out_of_range(ty.plain_name()))
}

fn binary(call: &Call<'_>, op: fn(i64, i64) -> Option<i64>) -> Result<Datum> {
    fit(call.returns, op(call.int(0)?, call.int(1)?))
}

fn unary(call: &Call<'_>, op: fn(i64) -> Option<i64>) -> Result<Datum> {
    fit(call.returns, op(call.int(0)?))
}

fn divide(call: &Call<'_>) -> Result<Datum> {
    let (left, right) = (call.int(0)?, call.int(1)?);
    if right == 0 {
        return Err(division_by_zero());
    }
    fit(call.returns, left.checked_div(right))
}

fn modulo(call: &Call<'_>) -> Result<Datum> {
    let (left, right) = (call.int(0)?, call.int(1)?);
    if right == 0 {
        return Err(division_by_zero());
    }
    Ok(Datum::Int(left.checked_rem(right).unwrap_or(0)))
}

fn bits(ty: &SqlType) -> u32 {
    match ty {
        SqlType::Int2 => 16,
        SqlType::Int4 => 32,
        _ => 64,
    }
}

/// Keeps the low bits that the type has, as C does when it narrows.
fn wrap(ty: &SqlType, value: i64) -> Datum {
    Datum::Int(match ty {
        SqlType::Int2 => i64::from(value as i16),
        SqlType::Int4 => i64::from(value as i32),
        _ => value,
    })
}

fn shift_left(call: &Call<'_>) -> Result<Datum> {
    // `int2` is shifted as an `int4`, like C.
    let width = bits(call.returns).max(32);
    let by = (call.int(1)? as u32) & (width - 1);
    Ok(wrap(call.returns, call.int(0)?.wrapping_shl(by)))
}

fn shift_right(call: &Call<'_>) -> Result<Datum> {
    let width = bits(call.returns).max(32);
    let by = (call.int(1)? as u32) & (width - 1);
    Ok(wrap(call.returns, call.int(0)?.wrapping_shr(by)))
}

pub(crate) fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn gcd(call: &Call<'_>) -> Result<Datum> {
    let (a, b) = (call.int(0)?.unsigned_abs(), call.int(1)?.unsigned_abs());
    fit(call.returns, i64::try_from(greatest_common_divisor(a, b)).ok())
}

fn lcm(call: &Call<'_>) -> Result<Datum> {
    let (a, b) = (call.int(0)?.unsigned_abs(), call.int(1)?.unsigned_abs());
    if a == 0 || b == 0 {
        return Ok(Datum::Int(0));
    }
    let product = (a / greatest_common_divisor(a, b)).checked_mul(b);
    fit(call.returns, product.and_then(|value| i64::try_from(value).ok()))
}

fn to_hex(call: &Call<'_>) -> Result<Datum> {
    let value = call.int(0)?;
    crate::registry::call::text(match call.ty(0) {
        SqlType::Int8 => format!("{value:x}"),
        _ => format!("{:x}", value as i32),
    })
}

pub(crate) fn register(registry: &mut Registry) {
    use SqlType::{Int2, Int4, Int8};
    let widths = [Int2, Int4, Int8];
    for (i, left) in widths.iter().enumerate() {
        for (j, right) in widths.iter().enumerate() {
            let args = [left.clone(), right.clone()];
            let wider = widths[i.max(j)].clone();
            registry.add_typed("+", &args, wider.clone(), |c| binary(c, i64::checked_add));
            registry.add_typed("-", &args, wider.clone(), |c| binary(c, i64::checked_sub));
            registry.add_typed("*", &args, wider.clone(), |c| binary(c, i64::checked_mul));
            registry.add_typed("/", &args, wider, divide);
        }
    }
    for ty in &widths {
        let (one, two) = ([ty.clone()], [ty.clone(), ty.clone()]);
        let shift = [ty.clone(), Int4];
        registry.add_typed("%", &two, ty.clone(), modulo);
        registry.add_typed("mod", &two, ty.clone(), modulo);
        registry.add_typed("&", &two, ty.clone(), |c| binary(c, |a, b| Some(a & b)));
        registry.add_typed("|", &two, ty.clone(), |c| binary(c, |a, b| Some(a | b)));
        registry.add_typed("#", &two, ty.clone(), |c| binary(c, |a, b| Some(a ^ b)));
        registry.add_typed("<<", &shift, ty.clone(), shift_left);
        registry.add_typed(">>", &shift, ty.clone(), shift_right);
        registry.add_typed("~", &one, ty.clone(), |c| unary(c, |a| Some(!a)));
        registry.add_typed("+", &one, ty.clone(), |c| unary(c, Some));
        registry.add_typed("-", &one, ty.clone(), |c| unary(c, i64::checked_neg));
        registry.add_typed("@", &one, ty.clone(), |c| unary(c, i64::checked_abs));
        registry.add_typed("abs", &one, ty.clone(), |c| unary(c, i64::checked_abs));
    }
    for ty in [Int4, Int8] {
        let two = [ty.clone(), ty.clone()];
        registry.add_typed("gcd", &two, ty.clone(), gcd);
        registry.add_typed("lcm", &two, ty, lcm);
    }
    registry.add("to_hex(int4) -> text", to_hex);
    registry.add("to_hex(int8) -> text", to_hex);
}
