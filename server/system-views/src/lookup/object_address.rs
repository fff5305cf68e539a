//! Which object a kind and names mean: for `pg_get_object_address`.
//!
//! It knows relations and their columns, constraints, triggers, policies and defaults, and what is
//! named by one word. Other kinds are 0A000.

use braid_catalog::{
    Collations, EXTENSIONS, Id, Language, Relation, StatisticsObjects, Table, undefined_relation,
    virtual_schema,
};
use braid_types::collation::built_in_oid;
use braid_types::{Error, Result, SqlState};

use crate::lookup::CatalogLookup;
use crate::pg_catalog::attributes::{DefaultRow, defaults};
use crate::pg_catalog::constraints::key_constraints;

/// A catalog, a number in it, and the number of a column.
type Address = (u32, Id, i32);

const PG_CLASS: u32 = 1259;
const PG_AUTHID: u32 = 1260;
const PG_DATABASE: u32 = 1262;
const PG_TABLESPACE: u32 = 1213;
const PG_EXTENSION: u32 = 3079;
const PG_LANGUAGE: u32 = 2612;
const PG_AM: u32 = 2601;
const PG_ATTRDEF: u32 = 2604;
const PG_CONSTRAINT: u32 = 2606;
const PG_NAMESPACE: u32 = 2615;
const PG_TRIGGER: u32 = 2620;
const PG_POLICY: u32 = 3256;
const PG_STATISTIC_EXT: u32 = 3381;
const PG_COLLATION: u32 = 3456;

/// The access methods with their numbers.
const ACCESS_METHODS: &[(&str, Id)] = &[
    ("heap", 2),
    ("btree", 403),
    ("hash", 405),
    ("gist", 783),
    ("gin", 2742),
    ("spgist", 4000),
    ("brin", 3580),
];

/// The languages with their numbers.
const LANGUAGES: &[(&str, Id)] = &[("internal", 12), ("c", 13), ("sql", 14)];

/// The tablespaces with their numbers.
const TABLESPACES: &[(&str, Id)] = &[("pg_default", 1663), ("pg_global", 1664)];

/// 42704 for an object that does not exist.
fn undefined(message: String) -> Error {
    Error::new(SqlState::UndefinedObject, message)
}

pub(super) fn object_address(
    lookup: &CatalogLookup,
    kind: &str,
    names: &[String],
) -> Result<Address> {
    let [name, ..] = names else { return Err(Error::broken("an object without a name")) };
    match kind {
        "table" | "index" | "sequence" | "view" | "materialized view" | "foreign table" => {
            relation(lookup, kind, names)
        }
        "table column" | "default value" => column(lookup, kind, names),
        "table constraint" | "trigger" | "policy" => part(lookup, kind, names),
        "schema" => {
            let own = lookup.catalog.names().schema(lookup.path.database, name);
            let found = virtual_schema(name).or_else(|| own.map(|schema| schema.id));
            found.map(|oid| (PG_NAMESPACE, oid, 0)).ok_or_else(|| {
                let message = format!("schema \"{name}\" does not exist");
                Error::new(SqlState::InvalidSchemaName, message)
            })
        }
        "database" => {
            let found = lookup.catalog.names().database(name);
            found.map(|found| (PG_DATABASE, found.id, 0)).ok_or_else(|| {
                let message = format!("database \"{name}\" does not exist");
                Error::new(SqlState::InvalidCatalogName, message)
            })
        }
        "role" => {
            let found = lookup.catalog.names().role(name).map(|found| (PG_AUTHID, found.id, 0));
            found.ok_or_else(|| undefined(format!("role \"{name}\" does not exist")))
        }
        "language" if *name == Language::Plpgsql.name() => {
            Ok((PG_LANGUAGE, Language::Plpgsql.oid(), 0))
        }
        "access method" | "tablespace" | "language" => {
            let (catalog, list) = match kind {
                "tablespace" => (PG_TABLESPACE, TABLESPACES),
                "language" => (PG_LANGUAGE, LANGUAGES),
                _ => (PG_AM, ACCESS_METHODS),
            };
            let found = list.iter().find(|(known, _)| known == name);
            let found = found.map(|(_, oid)| (catalog, *oid, 0));
            found.ok_or_else(|| undefined(format!("{kind} \"{name}\" does not exist")))
        }
        "extension" => {
            let found = EXTENSIONS.iter().find(|known| known.name == *name);
            let found = found.map(|known| (PG_EXTENSION, known.oid, 0));
            found.ok_or_else(|| undefined(format!("{kind} \"{name}\" does not exist")))
        }
        "collation" => collation(lookup, names),
        "statistics object" => {
            let objects = StatisticsObjects::of(&lookup.catalog);
            let found = objects.resolve(&lookup.path, names)?;
            let found = found.map(|(_, object)| (PG_STATISTIC_EXT, object.id, 0));
            let shown = names.join(".");
            found.ok_or_else(|| undefined(format!("{kind} \"{shown}\" does not exist")))
        }
        // Users cannot make any.
        "foreign-data wrapper" | "server" | "event trigger" | "publication" | "subscription" => {
            Err(undefined(format!("{kind} \"{name}\" does not exist")))
        }
        _ => Err(Error::unsupported(format_args!("pg_get_object_address of a {kind}"))),
    }
}

