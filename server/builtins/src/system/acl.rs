//! Privileges as values: `acldefault`, `aclexplode`, `makeaclitem`, `aclcontains`.
//!
//! Here: the form of an `aclitem` taken apart and put together. Not here: which privileges an
//! object has, and whether a role may use them; the catalog knows that.

use braid_types::text::{AclParts, acl_role, split_aclitem};
use braid_types::{Datum, Error, Result, Row, SqlState, SqlType};

use crate::registry::call::text;
use crate::registry::tables::Registry;
use crate::{Call, Rows};

/// The letters of privileges with their names, in the order in which an ACL lists them.
const PRIVILEGES: [(char, &str); 14] = [
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
];

/// What everybody and what the owner may do with a new object of a kind, as letters.
fn default_letters(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "p" => ("", "sA"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        _ => return None,
    })
}

/// A role as an `aclitem` names it: an unknown one by its number.
fn role(call: &Call<'_>, oid: i64) -> String {
    let known = u32::try_from(oid).ok().and_then(|oid| call.env.lookup().role_name(oid));
    known.map_or_else(|| oid.to_string(), |name| acl_role(&name))
}

fn items(items: Vec<Datum>) -> Datum {
    Datum::array(SqlType::Aclitem, items)
}

fn acl_default(call: &Call<'_>) -> Result<Datum> {
    let kind = call.text(0)?;
    let Some((all, own)) = default_letters(kind) else {
        let message = format!("unrecognized objtype abbreviation: {kind}");
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    };
    let owner = role(call, call.int(1)?);
    let mut acl = Vec::new();
    if !all.is_empty() {
        acl.push(Datum::text(format!("={all}/{owner}")));
    }
    if !own.is_empty() {
        acl.push(Datum::text(format!("{owner}={own}/{owner}")));
    }
    Ok(items(acl))
}

fn make_item(call: &Call<'_>) -> Result<Datum> {
    let (grantee, grantor) = (call.int(0)?, call.int(1)?);
    let option = call.bool(3)?;
    let word = call.text(2)?;
    let upper = word.to_uppercase();
    let upper = if upper == "TEMP" { "TEMPORARY" } else { &upper };
    let found = PRIVILEGES.iter().find(|(_, name)| *name == upper);
    let (letter, _) = found.ok_or_else(|| {
        let message = format!("unrecognized privilege type: \"{word}\"");
        Error::new(SqlState::InvalidParameterValue, message)
    })?;
    let letters = format!("{letter}{}", if option { "*" } else { "" });
    let grantee = if grantee == 0 { String::new() } else { role(call, grantee) };
    text(format!("{grantee}={letters}/{}", role(call, grantor)))
}

/// The oid of a role that an `aclitem` names.
fn oid_of(call: &Call<'_>, name: &str) -> Datum {
    let known = call.env.lookup().role_oid(name).map(i64::from);
    Datum::Int(known.or_else(|| name.parse().ok()).unwrap_or(0))
}

/// The privileges of an item: the letter and whether it may be passed on.
fn granted<'a>(parts: &'a AclParts) -> impl Iterator<Item = (char, bool)> + 'a {
    let letters: Vec<char> = parts.letters.chars().collect();
    let options = letters.clone().into_iter().skip(1).chain([' ']);
    let pairs: Vec<(char, char)> = letters.into_iter().zip(options).collect();
    pairs.into_iter().filter(|(letter, _)| *letter != '*').map(|(a, b)| (a, b == '*'))
}

/// The items of an ACL, which is the first argument.
fn parts_of(call: &Call<'_>) -> Result<Vec<AclParts>> {
    let Datum::Array(acl) = call.datum(0) else { return Ok(Vec::new()) };
    if acl.items.is_empty() {
        let message = "ACL arrays must be one-dimensional";
        return Err(Error::new(SqlState::InvalidParameterValue, message));
    }
    let part = |item: &Datum| match item {
        Datum::Text(item) => split_aclitem(item),
        _ => {
            let message = "ACL arrays must not contain null values";
            Err(Error::new(SqlState::NullValueNotAllowed, message))
        }
    };
    acl.items.iter().map(part).collect()
}

fn explode(call: &Call<'_>) -> Result<Rows> {
    let mut rows: Vec<Result<Row>> = Vec::new();
    for parts in parts_of(call)? {
        let (grantor, grantee) = (oid_of(call, &parts.grantor), oid_of(call, &parts.grantee));
        for (letter, option) in granted(&parts) {
            let name = PRIVILEGES.iter().find(|(known, _)| *known == letter);
            let name = name.map_or("", |(_, name)| name);
            let (grantor, grantee) = (grantor.clone(), grantee.clone());
            let row = vec![grantor, grantee, Datum::text(name), Datum::Bool(option)];
            rows.push(Ok(row));
        }
    }
    Ok(Box::new(rows.into_iter()))
}

/// Whether an ACL has an item of the same roles with all of these privileges.
fn contains(call: &Call<'_>) -> Result<Datum> {
    let wanted = split_aclitem(call.text(1)?)?;
    for item in parts_of(call)? {
        let same = item.grantee == wanted.grantee && item.grantor == wanted.grantor;
        let has = |(letter, option): (char, bool)| {
            granted(&item).any(|(known, may_pass)| known == letter && (may_pass || !option))
        };
        if same && granted(&wanted).all(has) {
            return Ok(Datum::Bool(true));
        }
    }
    Ok(Datum::Bool(false))
}

pub(super) fn register(registry: &mut Registry) {
    registry.add("acldefault(\"char\", oid) -> aclitem[] stable", acl_default);
    registry.add("makeaclitem(oid, oid, text, bool) -> aclitem stable", make_item);
    registry.add("aclcontains(aclitem[], aclitem) -> bool stable", contains);
    registry.set(
        "aclexplode(aclitem[]) -> grantor oid, grantee oid, privilege_type text, is_grantable bool",
        explode,
    );
}
