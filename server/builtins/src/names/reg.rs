//! Casts to and from the `reg*` types: oids that read and print as names.

use braid_sql::quote_ident;
use braid_types::cast::{self, CastEnv};
use braid_types::{Datum, Error, Result, SqlState, SqlType, text};

use super::input_functions::INPUT_FUNCTIONS;
use super::reg_signatures::{
    collation_name, operator_alone, operator_signature, procedure_signature, regcollation, regoper,
    regoperator, regprocedure,
};
use super::type_names::{type_name, type_oid, unknown_type};
use crate::registry::tables::registry;
use crate::strings::split_object_name;
use crate::{Environment, Lookup};

/// PostgreSQL's oids of the functions of large objects. Drivers keep them as `int`.
const LARGE_OBJECT_OIDS: &[(&str, u32)] = &[
    ("lo_create", 715),
    ("lo_open", 952),
    ("lo_close", 953),
    ("loread", 954),
    ("lowrite", 955),
    ("lo_lseek", 956),
    ("lo_creat", 957),
    ("lo_tell", 958),
    ("lo_unlink", 964),
    ("lo_truncate", 1004),
    ("lo_lseek64", 3170),
    ("lo_tell64", 3171),
    ("lo_truncate64", 3172),
    ("lo_from_bytea", 3457),
    ("lo_get", 3458),
    ("lo_put", 3460),
];

/// The oid that a function name stands for as a `regproc`: a hash of the name, above the numbers
/// that objects of a database get. Functions of large objects have those of PostgreSQL.
pub fn function_oid(name: &str) -> u32 {
    if name.starts_with("lo")
        && let Some((_, oid)) = LARGE_OBJECT_OIDS.iter().find(|(known, _)| *known == name)
    {
        return *oid;
    }
    let mut hash = 0x811c_9dc5u32;
    for byte in name.bytes() {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash | 0xf000_0000
}

/// The name of a built-in function by such an oid.
pub(crate) fn function_name(oid: u32) -> Option<&'static str> {
    let registry = registry();
    let names = registry.functions.keys().chain(registry.sets.keys());
    let mut names = names.chain(registry.aggregates.keys()).copied();
    let mut inputs = INPUT_FUNCTIONS.iter().copied();
    names
        .find(|name| function_oid(name) == oid)
        .or_else(|| inputs.find(|name| function_oid(name) == oid))
}

fn has_function(name: &str) -> bool {
    let registry = registry();
    registry.functions.contains_key(name)
        || registry.sets.contains_key(name)
        || registry.aggregates.contains_key(name)
        || INPUT_FUNCTIONS.contains(&name)
}

/// A name without `pg_catalog` before it; `None` for another schema.
pub(crate) fn last_part(name: &str) -> Option<String> {
    let parts = split_object_name(name)?;
    match parts.as_slice() {
        [only] => Some(only.clone()),
        [schema, last] if schema == "pg_catalog" => Some(last.clone()),
        _ => None,
    }
}

/// The oid that a name stands for, `None` if there is nothing of that name; an error for what is no
/// name of that kind.
pub(crate) fn lookup_name(name: &str, to: &SqlType, env: &dyn Environment) -> Result<Option<u32>> {
    let lookup = env.lookup();
    let only = || split_object_name(name).filter(|parts| parts.len() == 1)?.pop();
    Ok(match to {
        SqlType::Regclass => lookup.relation_oid(name)?,
        SqlType::Regtype => return type_oid(name, lookup),
        SqlType::Regnamespace => only().and_then(|name| lookup.schema_oid(&name)),
        SqlType::Regrole => only().and_then(|name| lookup.role_oid(&name)),
        SqlType::Regproc => {
            let known = last_part(name).filter(|name| has_function(name));
            match known {
                Some(name) => Some(function_oid(&name)),
                None => return only_routine(name, lookup),
            }
        }
        SqlType::Regprocedure => return regprocedure(name, env),
        SqlType::Regoper => return regoper(name),
        SqlType::Regoperator => return regoperator(name, env),
        SqlType::Regcollation => regcollation(name),
        _ => None,
    })
}

/// The only function of users of a name; 42725 if there are several.
fn only_routine(name: &str, lookup: &dyn Lookup) -> Result<Option<u32>> {
    let Some(parts) = split_object_name(name) else { return Ok(None) };
    match lookup.routines_named(&parts).as_slice() {
        [] => Ok(None),
        [(only, _)] => Ok(Some(*only)),
        _ => {
            let message = format!("more than one function named \"{}\"", parts.join("."));
            Err(Error::new(SqlState::AmbiguousFunction, message))
        }
    }
}

