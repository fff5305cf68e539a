//! Casts to and from the `reg*` types: oids that read and print as names.

use braid_types::cast::{self, CastEnv};
use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::Environment;
use crate::registry::registry;
use crate::strings::{quote_identifier, split_identifier};

/// The oid that a function name stands for as a `regproc`: a hash of the name, above the numbers
/// that objects of a database get.
pub fn function_oid(name: &str) -> u32 {
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
    let inputs = || INPUT_FUNCTIONS.iter().copied();
    names
        .find(|name| function_oid(name) == oid)
        .or_else(|| inputs().find(|name| function_oid(name) == oid))
}

/// PostgreSQL's input functions. They cannot be called here, but drivers tell types by them: all
/// arrays have `array_in`.
const INPUT_FUNCTIONS: &[&str] = &[
    "array_in",
    "boolin",
    "bpcharin",
    "byteain",
    "charin",
    "date_in",
    "float4in",
    "float8in",
    "int2in",
    "int2vectorin",
    "int4in",
    "int8in",
    "interval_in",
    "json_in",
    "jsonb_in",
    "namein",
    "numeric_in",
    "oidin",
    "oidvectorin",
    "record_in",
    "regclassin",
    "regnamespacein",
    "regprocin",
    "regrolein",
    "regtypein",
    "textin",
    "time_in",
    "timestamp_in",
    "timestamptz_in",
    "unknownin",
    "uuid_in",
    "varcharin",
    "void_in",
];

/// The oid of a type's input function; 0 for a type that PostgreSQL does not have.
pub fn input_function(ty: &SqlType) -> u32 {
    let name = ty.short_name();
    let known = |name: &str| INPUT_FUNCTIONS.contains(&name);
    let found = if ty.is_array() && !ty.is_vector() {
        Some("array_in".to_owned())
    } else {
        [format!("{name}in"), format!("{name}_in")].into_iter().find(|name| known(name))
    };
    found.map_or(0, |name| function_oid(&name))
}

fn has_function(name: &str) -> bool {
    let registry = registry();
    registry.functions.contains_key(name)
        || registry.sets.contains_key(name)
        || registry.aggregates.contains_key(name)
        || INPUT_FUNCTIONS.contains(&name)
}

fn last_part(name: &str) -> Option<String> {
    let parts = split_identifier(name)?;
    match parts.as_slice() {
        [only] => Some(only.clone()),
        [schema, last] if schema == "pg_catalog" => Some(last.clone()),
        _ => None,
    }
}

/// The oid that a name stands for, `None` if there is nothing of that name.
pub(crate) fn lookup_name(name: &str, to: &SqlType, env: &dyn Environment) -> Option<u32> {
    let lookup = env.lookup();
    match to {
        SqlType::Regclass => lookup.relation_oid(name),
        SqlType::Regtype => type_named(name).map(|ty| ty.oid()),
        SqlType::Regnamespace => {
            let parts = split_identifier(name)?;
            lookup.schema_oid(parts.first().filter(|_| parts.len() == 1)?)
        }
        SqlType::Regrole => {
            let parts = split_identifier(name)?;
            lookup.role_oid(parts.first().filter(|_| parts.len() == 1)?)
        }
        SqlType::Regproc => {
            let name = last_part(name)?;
            has_function(&name).then(|| function_oid(&name))
        }
        _ => None,
    }
}

/// A type's name with or without a modifier, an array or not.
fn type_named(name: &str) -> Option<SqlType> {
    let plain = match (name.find('('), name.find(')')) {
        (Some(open), Some(close)) if open < close => {
            format!("{}{}", name[..open].trim_end(), &name[close + 1..])
        }
        _ => name.to_owned(),
    };
    SqlType::from_name(&plain).or_else(|| {
        let quoted = plain.trim().strip_prefix('"')?.strip_suffix('"')?;
        SqlType::from_name(quoted)
    })
}