/// The relation that names mean; 42P01 if there is none.
fn named(lookup: &CatalogLookup, names: &[String]) -> Result<Relation> {
    let found = lookup.catalog.names().resolve(&lookup.path, names)?;
    found.ok_or_else(|| undefined_relation(names))
}

fn relation(lookup: &CatalogLookup, kind: &str, names: &[String]) -> Result<Address> {
    let found = named(lookup, names)?;
    if found.kind() != kind {
        let article = if kind == "index" { "an" } else { "a" };
        let message = format!("\"{}\" is not {article} {kind}", found.name());
        return Err(Error::new(SqlState::WrongObjectType, message));
    }
    Ok((PG_CLASS, found.oid(), 0))
}

/// A column of a table, or its default.
fn column(lookup: &CatalogLookup, kind: &str, names: &[String]) -> Result<Address> {
    let Some((column, of @ [_, ..])) = names.split_last() else {
        return Err(Error::new(SqlState::SyntaxError, "column name must be qualified"));
    };
    let found = named(lookup, of)?;
    let numbered = match &found {
        Relation::Table(table) => {
            let place = table.visible_columns().find(|known| known.name == *column);
            place.map(|known| i32::from(known.id))
        }
        Relation::Virtual(table) => {
            let place = table.columns.iter().position(|(known, _)| known == column);
            place.and_then(|place| i32::try_from(place + 1).ok())
        }
        _ => None,
    };
    let shown = of.join(".");
    let number = numbered.ok_or_else(|| {
        let message = format!("column \"{column}\" of relation \"{shown}\" does not exist");
        Error::new(SqlState::UndefinedColumn, message)
    })?;
    if kind == "table column" {
        return Ok((PG_CLASS, found.oid(), number));
    }
    let all = defaults(&lookup.catalog, lookup.path.database);
    let is_it = |row: &&DefaultRow<'_>| row.table.id == found.oid() && row.column.name == *column;
    let found = all.iter().find(is_it).map(|row| (PG_ATTRDEF, row.oid, 0));
    found.ok_or_else(|| {
        let message =
            format!("default value for column \"{column}\" of relation \"{shown}\" does not exist");
        Error::new(SqlState::UndefinedColumn, message)
    })
}

/// A constraint, trigger or policy of a table.
fn part(lookup: &CatalogLookup, kind: &str, names: &[String]) -> Result<Address> {
    let Some((name, of @ [_, ..])) = names.split_last() else {
        return Err(Error::new(SqlState::SyntaxError, "must specify relation and object name"));
    };
    let found = named(lookup, of)?;
    let missing = |kind: &str, joint: &str| {
        undefined(format!("{kind} \"{name}\" for {joint} \"{}\" does not exist", found.name()))
    };
    let Relation::Table(table) = &found else { return Err(missing(kind, "table")) };
    match kind {
        "table constraint" => {
            let oid = constraint(table, name);
            oid.map(|oid| (PG_CONSTRAINT, oid, 0)).ok_or_else(|| missing("constraint", "table"))
        }
        "trigger" => {
            let trigger = table.triggers.iter().find(|trigger| trigger.name == *name);
            trigger.map(|found| (PG_TRIGGER, found.id, 0)).ok_or_else(|| missing(kind, "table"))
        }
        _ => {
            let policy = table.security.policies.iter().find(|policy| policy.name == *name);
            policy.map(|found| (PG_POLICY, found.id, 0)).ok_or_else(|| missing(kind, "table"))
        }
    }
}

fn constraint(table: &Table, name: &str) -> Option<Id> {
    let key = key_constraints(table).find(|(_, index)| index.name == name).map(|(oid, _)| oid);
    let check = || table.checks.iter().find(|check| check.name == name).map(|check| check.id);
    let foreign = || table.foreign_keys.iter().find(|key| key.name == name).map(|key| key.id);
    key.or_else(check).or_else(foreign)
}

fn collation(lookup: &CatalogLookup, names: &[String]) -> Result<Address> {
    let built_in = match names {
        [name] => built_in_oid(name),
        [schema, name] if schema == "pg_catalog" => built_in_oid(name),
        _ => None,
    };
    let own = || Collations::of(&lookup.catalog).resolve(&lookup.path, names);
    let oid = match built_in {
        Some(oid) => Some(oid),
        None => own()?.map(|found| found.id),
    };
    let shown = names.join(".");
    oid.map(|oid| (PG_COLLATION, oid, 0)).ok_or_else(|| {
        undefined(format!("collation \"{shown}\" for encoding \"UTF8\" does not exist"))
    })
}