fn unknown_name(name: &str, to: &SqlType) -> Error {
    let shown = || match split_object_name(name) {
        Some(parts) => parts.join("."),
        None => name.to_owned(),
    };
    let (state, message) = match to {
        SqlType::Regtype => return unknown_type(name),
        SqlType::Regclass => {
            (SqlState::UndefinedTable, format!("relation \"{}\" does not exist", shown()))
        }
        SqlType::Regnamespace => {
            (SqlState::InvalidSchemaName, format!("schema \"{}\" does not exist", shown()))
        }
        SqlType::Regrole => {
            (SqlState::UndefinedObject, format!("role \"{}\" does not exist", shown()))
        }
        SqlType::Regcollation => {
            let shown = shown();
            let message = format!("collation \"{shown}\" for encoding \"UTF8\" does not exist");
            (SqlState::UndefinedObject, message)
        }
        SqlType::Regoper | SqlType::Regoperator => {
            (SqlState::UndefinedFunction, format!("operator does not exist: {name}"))
        }
        _ => (SqlState::UndefinedFunction, format!("function \"{}\" does not exist", shown())),
    };
    Error::new(state, message)
}

fn parse_name(name: &str, to: &SqlType, env: &dyn Environment) -> Result<Datum> {
    let trimmed = name.trim();
    let is_operator = matches!(to, SqlType::Regoper | SqlType::Regoperator);
    if trimmed == "-" && !is_operator {
        return Ok(Datum::Int(0));
    }
    if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit()) {
        let oid: u32 = trimmed.parse().map_err(|_| {
            let message = format!("value \"{trimmed}\" is out of range for type oid");
            Error::new(SqlState::NumericValueOutOfRange, message)
        })?;
        return Ok(Datum::Int(oid.into()));
    }
    let is_name = !is_operator && !matches!(to, SqlType::Regtype | SqlType::Regprocedure);
    if is_name && split_object_name(trimmed).is_none() {
        return Err(Error::new(SqlState::InvalidName, "invalid name syntax"));
    }
    let is_global = matches!(to, SqlType::Regrole | SqlType::Regnamespace);
    if is_global && split_object_name(trimmed).is_some_and(|parts| parts.len() > 1) {
        return Err(Error::new(SqlState::InvalidName, "invalid name syntax"));
    }
    let name = if *to == SqlType::Regtype { name } else { trimmed };
    match lookup_name(name, to, env)? {
        Some(found) => Ok(Datum::Int(found.into())),
        None => Err(match missing_schema(trimmed, to, env.lookup()) {
            Some(schema) => {
                let message = format!("schema \"{schema}\" does not exist");
                Error::new(SqlState::InvalidSchemaName, message)
            }
            None => unknown_name(trimmed, to),
        }),
    }
}

/// The schema of a qualified name, if there is none of that name.
fn missing_schema(name: &str, to: &SqlType, lookup: &dyn Lookup) -> Option<String> {
    let name = name.split_once('(').map_or(name, |(name, _)| name);
    let schema = match to {
        SqlType::Regtype => return None,
        SqlType::Regoper | SqlType::Regoperator => {
            split_object_name(name.split_once('.')?.0)?.into_iter().next()?
        }
        _ => match &split_object_name(name)?[..] {
            [schema, _] => schema.clone(),
            _ => return None,
        },
    };
    lookup.schema_oid(&schema).is_none().then_some(schema)
}

/// Reads a privilege, whose roles must exist.
fn parse_aclitem(text: &str, env: &dyn Environment) -> Result<Datum> {
    let item = text::parse(&SqlType::Aclitem, text, env.settings(), 0)?;
    let shown = item.as_str().unwrap_or_default();
    let grantee = shown.split('=').next().unwrap_or_default();
    let grantor = shown.rsplit('/').next().unwrap_or_default();
    for role in [grantee, grantor].into_iter().filter(|role| !role.is_empty()) {
        let name = role.trim_matches('"').replace("\"\"", "\"");
        if env.lookup().role_oid(&name).is_none() {
            let message = format!("role \"{name}\" does not exist");
            return Err(Error::new(SqlState::UndefinedObject, message));
        }
    }
    Ok(item)
}

