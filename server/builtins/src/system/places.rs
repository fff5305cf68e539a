//! What the system columns `tableoid` and `ctid` are computed by; see `plan`'s module
//! `system_columns`. Nobody calls these functions by name.

use braid_codec::key;
use braid_types::{Datum, Error, Result, SqlType, tid};

use crate::Call;
use crate::registry::Registry;

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
    let Datum::Bytes(place) = call.datum(0) else { return Ok(Datum::Null) };
    let wanted = usize::try_from(call.int(1)?).map_err(|_| Error::internal("a key column"))?;
    let types = call.types.get(3..).unwrap_or_default();
    if let [only] = types
        && only.is_integer()
        && let Some(value) = tid::integer_of(place)
    {
        let bound = match only {
            SqlType::Int2 => i64::from(i16::MAX),
            SqlType::Int4 => i64::from(i32::MAX),
            _ => i64::MAX,
        };
        return Ok(if value <= bound { Datum::Int(value) } else { Datum::Null });
    }
    let Some(mut key) = tid::key_of(place) else { return Ok(Datum::Null) };
    for (at, ty) in types.iter().enumerate() {
        // Any text can stand in a query, so bytes that are no key are no error.
        let Ok(datum) = key::decode(&mut key, ty, false) else { return Ok(Datum::Null) };
        if at == wanted {
            return Ok(datum);
        }
    }
    Ok(Datum::Null)
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("braid_tableoid(oid, any) -> oid", table_oid);
    registry.add("braid_ctid(oid, variadic any) -> tid", place);
    registry
        .add("braid_ctid_key(tid, int4, anyelement, variadic any) -> anyelement lax", key_column);
}
