//! The `has_…_privilege` functions, with and without a role before the object.
//!
//! Languages, tablespaces and foreign servers have no privileges: everybody may use them.

use braid_types::{Datum, Error, Result, SqlState, SqlType};

use crate::registry::call::cast_any;
use crate::registry::tables::Registry;
use crate::{Call, PrivilegedKind};

/// The role asked for, and where the object's argument stands.
fn role(call: &Call<'_>, object_args: usize) -> Result<Option<(String, usize)>> {
    if call.args.len() == object_args {
        return Ok(Some((call.env.current_user().to_owned(), 0)));
    }
    let lookup = call.env.lookup();
    match call.datum(0) {
        Datum::Text(name) if name.as_ref() == "public" || lookup.role_oid(name).is_some() => {
            Ok(Some((name.to_string(), 1)))
        }
        Datum::Text(name) => {
            let message = format!("role \"{name}\" does not exist");
            Err(Error::new(SqlState::UndefinedObject, message))
        }
        Datum::Int(oid) => {
            Ok(lookup.role_name(u32::try_from(*oid).unwrap_or(0)).map(|name| (name, 1)))
        }
        _ => Ok(None),
    }
}

/// The relation's oid; an unknown name is 42P01.
fn relation(call: &Call<'_>, index: usize) -> Result<u32> {
    let oid = match call.datum(index) {
        Datum::Text(_) => {
            cast_any(call.datum(index), &SqlType::Text, &SqlType::Regclass, call.env)?
        }
        other => other.clone(),
    };
    Ok(u32::try_from(oid.as_int().unwrap_or(0)).unwrap_or(0))
}

/// A column, by its name or number; any column without one.
fn on_column(
    call: &Call<'_>,
    role: &str,
    (oid, column): (u32, Option<&Datum>),
    privileges: &str,
) -> Result<Datum> {
    let lookup = call.env.lookup();
    let Some(relation) = lookup.relation_name(oid) else { return Ok(Datum::Null) };
    let column = match column {
        None => None,
        Some(Datum::Text(name)) => Some(lookup.column_number(oid, name).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
            Error::new(SqlState::UndefinedColumn, message)
        })?),
        Some(number) => Some(i16::try_from(number.as_int().unwrap_or(0)).unwrap_or(0)),
    };
    let mut answer = Datum::Bool(false);
    for written in privileges.split(',').map(str::trim) {
        let privilege = written.to_uppercase();
        let plain = privilege.strip_suffix(" WITH GRANT OPTION").unwrap_or(&privilege);
        if !["SELECT", "INSERT", "UPDATE", "REFERENCES"].contains(&plain) {
            let message = format!("unrecognized privilege type: \"{written}\"");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
        match lookup.has_column_privilege(role, (oid, column), &privilege)? {
            Some(true) => return Ok(Datum::Bool(true)),
            Some(false) => {}
            None => answer = Datum::Null,
        }
    }
    Ok(answer)
}

fn any_column(call: &Call<'_>) -> Result<Datum> {
    let Some((role, at)) = role(call, 2)? else { return Ok(Datum::Null) };
    on_column(call, &role, (relation(call, at)?, None), call.text(at + 1)?)
}

fn on_relation(call: &Call<'_>, role: &str, oid: u32, privileges: &str) -> Result<Datum> {
    let lookup = call.env.lookup();
    if lookup.relation_name(oid).is_none() {
        return Ok(Datum::Null);
    }
    // A list of privileges asks for any of them.
    for privilege in privileges.split(',') {
        let privilege = privilege.trim().to_uppercase();
        if lookup.has_table_privilege(role, oid, &privilege)? {
            return Ok(Datum::Bool(true));
        }
    }
    Ok(Datum::Bool(false))
}

fn table(call: &Call<'_>) -> Result<Datum> {
    let Some((role, at)) = role(call, 2)? else { return Ok(Datum::Null) };
    on_relation(call, &role, relation(call, at)?, call.text(at + 1)?)
}

