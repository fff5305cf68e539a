//! Arithmetic of `pg_lsn`, and what PostgreSQL has beside it for transaction ids.

use braid_types::numeric::rounding::round;
use braid_types::{Datum, Error, Numeric, Result, SqlState, unsigned};

use crate::Call;
use crate::registry::tables::Registry;

fn lsn(call: &Call<'_>, index: usize) -> Result<i128> {
    unsigned::from_datum(call.datum(index)).map(i128::from)
}

fn difference(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Numeric(Numeric::from_parts(lsn(call, 0)? - lsn(call, 1)?, 0)))
}

/// A number as bytes of the log, rounded; an error for NaN in the words of the operation.
fn bytes(value: &Numeric, nan: &str) -> Result<i128> {
    if value.is_nan() {
        return Err(Error::new(SqlState::FeatureNotSupported, nan));
    }
    let rounded = if value.is_finite() { round(value, 0)?.to_i128() } else { None };
    rounded.ok_or_else(out_of_range)
}

fn out_of_range() -> Error {
    Error::new(SqlState::InvalidParameterValue, "pg_lsn out of range")
}

fn to_lsn(value: Option<i128>) -> Result<Datum> {
    let value = value.and_then(|value| u64::try_from(value).ok()).ok_or_else(out_of_range)?;
    Ok(unsigned::to_datum(value))
}

fn plus(call: &Call<'_>, place: usize, number: usize) -> Result<Datum> {
    let added = bytes(call.numeric(number)?, "cannot add NaN to pg_lsn")?;
    to_lsn(lsn(call, place)?.checked_add(added))
}

fn minus(call: &Call<'_>) -> Result<Datum> {
    let taken = bytes(call.numeric(1)?, "cannot subtract NaN from pg_lsn")?;
    to_lsn(lsn(call, 0)?.checked_sub(taken))
}

pub(crate) fn register(registry: &mut Registry) {
    registry.add("-(pg_lsn, pg_lsn) -> numeric", difference);
    registry.add("pg_wal_lsn_diff(pg_lsn, pg_lsn) -> numeric", difference);
    registry.add("+(pg_lsn, numeric) -> pg_lsn", |c| plus(c, 0, 1));
    registry.add("+(numeric, pg_lsn) -> pg_lsn", |c| plus(c, 1, 0));
    registry.add("-(pg_lsn, numeric) -> pg_lsn", minus);
    // The name of the type before a literal.
    registry.add("pg_lsn(pg_lsn) -> pg_lsn", |c| Ok(c.datum(0).clone()));
    registry.add("pg_lsn(numeric) -> pg_lsn", |c| {
        to_lsn(Some(bytes(c.numeric(0)?, "cannot convert NaN to pg_lsn")?))
    });
    // This server is nobody's replica.
    registry.add("pg_last_wal_receive_lsn|pg_last_wal_replay_lsn() -> pg_lsn volatile", |_| {
        Ok(Datum::Null)
    });
    registry.add("pg_last_xact_replay_timestamp() -> timestamptz volatile", |_| Ok(Datum::Null));
    // No number of a transaction ever wraps around.
    registry.add("age|mxid_age(xid) -> int4 stable", |_| Ok(Datum::Int(0)));
    registry.add("xid(xid8) -> xid", |c| c.cast(0, c.returns));
}
