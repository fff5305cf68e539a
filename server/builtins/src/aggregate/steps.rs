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

/// The functions that compare two values of a type, below its b-tree operators.
const COMPARED: [&str; 27] = [
    "bitcmp(bit, bit) -> int4",
    "bpcharcmp(bpchar, bpchar) -> int4",
    "btarraycmp(anyarray, anyarray) -> int4",
    "btboolcmp(bool, bool) -> int4",
    "btfloat4cmp(float4, float4) -> int4",
    "btfloat8cmp(float8, float8) -> int4",
    "btint2cmp(int2, int2) -> int4",
    "btint4cmp(int4, int4) -> int4",
    "btint8cmp(int8, int8) -> int4",
    "btoidcmp(oid, oid) -> int4",
    "bttextcmp(text, text) -> int4",
    "bttidcmp(tid, tid) -> int4",
    "byteacmp(bytea, bytea) -> int4",
    "date_cmp(date, date) -> int4",
    "enum_cmp(anyenum, anyenum) -> int4",
    "interval_cmp(interval, interval) -> int4",
    "jsonb_cmp(jsonb, jsonb) -> int4",
    "macaddr_cmp(macaddr, macaddr) -> int4",
    "network_cmp(inet, inet) -> int4",
    "numeric_cmp(numeric, numeric) -> int4",
    "pg_lsn_cmp(pg_lsn, pg_lsn) -> int4",
    "time_cmp(time, time) -> int4",
    "timestamp_cmp(timestamp, timestamp) -> int4",
    "timestamptz_cmp(timestamptz, timestamptz) -> int4",
    "timetz_cmp(timetz, timetz) -> int4",
    "uuid_cmp(uuid, uuid) -> int4",
    "varbitcmp(varbit, varbit) -> int4",
];

/// -1, 0 or 1: whether the first value is the lesser one.
fn compared(c: &Call<'_>) -> Result<Datum> {
    let [a, b] = c.args else { return Err(Error::internal("two values are to be compared")) };
    let ty = c.types.first().unwrap_or(c.returns);
    Ok(Datum::Int(a.compare_typed(b, ty) as i64))
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
    const LARGER: [&str; 21] = [
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
        "bpchar_larger(bpchar, bpchar) -> bpchar",
        "enum_larger(anyenum, anyenum) -> anyenum",
        "interval_larger(interval, interval) -> interval",
        "network_larger(inet, inet) -> inet",
        "oidlarger(oid, oid) -> oid",
        "pg_lsn_larger(pg_lsn, pg_lsn) -> pg_lsn",
        "tidlarger(tid, tid) -> tid",
        "timetz_larger(timetz, timetz) -> timetz",
        "xid8_larger(xid8, xid8) -> xid8",
    ];
    const SMALLER: [&str; 21] = [
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
        "bpchar_smaller(bpchar, bpchar) -> bpchar",
        "enum_smaller(anyenum, anyenum) -> anyenum",
        "interval_smaller(interval, interval) -> interval",
        "network_smaller(inet, inet) -> inet",
        "oidsmaller(oid, oid) -> oid",
        "pg_lsn_smaller(pg_lsn, pg_lsn) -> pg_lsn",
        "tidsmaller(tid, tid) -> tid",
        "timetz_smaller(timetz, timetz) -> timetz",
        "xid8_smaller(xid8, xid8) -> xid8",
    ];
    LARGER.iter().for_each(|signature| registry.add(signature, larger));
    SMALLER.iter().for_each(|signature| registry.add(signature, smaller));
    COMPARED.iter().for_each(|signature| registry.add(signature, compared));
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
