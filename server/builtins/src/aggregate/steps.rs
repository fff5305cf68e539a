//! Functions of which PostgreSQL's own aggregates consist: users build theirs of them.

use std::cmp::Ordering;

use braid_types::{Datum, Error, Numeric, Result, SqlState, SqlType};

use crate::Call;
use crate::numbers::integers::fit;
use crate::registry::tables::Registry;

/// The greater (or lesser) of two values of one type.
fn extreme(c: &Call<'_>, wanted: Ordering) -> Result<Datum> {
    let [a, b] = c.args else { return Err(Error::internal("two values are to be compared")) };
    let ty = c.types.first().unwrap_or(c.returns);
    Ok(if a.compare_typed(b, ty) == wanted { a.clone() } else { b.clone() })
}

fn larger(c: &Call<'_>) -> Result<Datum> {
    extreme(c, Ordering::Greater)
}

fn smaller(c: &Call<'_>) -> Result<Datum> {
    extreme(c, Ordering::Less)
}

/// The sum so far and a value; NULL before the first one.
fn sum(c: &Call<'_>) -> Result<Datum> {
    match c.args {
        [state, Datum::Null] => Ok(state.clone()),
        [Datum::Null, value] => Ok(value.clone()),
        _ => fit(&SqlType::Int8, c.int(0)?.checked_add(c.int(1)?)),
    }
}

/// The count and the sum of an average under way.
fn count_and_sum(c: &Call<'_>) -> Result<(i64, i64)> {
    match c.args.first().and_then(Datum::as_array).map(|array| array.items.as_slice()) {
        Some([Datum::Int(count), Datum::Int(sum)]) => Ok((*count, *sum)),
        _ => Err(Error::new(SqlState::InvalidParameterValue, "expected 2-element int8 array")),
    }
}

fn average_step(c: &Call<'_>) -> Result<Datum> {
    let (count, sum) = count_and_sum(c)?;
    let sum = fit(&SqlType::Int8, sum.checked_add(c.int(1)?))?;
    Ok(Datum::array(SqlType::Int8, vec![Datum::Int(count.saturating_add(1)), sum]))
}

fn average(c: &Call<'_>) -> Result<Datum> {
    let (count, sum) = count_and_sum(c)?;
    if count == 0 {
        return Ok(Datum::Null);
    }
    Ok(Datum::Numeric(Numeric::from_i64(sum).div(&Numeric::from_i64(count))?))
}

/// Adds them.
pub(crate) fn register(registry: &mut Registry) {
    const LARGER: [&str; 12] = [
        "int2larger(int2, int2) -> int2",
        "int4larger(int4, int4) -> int4",
        "int8larger(int8, int8) -> int8",
        "float4larger(float4, float4) -> float4",
        "float8larger(float8, float8) -> float8",
        "numeric_larger(numeric, numeric) -> numeric",
        "text_larger(text, text) -> text",
        "date_larger(date, date) -> date",
        "time_larger(time, time) -> time",
        "timestamp_larger(timestamp, timestamp) -> timestamp",
        "timestamptz_larger(timestamptz, timestamptz) -> timestamptz",
        "array_larger(anyarray, anyarray) -> anyarray",
    ];
    const SMALLER: [&str; 12] = [
        "int2smaller(int2, int2) -> int2",
        "int4smaller(int4, int4) -> int4",
        "int8smaller(int8, int8) -> int8",
        "float4smaller(float4, float4) -> float4",
        "float8smaller(float8, float8) -> float8",
        "numeric_smaller(numeric, numeric) -> numeric",
        "text_smaller(text, text) -> text",
        "date_smaller(date, date) -> date",
        "time_smaller(time, time) -> time",
        "timestamp_smaller(timestamp, timestamp) -> timestamp",
        "timestamptz_smaller(timestamptz, timestamptz) -> timestamptz",
        "array_smaller(anyarray, anyarray) -> anyarray",
    ];
    LARGER.iter().for_each(|signature| registry.add(signature, larger));
    SMALLER.iter().for_each(|signature| registry.add(signature, smaller));
    registry.add("int8inc(int8) -> int8", |c| fit(&SqlType::Int8, c.int(0)?.checked_add(1)));
    registry.add("int8dec(int8) -> int8", |c| fit(&SqlType::Int8, c.int(0)?.checked_sub(1)));
    registry
        .add("int8inc_any(int8, any) -> int8", |c| fit(&SqlType::Int8, c.int(0)?.checked_add(1)));
    registry.add("int2_sum(int8, int2) -> int8 lax", sum);
    registry.add("int4_sum(int8, int4) -> int8 lax", sum);
    registry.add("int2_avg_accum(int8[], int2) -> int8[]", average_step);
    registry.add("int4_avg_accum(int8[], int4) -> int8[]", average_step);
    registry.add("int8_avg(int8[]) -> numeric", average);
    registry.add("booland_statefunc(bool, bool) -> bool", |c| Ok(Datum::Bool(both(c, true))));
    registry.add("boolor_statefunc(bool, bool) -> bool", |c| Ok(Datum::Bool(both(c, false))));
}

/// AND (true) or OR of two values.
fn both(c: &Call<'_>, and: bool) -> bool {
    let mut values = c.args.iter().map(|value| value.as_bool() == Some(true));
    if and { values.all(|value| value) } else { values.any(|value| value) }
}
