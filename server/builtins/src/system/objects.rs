//! Objects by catalog, number and column: `pg_identify_object`, `pg_describe_object`; the answers
//! of a server without partitions.

use braid_types::{Datum, Error, Result, Row, SqlState, SqlType};

use crate::names::reg_signatures::procedure_signature;
use crate::names::type_names::type_name;
use crate::registry::call::text;
use crate::registry::tables::Registry;
use crate::sets::rows;
use crate::{Call, ObjectIdentity, Rows, StatisticsText};

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

/// The object of CREATE STATISTICS that the argument names.
fn statistics(call: &Call<'_>) -> Result<Option<StatisticsText>> {
    Ok(call.env.lookup().statistics_object(call.oid(0)?))
}

fn register_statistics(registry: &mut Registry) {
    registry.add("pg_get_statisticsobjdef(oid) -> text stable", |call| {
        statistics(call)?.map_or(Ok(Datum::Null), |found| text(found.definition))
    });
    registry.add("pg_get_statisticsobjdef_columns(oid) -> text stable", |call| {
        statistics(call)?.map_or(Ok(Datum::Null), |found| text(found.columns))
    });
    registry.add("pg_get_statisticsobjdef_expressions(oid) -> text[] stable", |call| {
        let found = statistics(call)?.filter(|found| !found.expressions.is_empty());
        Ok(found.map_or(Datum::Null, |found| {
            let expressions = found.expressions.into_iter().map(Datum::text);
            Datum::array(SqlType::Text, expressions.collect())
        }))
    });
    registry.add("pg_statistics_obj_is_visible(oid) -> bool stable", |call| {
        Ok(statistics(call)?.map_or(Datum::Null, |found| Datum::Bool(found.is_visible)))
    });
}

/// The texts of a list. 22023 for NULL in it.
fn list(call: &Call<'_>, index: usize) -> Result<Vec<String>> {
    let Datum::Array(list) = call.datum(index) else { return Ok(Vec::new()) };
    let items = list.items.iter().map(|item| item.as_str().map(str::to_owned));
    items.collect::<Option<_>>().ok_or_else(|| {
        let message = "name or argument lists may not contain nulls";
        Error::new(SqlState::InvalidParameterValue, message)
    })
}

/// `pg_get_object_address(type, names, args)`
fn address(call: &Call<'_>) -> Result<Rows> {
    let kind = call.text(0)?;
    let invalid = |message: String| Err(Error::new(SqlState::InvalidParameterValue, message));
    if UNSUPPORTED_KINDS.contains(&kind) {
        return invalid(format!("unsupported object type \"{kind}\""));
    }
    if !KINDS.contains(&kind) {
        return invalid(format!("unrecognized object type \"{kind}\""));
    }
    let names = list(call, 1)?;
    if names.is_empty() {
        return invalid("name list length must be at least 1".to_owned());
    }
    if SINGLE_KINDS.contains(&kind) && names.len() != 1 {
        return invalid("name list length must be exactly 1".to_owned());
    }
    list(call, 2)?;
    let (catalog, oid, column) = call.env.lookup().object_address(kind, &names)?;
    let row = [i64::from(catalog), i64::from(oid), i64::from(column)].map(Datum::Int);
    rows(std::iter::once(Row::from(row)))
}

/// Kinds that PostgreSQL names and does not look up.
const UNSUPPORTED_KINDS: &[&str] = &[
    "toast table",
    "index column",
    "sequence column",
    "toast table column",
    "view column",
    "materialized view column",
    "composite type",
    "composite type column",
];

/// Kinds whose objects are named by one word.
const SINGLE_KINDS: &[&str] = &[
    "type",
    "cast",
    "domain constraint",
    "transform",
    "large object",
    "language",
    "schema",
    "role",
    "database",
    "tablespace",
    "foreign-data wrapper",
    "server",
    "extension",
    "event trigger",
    "access method",
    "publication",
    "subscription",
];

/// All kinds that are looked up.
const KINDS: &[&str] = &[
    "table",
    "index",
    "sequence",
    "view",
    "materialized view",
    "foreign table",
    "table column",
    "foreign table column",
    "aggregate",
    "function",
    "procedure",
    "type",
    "cast",
    "collation",
    "table constraint",
    "domain constraint",
    "conversion",
    "default value",
    "language",
    "large object",
    "operator",
    "operator class",
    "operator family",
    "access method",
    "operator of access method",
    "function of access method",
    "rule",
    "trigger",
    "schema",
    "text search parser",
    "text search dictionary",
    "text search template",
    "text search configuration",
    "role",
    "database",
    "tablespace",
    "foreign-data wrapper",
    "server",
    "user mapping",
    "default acl",
    "extension",
    "event trigger",
    "policy",
    "publication",
    "publication namespace",
    "publication relation",
    "subscription",
    "transform",
    "statistics object",
    "parameter ACL",
];

pub(super) fn register(registry: &mut Registry) {
    register_statistics(registry);
    registry.set(
        "pg_get_object_address(text, text[], text[]) -> classid oid, objid oid, objsubid int4",
        address,
    );
    registry.set(
        "pg_identify_object(oid, oid, int4) -> type text, schema text, name text, identity text",
        identify,
    );
    registry.add("pg_describe_object(oid, oid, int4) -> text stable", describe);
    registry.add("oidvectortypes(oidvector) -> text stable", vector_types);
}
