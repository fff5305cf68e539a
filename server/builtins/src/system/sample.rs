//! Which rows a TABLESAMPLE takes; see `plan`'s module `sample`. Nobody calls it by name.

use braid_types::{Datum, Error, Result, SqlState};

use crate::Call;
use crate::numbers::floats::random_fraction;
use crate::registry::tables::Registry;

/// The first argument as a fraction. 2202H if it is NULL or no percentage.
fn fraction(call: &Call<'_>) -> Result<f64> {
    let refuse = |message: &str| Err(Error::new(SqlState::InvalidTablesampleArgument, message));
    match call.datum(0) {
        Datum::Null => refuse("TABLESAMPLE parameter cannot be null"),
        Datum::Float(percent) if (0.0..=100.0).contains(percent) => Ok(percent / 100.0),
        _ => refuse("sample percentage must be between 0 and 100"),
    }
}

fn random_sample(call: &Call<'_>) -> Result<Datum> {
    Ok(Datum::Bool(random_fraction() < fraction(call)?))
}

/// Checks the arguments of a repeatable sample without a row.
fn checked_sample(call: &Call<'_>) -> Result<Datum> {
    fraction(call)?;
    seed(call).map(|_| Datum::Bool(true))
}

/// The seed's bits. 2202G if it is NULL.
fn seed(call: &Call<'_>) -> Result<u64> {
    match call.datum(1) {
        Datum::Float(seed) => Ok((seed + 0.0).to_bits()),
        _ => {
            let message = "TABLESAMPLE REPEATABLE parameter cannot be null";
            Err(Error::new(SqlState::InvalidTablesampleRepeat, message))
        }
    }
}

/// The place of the row is hashed with the seed.
fn repeated_sample(call: &Call<'_>) -> Result<Datum> {
    let fraction = fraction(call)?;
    let mut state = mixed(seed(call)? ^ 0x9e37_79b9_7f4a_7c15);
    if let Datum::Bytes(place) = call.datum(2) {
        for chunk in place.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            state = mixed(state ^ u64::from_le_bytes(word));
        }
    }
    Ok(Datum::Bool(((state >> 11) as f64 / (1_u64 << 53) as f64) < fraction))
}

/// The finalizer of SplitMix64.
fn mixed(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("braid_sample(float4) -> bool volatile lax", random_sample);
    registry.add("braid_sample(float4, float8) -> bool lax", checked_sample);
    registry.add("braid_sample(float4, float8, tid) -> bool lax", repeated_sample);
}
