//! Objects by catalog, number and column: `pg_identify_object`, `pg_describe_object`; the answers
//! of a server without partitions.

use braid_types::{Datum, Result, Row};

use crate::names::reg_signatures::procedure_signature;
use crate::names::type_names::type_name;
use crate::registry::call::text;
use crate::registry::tables::Registry;
use crate::sets::rows;
use crate::{Call, ObjectIdentity, Rows};

/// The number of `pg_proc`, whose rows are the same in every database.
const PG_PROC: u32 = 1255;

fn function(call: &Call<'_>, oid: u32) -> Option<ObjectIdentity> {
    let signature = procedure_signature(oid, call.env.lookup())?;
    Some(ObjectIdentity {
        kind: "function".to_owned(),
        schema: Some("pg_catalog".to_owned()),
        name: None,
        identity: format!("pg_catalog.{signature}"),
        description: format!("function {signature}"),
    })
}

/// The object that the arguments name, unless it does not exist.
fn found(call: &Call<'_>) -> Result<Option<ObjectIdentity>> {
    let number = |index| Ok::<_, braid_types::Error>(u32::try_from(call.int(index)?).unwrap_or(0));
    let (catalog, oid) = (number(0)?, number(1)?);
    if catalog == PG_PROC {
        return Ok(function(call, oid));
    }
    Ok(call.env.lookup().object_identity(catalog, oid, call.int4(2)?))
}

fn identify(call: &Call<'_>) -> Result<Rows> {
    let or_null = |value: Option<String>| value.map_or(Datum::Null, Datum::text);
    let row = match found(call)? {
        None => vec![Datum::Null; 4],
        Some(object) => vec![
            Datum::text(object.kind),
            or_null(object.schema),
            or_null(object.name),
            Datum::text(object.identity),
        ],
    };
    rows(std::iter::once(Row::from(row)))
}

fn describe(call: &Call<'_>) -> Result<Datum> {
    found(call)?.map_or(Ok(Datum::Null), |object| text(object.description))
}

/// The types of a vector of numbers, as a list.
fn vector_types(call: &Call<'_>) -> Result<Datum> {
    let Datum::Array(types) = call.datum(0) else { return text("") };
    let name = |oid: &Datum| {
        let oid = oid.as_int().and_then(|oid| u32::try_from(oid).ok());
        let known = oid.and_then(|oid| type_name(oid, call.env.lookup()));
        known.unwrap_or_else(|| "???".to_owned())
    };
    text(types.items.iter().map(name).collect::<Vec<_>>().join(", "))
}

pub(super) fn register(registry: &mut Registry) {
    registry.set(
        "pg_identify_object(oid, oid, int4) -> type text, schema text, name text, identity text",
        identify,
    );
    registry.add("pg_describe_object(oid, oid, int4) -> text stable", describe);
    registry.add("oidvectortypes(oidvector) -> text stable", vector_types);
}