/// Reads a text as a type whose values are names, or as an array of these.
fn parse_named(text: &str, to: &SqlType, env: &dyn Environment) -> Result<Datum> {
    match to {
        SqlType::Array(element) => {
            let texts = SqlType::Text.array();
            let parsed = text::parse(&texts, text, env.settings(), 0)?;
            let Datum::Array(array) = parsed else { return Err(Error::internal("not an array")) };
            let items = array.items.iter().map(|item| match item.as_str() {
                Some(item) => parse_named(item, element, env),
                None => Ok(Datum::Null),
            });
            let items = items.collect::<Result<Vec<_>>>()?;
            Ok(array.with_items(element.as_ref().clone(), items).into())
        }
        SqlType::Aclitem => parse_aclitem(text, env),
        to => parse_name(text, to, env),
    }
}

/// How an oid of a `reg*` type prints: as a name, or as a number if there is none.
pub(crate) fn print_name(oid: i64, from: &SqlType, env: &dyn Environment) -> String {
    if oid == 0 {
        return if matches!(from, SqlType::Regoper | SqlType::Regoperator) { "0" } else { "-" }
            .to_owned();
    }
    let lookup = env.lookup();
    let oid = u32::try_from(oid).unwrap_or(0);
    let name = match from {
        SqlType::Regclass => lookup.relation_name(oid),
        SqlType::Regtype => type_name(oid, lookup),
        SqlType::Regnamespace => lookup.schema_name(oid).map(|name| quote_ident(&name)),
        SqlType::Regrole => lookup.role_name(oid).map(|name| quote_ident(&name)),
        SqlType::Regproc => match function_name(oid) {
            Some(name) => Some(quote_ident(name)),
            None => lookup.routine(oid).map(|found| found.name),
        },
        SqlType::Regprocedure => procedure_signature(oid, lookup),
        SqlType::Regoper => operator_alone(oid),
        SqlType::Regoperator => operator_signature(oid, lookup),
        SqlType::Regcollation => collation_name(oid).map(|name| quote_ident(&name)),
        _ => None,
    };
    name.unwrap_or_else(|| oid.to_string())
}

fn to_text(datum: &Datum, from: &SqlType, env: &dyn Environment) -> Datum {
    match (from, datum) {
        (SqlType::Array(element), Datum::Array(array)) => {
            let items = array.items.iter().map(|item| to_text(item, element, env)).collect();
            array.with_items(SqlType::Text, items).into()
        }
        (_, Datum::Int(oid)) => Datum::text(print_name(*oid, from, env)),
        (_, other) => other.clone(),
    }
}

/// Casts a datum where `from` or `to` is a `reg*` type (or an array of one): text is looked up by
/// name, an oid prints as a name. 42P01, 42704, 3F000 or 42883 if there is nothing of that name.
pub fn cast_reg(
    datum: &Datum,
    from: &SqlType,
    to: &SqlType,
    env: &dyn Environment,
) -> Result<Datum> {
    if datum.is_null() || from.same_base(to) {
        return Ok(datum.clone());
    }
    if let (SqlType::Array(from), SqlType::Array(to), Datum::Array(array)) = (from, to, datum) {
        let items = array
            .items
            .iter()
            .map(|item| cast_reg(item, from, to, env))
            .collect::<Result<Vec<_>>>()?;
        return Ok(array.with_items(to.as_ref().clone(), items).into());
    }
    let is_text = |ty: &SqlType| ty.is_string() || matches!(ty, SqlType::Unknown);
    if is_named(to) && is_text(from) {
        return parse_named(datum.as_str().unwrap_or_default(), to, env);
    }
    if is_named(from) && is_text(to) {
        return Ok(match to_text(datum, from, env) {
            Datum::Array(names) => {
                let names = Datum::Array(names);
                Datum::text(text::to_string(&SqlType::Text.array(), &names, env.settings()))
            }
            name => name,
        });
    }
    // What is left is a number under another name.
    let plain = |ty: &SqlType| if ty.is_reg() { SqlType::Oid } else { ty.clone() };
    let cast_env = CastEnv { settings: env.settings(), now_micros: env.transaction_micros() };
    cast::cast(datum, &plain(from), &plain(to), true, &cast_env)
}

/// Whether values of the type are read with the catalog: names of objects, and arrays of these.
fn is_named(ty: &SqlType) -> bool {
    match ty {
        SqlType::Array(element) => is_named(element),
        SqlType::Aclitem => true,
        ty => ty.is_reg(),
    }
}

/// Whether a cast between these types looks names up in the catalog ([`cast_reg`] does it).
pub fn is_reg_cast(from: &SqlType, to: &SqlType) -> bool {
    let prints = |ty: &SqlType| is_named(ty) && *ty.innermost() != SqlType::Aclitem;
    (prints(from) && to.is_string())
        || (is_named(to) && (from.is_string() || *from == SqlType::Unknown))
}
