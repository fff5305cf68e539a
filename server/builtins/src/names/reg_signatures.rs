//! Functions and operators by name and arguments: `regprocedure`, `regoper`, `regoperator`; and
//! collations by name.

use braid_types::collation::{built_in_name, built_in_oid};
use braid_types::{Error, Result, SqlState};

use super::procedures::{Operator, Procedure, arg_oid, operators, procedure, procedures};
use super::reg::last_part;
use super::type_names::{type_name, type_oid, unknown_type};
use crate::strings::split_identifier;
use crate::{Environment, Lookup};

fn malformed(message: &str) -> Error {
    Error::new(SqlState::InvalidTextRepresentation, message)
}

/// `name(type, type)` in parts; the types by number, 0 for `none`.
fn signature(text: &str, lookup: &dyn Lookup) -> Result<(String, Vec<u32>)> {
    let open = text.find('(').ok_or_else(|| malformed("expected a left parenthesis"))?;
    let inside = text[open + 1..].trim_end().strip_suffix(')');
    let inside = inside.ok_or_else(|| malformed("expected a right parenthesis"))?;
    let mut types = Vec::new();
    let words = if inside.trim().is_empty() { Vec::new() } else { inside.split(',').collect() };
    for word in words {
        types.push(match word.trim() {
            none if none.eq_ignore_ascii_case("none") => 0,
            name => type_oid(name, lookup)?.ok_or_else(|| unknown_type(name))?,
        });
    }
    Ok((text[..open].trim().to_owned(), types))
}

/// An operator's name without `pg_catalog.` before it.
fn operator_name(text: &str) -> &str {
    text.strip_prefix("pg_catalog.").unwrap_or(text)
}

/// The function of a name and arguments.
pub(crate) fn regprocedure(text: &str, env: &dyn Environment) -> Result<Option<u32>> {
    let (name, types) = signature(text, env.lookup())?;
    let of_user = || {
        let parts = split_identifier(&name)?;
        let named = env.lookup().routines_named(&parts);
        named.into_iter().find(|(_, known)| *known == types).map(|(oid, _)| oid)
    };
    let Some(last) = last_part(&name) else { return Ok(of_user()) };
    let same = |procedure: &&Procedure| {
        procedure.name == last && procedure.args.iter().map(arg_oid).eq(types.iter().copied())
    };
    let built_in = procedures().iter().find(same).map(|procedure| procedure.oid);
    Ok(built_in.or_else(of_user))
}

/// The operator of a name and arguments.
pub(crate) fn regoperator(text: &str, env: &dyn Environment) -> Result<Option<u32>> {
    let (name, types) = signature(text, env.lookup())?;
    let [left, right] = types[..] else {
        let error = if types.len() < 2 { "missing argument" } else { "too many arguments" };
        let code = SqlState::UndefinedParameter;
        return Err(Error::new(code, error)
            .hint("Use NONE to denote the missing argument of a unary operator."));
    };
    let name = operator_name(&name);
    let same = |found: &&Operator| found.name == name && found.left == left && found.right == right;
    Ok(operators().iter().find(same).map(|operator| operator.oid))
}

/// The only operator of a name; 42725 if there are several.
pub(crate) fn regoper(text: &str) -> Result<Option<u32>> {
    let name = operator_name(text.trim());
    let mut found = operators().iter().filter(|operator| operator.name == name);
    let first = found.next();
    if found.next().is_some() {
        let message = format!("more than one operator named {name}");
        return Err(Error::new(SqlState::AmbiguousFunction, message));
    }
    Ok(first.map(|operator| operator.oid))
}

/// The collation of a name.
pub(crate) fn regcollation(text: &str) -> Option<u32> {
    built_in_oid(&last_part(text)?)
}

/// A collation's name.
pub(crate) fn collation_name(oid: u32) -> Option<String> {
    built_in_name(oid)
}

fn shown_type(oid: u32, lookup: &dyn Lookup) -> String {
    if oid == 0 {
        return "NONE".to_owned();
    }
    type_name(oid, lookup).unwrap_or_else(|| "???".to_owned())
}

/// A function with its arguments.
pub(crate) fn procedure_signature(oid: u32, lookup: &dyn Lookup) -> Option<String> {
    let Some(procedure) = procedure(oid) else {
        return lookup.routine(oid).map(|found| found.signature);
    };
    let types: Vec<String> =
        procedure.args.iter().map(|arg| shown_type(arg_oid(arg), lookup)).collect();
    Some(format!("{}({})", procedure.name, types.join(",")))
}

/// An operator with its arguments.
pub(crate) fn operator_signature(oid: u32, lookup: &dyn Lookup) -> Option<String> {
    let found = operators().iter().find(|operator| operator.oid == oid)?;
    let (left, right) = (shown_type(found.left, lookup), shown_type(found.right, lookup));
    Some(format!("{}({left},{right})", found.name))
}

/// An operator's name, with its schema if several have it.
pub(crate) fn operator_alone(oid: u32) -> Option<String> {
    let found = operators().iter().find(|operator| operator.oid == oid)?;
    let several = operators().iter().filter(|other| other.name == found.name).count() > 1;
    let schema = if several { "pg_catalog." } else { "" };
    Some(format!("{schema}{}", found.name))
}