/// 42809 for a relation that is no sequence, 22023 for a privilege that sequences do not have.
fn sequence(call: &Call<'_>) -> Result<Datum> {
    let Some((role, at)) = role(call, 2)? else { return Ok(Datum::Null) };
    let (oid, privileges) = (relation(call, at)?, call.text(at + 1)?);
    let lookup = call.env.lookup();
    for written in privileges.split(',').map(str::trim) {
        let upper = written.to_uppercase();
        let plain = upper.strip_suffix(" WITH GRANT OPTION").unwrap_or(&upper);
        if !["SELECT", "UPDATE", "USAGE"].contains(&plain) {
            let message = format!("unrecognized privilege type: \"{written}\"");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    }
    if let Some(name) = lookup.relation_name(oid)
        && !lookup.is_sequence(oid)
    {
        let message = format!("\"{name}\" is not a sequence");
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    on_relation(call, &role, oid, privileges)
}

fn column(call: &Call<'_>) -> Result<Datum> {
    let Some((role, at)) = role(call, 3)? else { return Ok(Datum::Null) };
    let column = Some(call.datum(at + 1));
    on_column(call, &role, (relation(call, at)?, column), call.text(at + 2)?)
}

fn missing(state: SqlState, what: &str, name: &str) -> Error {
    Error::new(state, format!("{what} \"{name}\" does not exist"))
}

/// The number of an object that is given by name or by number.
fn object(call: &Call<'_>, at: usize, kind: PrivilegedKind) -> Result<u32> {
    let lookup = call.env.lookup();
    let cast = |ty: &SqlType| {
        let oid = cast_any(call.datum(at), &SqlType::Text, ty, call.env)?;
        Ok(u32::try_from(oid.as_int().unwrap_or(0)).unwrap_or(0))
    };
    match (call.datum(at), kind) {
        (Datum::Text(name), PrivilegedKind::Schema) => lookup
            .schema_oid(name)
            .ok_or_else(|| missing(SqlState::InvalidSchemaName, "schema", name)),
        (Datum::Text(name), PrivilegedKind::Database) => lookup
            .database_oid(name)
            .ok_or_else(|| missing(SqlState::InvalidCatalogName, "database", name)),
        (Datum::Text(_), PrivilegedKind::Routine) => cast(&SqlType::Regprocedure),
        (Datum::Text(_), PrivilegedKind::Type) => cast(&SqlType::Regtype),
        (oid, _) => Ok(u32::try_from(oid.as_int().unwrap_or(0)).unwrap_or(0)),
    }
}

fn on_object(call: &Call<'_>, kind: PrivilegedKind) -> Result<Datum> {
    let Some((role, at)) = role(call, 2)? else { return Ok(Datum::Null) };
    let oid = object(call, at, kind)?;
    let answer = call.env.lookup().has_object_privilege(&role, (kind, oid), call.text(at + 1)?)?;
    Ok(answer.map_or(Datum::Null, Datum::Bool))
}

fn anything(call: &Call<'_>) -> Result<Datum> {
    let known = role(call, 2)?.is_some();
    Ok(if known { Datum::Bool(true) } else { Datum::Null })
}

/// Membership: every role is a member of itself, and the session sees what is there.
fn has_role(call: &Call<'_>) -> Result<Datum> {
    let Some((member, at)) = role(call, 2)? else { return Ok(Datum::Null) };
    let lookup = call.env.lookup();
    let wanted = match call.datum(at) {
        Datum::Int(oid) => lookup.role_name(u32::try_from(*oid).unwrap_or(0)),
        other => other.as_str().map(str::to_owned),
    };
    let Some(wanted) = wanted else { return Ok(Datum::Null) };
    if lookup.role_oid(&wanted).is_none() {
        return Err(missing(SqlState::UndefinedObject, "role", &wanted));
    }
    let mut answer = false;
    for written in call.text(at + 1)?.split(',').map(str::trim) {
        let kind = written.to_uppercase();
        let option = [" WITH GRANT OPTION", " WITH ADMIN OPTION"];
        let plain = option.iter().find_map(|option| kind.strip_suffix(option));
        answer |= match plain.unwrap_or(&kind) {
            "MEMBER" | "USAGE" if plain.is_some() => lookup.is_admin(&member, &wanted),
            "MEMBER" => lookup.is_member(&member, &wanted),
            "USAGE" => lookup.acts_as(&member, &wanted),
            _ => {
                let message = format!("unrecognized privilege type: \"{written}\"");
                return Err(Error::new(SqlState::InvalidParameterValue, message));
            }
        };
    }
    Ok(Datum::Bool(answer))
}

/// Settings: a superuser may change each one, other users have no privileges of their own.
fn on_setting(call: &Call<'_>) -> Result<Datum> {
    let Some((role, at)) = role(call, 2)? else { return Ok(Datum::Null) };
    for written in call.text(at + 1)?.split(',').map(str::trim) {
        let kind = written.to_uppercase();
        let plain = kind.strip_suffix(" WITH GRANT OPTION").unwrap_or(&kind);
        if !matches!(plain, "SET" | "ALTER SYSTEM") {
            let message = format!("unrecognized privilege type: \"{written}\"");
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    }
    Ok(Datum::Bool(call.env.lookup().is_superuser(&role)))
}

/// Whether policies hide rows of a table from the user.
fn row_security_active(call: &Call<'_>) -> Result<Datum> {
    let relation = relation(call, 0)?;
    let holds = call.env.lookup().are_policies_for(call.env.current_user(), relation);
    Ok(Datum::Bool(holds))
}

pub(super) fn register(registry: &mut Registry) {
    macro_rules! privilege {
        ($names:literal, $check:expr, $($middle:literal),*) => {
            $(
                registry.add(concat!($names, "(", $middle, ", text) -> bool stable"), $check);
                registry.add(concat!($names, "(name, ", $middle, ", text) -> bool stable"), $check);
                registry.add(concat!($names, "(oid, ", $middle, ", text) -> bool stable"), $check);
            )*
        };
    }
    privilege!("has_table_privilege", table, "text", "oid");
    privilege!("has_sequence_privilege", sequence, "text", "oid");
    privilege!("has_any_column_privilege", any_column, "text", "oid");
    privilege!(
        "has_column_privilege",
        column,
        "text, text",
        "text, int2",
        "oid, text",
        "oid, int2"
    );
    privilege!("has_schema_privilege", |c| on_object(c, PrivilegedKind::Schema), "text", "oid");
    privilege!("has_database_privilege", |c| on_object(c, PrivilegedKind::Database), "text", "oid");
    privilege!("has_function_privilege", |c| on_object(c, PrivilegedKind::Routine), "text", "oid");
    privilege!("has_type_privilege", |c| on_object(c, PrivilegedKind::Type), "text", "oid");
    privilege!(
        "has_language_privilege|has_tablespace_privilege|has_server_privilege|\
         has_foreign_data_wrapper_privilege",
        anything,
        "text",
        "oid"
    );
    privilege!("has_parameter_privilege", on_setting, "text");
    privilege!("pg_has_role", has_role, "name", "oid");
    registry.add("row_security_active(oid) -> bool stable", row_security_active);
    registry.add("row_security_active(text) -> bool stable", row_security_active);
}
