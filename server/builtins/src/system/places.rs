//! What the system columns `tableoid`, `ctid` and `xmin` are computed by; see `plan`'s module
//! `system_columns`. Nobody calls these functions by name.

use braid_codec::{key, value};
use braid_types::{Datum, Result, SqlType, tid};
use sha1::{Digest as _, Sha1};

use crate::Call;
use crate::registry::tables::Registry;

fn table_oid(call: &Call<'_>) -> Result<Datum> {
    Ok(call.datum(0).clone())
}

/// The tid of a primary key, which follows the table's oid.
fn place(call: &Call<'_>) -> Result<Datum> {
    let key = call.args.get(1..).unwrap_or_default();
    if let [Datum::Int(only)] = key
        && call.ty(1).is_integer()
        && let Some(place) = tid::of_integer(*only)
    {
        return Ok(place);
    }
    let mut bytes = Vec::new();
    for (at, datum) in key.iter().enumerate() {
        key::encode(&mut bytes, datum, call.ty(at + 1), false);
    }
    Ok(tid::of_key(&bytes))
}

/// The column of a primary key that a tid holds: arguments are the tid, the column's place, a NULL
/// of its type, and a NULL of each key column's type. NULL for a tid of another form.
fn key_column(call: &Call<'_>) -> Result<Datum> {
    let (Datum::Bytes(place), Datum::Int(wanted)) = (call.datum(0), call.datum(1)) else {
        return Ok(Datum::Null);
    };
    let types = call.types.get(3..).unwrap_or_default();
    Ok(key_part(place, *wanted, types).unwrap_or(Datum::Null))
}

/// A column of the primary key that a tid holds, by its place; `None` for a tid of another form.
fn key_part(place: &[u8], wanted: i64, types: &[SqlType]) -> Option<Datum> {
    if let [only] = types
        && only.is_integer()
        && let Some(value) = tid::integer_of(place)
    {
        let bound = match only {
            SqlType::Int2 => i64::from(i16::MAX),
            SqlType::Int4 => i64::from(i32::MAX),
            _ => i64::MAX,
        };
        return (value <= bound).then_some(Datum::Int(value));
    }
    let mut key = tid::key_of(place)?;
    for (at, ty) in (0..).zip(types) {
        // Any text can stand in a query, so bytes that are no key are no error.
        let datum = key::decode(&mut key, ty, false).ok()?;
        if at == wanted {
            return Some(datum);
        }
    }
    None
}

/// The keys of several tids, for a primary key of one column, whose type the second argument has.
/// NULL stays, and tids of another form are left out: no row has them.
fn keys(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(places) = call.datum(0) else { return Ok(Datum::Null) };
    let types = call.types.get(1..).unwrap_or_default();
    let element = call.returns.element().cloned().unwrap_or(SqlType::Unknown);
    let keys = places.items.iter().filter_map(|place| match place {
        Datum::Bytes(place) => key_part(place, 0, types),
        _ => Some(Datum::Null),
    });
    Ok(Datum::array(element, keys.collect()))
}

/// The numbers of transactions that PostgreSQL keeps for itself; no row's token is one of them.
const RESERVED_XIDS: u32 = 3;

/// The token of a row's version: the start of the SHA-1 of its columns, which follow a column that
/// is not NULL. 0 without columns, NULL for a row that an outer join made up.
fn version(call: &Call<'_>) -> Result<Datum> {
    let Some((present, columns)) = call.args.split_first() else { return Ok(Datum::Null) };
    if present.is_null() || columns.is_empty() {
        return Ok(if present.is_null() { Datum::Null } else { Datum::Int(0) });
    }
    let mut hash = Sha1::new();
    let mut cell = Vec::new();
    for (at, datum) in columns.iter().enumerate() {
        cell.clear();
        value::encode_cell(&mut cell, datum, call.ty(at + 1));
        hash.update([u8::from(datum.is_null())]);
        hash.update((cell.len() as u64).to_le_bytes());
        hash.update(&cell);
    }
    let start =
        hash.finalize().into_iter().take(4).fold(0_u32, |sum, byte| sum << 8 | u32::from(byte));
    Ok(Datum::Int(i64::from(start.max(RESERVED_XIDS))))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("braid_tableoid(oid, any) -> oid", table_oid);
    registry.add("braid_xmin(any, variadic any) -> xid lax", version);
    registry.add("braid_xmin(any) -> xid lax", version);
    registry.add("braid_ctid_keys(tid[], anyelement) -> anyarray lax", keys);
    registry.add("braid_ctid(oid, variadic any) -> tid", place);
    registry
        .add("braid_ctid_key(tid, int4, anyelement, variadic any) -> anyelement lax", key_column);
}