fn unknown_name(name: &str, to: &SqlType) -> Error {
    let (state, what) = match to {
        SqlType::Regclass => (SqlState::UndefinedTable, "relation"),
        SqlType::Regtype => (SqlState::UndefinedObject, "type"),
        SqlType::Regnamespace => (SqlState::InvalidSchemaName, "schema"),
        SqlType::Regrole => (SqlState::UndefinedObject, "role"),
        _ => (SqlState::UndefinedFunction, "function"),
    };
    let shown = match split_identifier(name) {
        Some(parts) => parts.join("."),
        None => name.to_owned(),
    };
    Error::new(state, format!("{what} \"{shown}\" does not exist"))
}

fn parse_name(name: &str, to: &SqlType, env: &dyn Environment) -> Result<Datum> {
    let trimmed = name.trim();
    if trimmed == "-" {
        return Ok(Datum::Int(0));
    }
    if !trimmed.is_empty() && trimmed.bytes().all(|byte| byte.is_ascii_digit()) {
        let oid: u32 = trimmed.parse().map_err(|_| {
            let message = format!("value \"{trimmed}\" is out of range for type oid");
            Error::new(SqlState::NumericValueOutOfRange, message)
        })?;
        return Ok(Datum::Int(oid.into()));
    }
    if trimmed.is_empty() || (split_identifier(trimmed).is_none() && *to != SqlType::Regtype) {
        return Err(Error::new(SqlState::InvalidName, "invalid name syntax"));
    }
    let found = lookup_name(trimmed, to, env).ok_or_else(|| unknown_name(trimmed, to))?;
    Ok(Datum::Int(found.into()))
}

/// How an oid of a `reg*` type prints: as a name, or as a number if there is none.
pub(crate) fn print_name(oid: i64, from: &SqlType, env: &dyn Environment) -> String {
    if oid == 0 {
        return "-".to_owned();
    }
    let lookup = env.lookup();
    let oid = u32::try_from(oid).unwrap_or(0);
    let name = match from {
        SqlType::Regclass => lookup.relation_name(oid),
        SqlType::Regtype => SqlType::from_oid(oid).map(|ty| ty.plain_name().to_owned()),
        SqlType::Regnamespace => lookup.schema_name(oid).map(|name| quote_identifier(&name)),
        SqlType::Regrole => lookup.role_name(oid).map(|name| quote_identifier(&name)),
        SqlType::Regproc => function_name(oid).map(quote_identifier),
        _ => None,
    };
    name.unwrap_or_else(|| oid.to_string())
}

fn to_text(datum: &Datum, from: &SqlType, env: &dyn Environment) -> Datum {
    match (from, datum) {
        (SqlType::Array(element), Datum::Array(array)) => {
            let items = array.items.iter().map(|item| to_text(item, element, env)).collect();
            Datum::array(SqlType::Text, items)
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
        return Ok(Datum::array(to.as_ref().clone(), items));
    }
    let is_text = |ty: &SqlType| ty.is_string() || matches!(ty, SqlType::Unknown);
    if to.is_reg() && is_text(from) {
        return parse_name(datum.as_str().unwrap_or_default(), to, env);
    }
    let from_reg = from.is_reg() || from.element().is_some_and(SqlType::is_reg);
    if from_reg && is_text(to) {
        return Ok(to_text(datum, from, env));
    }
    // What is left is a number under another name.
    let plain = |ty: &SqlType| if ty.is_reg() { SqlType::Oid } else { ty.clone() };
    let cast_env = CastEnv { settings: env.settings(), now_micros: env.transaction_micros() };
    cast::cast(datum, &plain(from), &plain(to), true, &cast_env)
}

/// Whether a cast between these types looks names up in the catalog ([`cast_reg`] does it).
pub fn is_reg_cast(from: &SqlType, to: &SqlType) -> bool {
    fn is_reg(ty: &SqlType) -> bool {
        match ty {
            SqlType::Regclass
            | SqlType::Regtype
            | SqlType::Regproc
            | SqlType::Regnamespace
            | SqlType::Regrole => true,
            SqlType::Array(element) => is_reg(element),
            _ => false,
        }
    }
    (is_reg(from) && to.is_string())
        || (is_reg(to) && (from.is_string() || *from == SqlType::Unknown))
}
