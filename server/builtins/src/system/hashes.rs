//! PostgreSQL's hash functions: `hashint4`, `hashint4extended` and their relatives.
//!
//! The answers are those of PostgreSQL. `hashtext` is among the functions of strings: it has values
//! of its own, which indexes may have stored.

use braid_types::hashing::seeded_hash;
use braid_types::net::Inet;
use braid_types::timetz::TimeTz;
use braid_types::{Datum, Error, Result, SqlType, unsigned};

use crate::Call;
use crate::registry::tables::Registry;

/// Microseconds of a day.
const DAY_MICROS: i128 = 86_400_000_000;
/// The days that a month counts as in comparisons.
const MONTH_DAYS: i128 = 30;

/// The functions without a seed.
const PLAIN: &[&str] = &[
    "hashint2(int2) -> int4",
    "hashint4(int4) -> int4",
    "hashint8(int8) -> int4",
    "hashfloat4(float4) -> int4",
    "hashfloat8(float8) -> int4",
    "hashoid(oid) -> int4",
    "hashchar(\"char\") -> int4",
    "hashname(name) -> int4",
    "hashbpchar(bpchar) -> int4",
    "hashoidvector(oidvector) -> int4",
    "hashinet(inet) -> int4",
    "hashmacaddr(macaddr) -> int4",
    "hashmacaddr8(macaddr8) -> int4",
    "hash_numeric(numeric) -> int4",
    "time_hash(time) -> int4",
    "timetz_hash(timetz) -> int4",
    "timestamp_hash(timestamp) -> int4",
    "interval_hash(interval) -> int4",
    "uuid_hash(uuid) -> int4",
    "pg_lsn_hash(pg_lsn) -> int4",
];

/// The functions with a seed.
const EXTENDED: &[&str] = &[
    "hashint2extended(int2, int8) -> int8",
    "hashint4extended(int4, int8) -> int8",
    "hashint8extended(int8, int8) -> int8",
    "hashfloat4extended(float4, int8) -> int8",
    "hashfloat8extended(float8, int8) -> int8",
    "hashoidextended(oid, int8) -> int8",
    "hashcharextended(\"char\", int8) -> int8",
    "hashnameextended(name, int8) -> int8",
    "hashbpcharextended(bpchar, int8) -> int8",
    "hashoidvectorextended(oidvector, int8) -> int8",
    "hashinetextended(inet, int8) -> int8",
    "hashmacaddrextended(macaddr, int8) -> int8",
    "hashmacaddr8extended(macaddr8, int8) -> int8",
    "hash_numeric_extended(numeric, int8) -> int8",
    "time_hash_extended(time, int8) -> int8",
    "timetz_hash_extended(timetz, int8) -> int8",
    "timestamp_hash_extended(timestamp, int8) -> int8",
    "interval_hash_extended(interval, int8) -> int8",
    "uuid_hash_extended(uuid, int8) -> int8",
    "pg_lsn_hash_extended(pg_lsn, int8) -> int8",
];

/// The hash of the first argument.
fn hash(call: &Call<'_>, seed: u64) -> Result<u64> {
    let (value, ty) = (call.datum(0), call.types.first().unwrap_or(&SqlType::Unknown));
    let long = |value: i64| seeded_hash(&Datum::Int(value), &SqlType::Int8, seed);
    let word = |value: i64| seeded_hash(&Datum::Int(value), &SqlType::Int4, seed);
    let broken = || Error::internal("a value has no hash");
    Ok(match (ty, value) {
        (SqlType::InternalChar, Datum::Text(text)) => {
            // A byte with its sign.
            let code = text.chars().next().map_or(0, u32::from);
            word(i64::from(code as u8 as i8))
        }
        (SqlType::OidVector, Datum::Array(oids)) => {
            let oids = oids.items.iter().filter_map(Datum::as_int);
            let bytes: Vec<u8> = oids.flat_map(|oid| (oid as u32).to_le_bytes()).collect();
            seeded_hash(&Datum::bytes(bytes), &SqlType::Bytes, seed)
        }
        (SqlType::PgLsn, value) => long(unsigned::from_datum(value)? as i64),
        (SqlType::Timetz, Datum::Bytes(bytes)) => {
            let time = TimeTz::from_bytes(bytes).ok_or_else(broken)?;
            long(time.micros) ^ word(i64::from(time.west))
        }
        (SqlType::Inet | SqlType::Cidr, Datum::Bytes(bytes)) => {
            let inet = Inet::from_bytes(bytes).ok_or_else(broken)?;
            let is_short = inet.width() == 32;
            let address = inet.address.to_be_bytes();
            let address = if is_short { &address[12..] } else { &address[..] };
            let mut bytes = vec![if is_short { 2 } else { 3 }, inet.bits];
            bytes.extend_from_slice(address);
            seeded_hash(&Datum::bytes(bytes), &SqlType::Bytes, seed)
        }
        (_, Datum::Interval(interval)) => {
            let days = i128::from(interval.months) * MONTH_DAYS + i128::from(interval.days);
            long((days * DAY_MICROS + i128::from(interval.micros)) as i64)
        }
        (ty, value) => seeded_hash(value, ty, seed),
    })
}

fn plain(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Int(i64::from(hash(call, 0)? as u32 as i32)))
}

fn extended(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Int(hash(call, call.int(1)? as u64)? as i64))
}

pub(super) fn register(registry: &mut Registry) {
    PLAIN.iter().for_each(|signature| registry.add(signature, plain));
    EXTENDED.iter().for_each(|signature| registry.add(signature, extended));
}
