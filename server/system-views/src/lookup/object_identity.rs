//! What an object of a catalog is called: for `pg_identify_object` and `pg_describe_object`.
//!
//! The identity is qualified always; the description only where the search path does not find the
//! object.

use braid_builtins::{Lookup, ObjectIdentity, row_array_type, row_type};
use braid_sql::quote_ident;

use crate::lookup::CatalogLookup;
use crate::pg_catalog::attributes::{DefaultRow, defaults};
use crate::pg_catalog::constraints::key_constraints;
use braid_catalog::names::qualified;
use braid_catalog::{Id, Relation, StatisticsObjects, Table};

/// The oids of the catalogs whose objects have a name here.
const PG_TYPE: u32 = 1247;
const PG_PROC: u32 = 1255;
const PG_CLASS: u32 = 1259;
const PG_AUTHID: u32 = 1260;
const PG_DATABASE: u32 = 1262;
const PG_ATTRDEF: u32 = 2604;
const PG_CONSTRAINT: u32 = 2606;
const PG_NAMESPACE: u32 = 2615;
const PG_REWRITE: u32 = 2618;
const PG_TRIGGER: u32 = 2620;
const PG_STATISTIC_EXT: u32 = 3381;

/// The row types of relations have numbers from here on.
const FIRST_ROW_TYPE: u32 = row_type(0);
const FIRST_ROW_ARRAY_TYPE: u32 = row_array_type(0);

/// The object of a catalog with that number; `column` 0 is the object itself.
pub(crate) fn object_identity(
    lookup: &CatalogLookup,
    catalog: u32,
    oid: Id,
    column: i32,
) -> Option<ObjectIdentity> {
    match catalog {
        PG_CLASS => relation(lookup, oid, column),
        PG_TYPE => data_type(lookup, oid),
        PG_CONSTRAINT => constraint(lookup, oid),
        PG_ATTRDEF => default(lookup, oid),
        PG_REWRITE => rule(lookup, oid),
        PG_TRIGGER => trigger(lookup, oid),
        PG_PROC => routine(lookup, oid),
        PG_STATISTIC_EXT => statistics(lookup, oid),
        PG_NAMESPACE => Some(global("schema", lookup.schema_name(oid)?)),
        PG_AUTHID => Some(global("role", lookup.role_name(oid)?)),
        PG_DATABASE => Some(global("database", lookup.database_name(oid)?)),
        _ => None,
    }
}

/// An object outside of schemas.
fn global(kind: &str, name: String) -> ObjectIdentity {
    let quoted = quote_ident(&name);
    ObjectIdentity {
        kind: kind.to_owned(),
        schema: None,
        name: Some(quoted.clone()),
        identity: quoted,
        description: format!("{kind} {name}"),
    }
}

/// `table books`, by the name that a session writes.
fn described(lookup: &CatalogLookup, relation: &Relation) -> String {
    let name = lookup.relation_name(relation.oid()).unwrap_or_default();
    format!("{} {name}", relation.kind())
}

/// `public.books`.
fn identified(lookup: &CatalogLookup, relation: &Relation) -> String {
    qualified(&relation.schema_name(&lookup.catalog), relation.name())
}

fn column_name(relation: &Relation, column: i32) -> Option<String> {
    let place = usize::try_from(column).ok()?.checked_sub(1)?;
    match relation {
        Relation::Table(table) => {
            table.column(u16::try_from(column).ok()?).map(|column| column.name.clone())
        }
        Relation::Composite(found) => {
            let mut columns = found.columns.iter();
            columns.find(|known| i32::from(known.id) == column).map(|known| known.name.clone())
        }
        Relation::View(view) => view.columns.get(place).map(|(name, _)| name.clone()),
        Relation::Virtual(table) => table.columns.get(place).map(|(name, _)| (*name).to_owned()),
        _ => None,
    }
}

fn relation(lookup: &CatalogLookup, oid: Id, column: i32) -> Option<ObjectIdentity> {
    let relation = lookup.catalog.relation(oid)?;
    let identity = identified(lookup, &relation);
    let description = described(lookup, &relation);
    let (kind, identity, description) = match column {
        0 => (relation.kind().to_owned(), identity, description),
        _ => {
            let name = column_name(&relation, column)?;
            let described = format!("column {name} of {description}");
            let kind = format!("{} column", relation.kind());
            (kind, format!("{identity}.{}", quote_ident(&name)), described)
        }
    };
    Some(ObjectIdentity {
        kind,
        schema: Some(quote_ident(&relation.schema_name(&lookup.catalog))),
        name: Some(quote_ident(relation.name())),
        identity,
        description,
    })
}

/// A function or procedure.
fn routine(lookup: &CatalogLookup, oid: Id) -> Option<ObjectIdentity> {
    let found = lookup.catalog.names().routines().get(oid)?;
    let routines = lookup.catalog.names().routines();
    Some(ObjectIdentity {
        kind: found.kind().to_owned(),
        schema: Some(quote_ident(&lookup.catalog.schema_name(found.schema))),
        name: None,
        identity: routines.signature(None, found, ","),
        description: format!(
            "{} {}",
            found.kind(),
            routines.signature(Some(&lookup.path), found, ",")
        ),
    })
}

/// An object of CREATE STATISTICS.
fn statistics(lookup: &CatalogLookup, oid: Id) -> Option<ObjectIdentity> {
    let objects = StatisticsObjects::of(&lookup.catalog);
    let (_, object) = objects.get(oid)?;
    let schema = lookup.catalog.schema_name(object.schema);
    let identity = qualified(&schema, &object.name);
    let shown = match objects.is_visible(&lookup.path, object) {
        true => quote_ident(&object.name),
        false => identity.clone(),
    };
    Some(ObjectIdentity {
        kind: "statistics object".to_owned(),
        schema: Some(quote_ident(&schema)),
        name: Some(quote_ident(&object.name)),
        identity,
        description: format!("statistics object {shown}"),
    })
}

/// A domain, an enum, a row type, or an array of them.
fn data_type(lookup: &CatalogLookup, oid: Id) -> Option<ObjectIdentity> {
    if let Some(found) = lookup.catalog.domains().get(oid) {
        let schema = lookup.catalog.schema_name(found.schema);
        let shown = lookup.catalog.domains().text(Some(&lookup.path), found);
        return Some(ObjectIdentity {
            kind: "type".to_owned(),
            identity: qualified(&schema, &found.name),
            schema: Some(quote_ident(&schema)),
            name: Some(quote_ident(&found.name)),
            description: format!("type {shown}"),
        });
    }
    let (schema, name, own_name, shown, is_array) = if let Some((_, shown)) =
        lookup.type_by_oid(oid)
    {
        let ty = lookup.catalog.enums().type_of(oid)?;
        let found = lookup.catalog.enums().get(ty.inner_enum()?.oid)?;
        let schema = lookup.catalog.schema_name(found.schema);
        let own = if ty.is_array() { &found.array_name } else { &found.name };
        (schema, found.name.clone(), own.clone(), shown, ty.is_array())
    } else {
        let is_array = oid & FIRST_ROW_ARRAY_TYPE != 0;
        let first = if is_array { FIRST_ROW_ARRAY_TYPE } else { FIRST_ROW_TYPE };
        let relation = lookup.catalog.relation(oid.checked_sub(first)?)?;
        let shown = lookup.relation_name(relation.oid())?;
        let (prefix, brackets) = if is_array { ("_", "[]") } else { ("", "") };
        let (own, shown) = (format!("{prefix}{}", relation.name()), format!("{shown}{brackets}"));
        let schema = relation.schema_name(&lookup.catalog);
        (schema, relation.name().to_owned(), own, shown, is_array)
    };
    let brackets = if is_array { "[]" } else { "" };
    Some(ObjectIdentity {
        kind: "type".to_owned(),
        identity: format!("{}{brackets}", qualified(&schema, &name)),
        schema: Some(quote_ident(&schema)),
        name: Some(quote_ident(&own_name)),
        description: format!("type {shown}"),
    })
}

/// The name of the table's constraint with that number.
fn constraint_name(table: &Table, oid: Id) -> Option<&str> {
    let key = key_constraints(table).find(|(id, _)| *id == oid).map(|(_, index)| &index.name);
    let check = || table.checks.iter().find(|check| check.id == oid).map(|check| &check.name);
    let foreign = || table.foreign_keys.iter().find(|key| key.id == oid).map(|key| &key.name);
    key.or_else(check).or_else(foreign).map(String::as_str)
}

fn constraint(lookup: &CatalogLookup, oid: Id) -> Option<ObjectIdentity> {
    let (table, name) = lookup
        .catalog
        .tables()
        .in_database(lookup.path.database)
        .find_map(|table| Some((table, constraint_name(table, oid)?)))?;
    let relation = lookup.catalog.relation(table.id)?;
    Some(ObjectIdentity {
        kind: "table constraint".to_owned(),
        schema: Some(quote_ident(&relation.schema_name(&lookup.catalog))),
        name: None,
        identity: format!("{} on {}", quote_ident(name), identified(lookup, &relation)),
        description: format!("constraint {name} on {}", described(lookup, &relation)),
    })
}

fn default(lookup: &CatalogLookup, oid: Id) -> Option<ObjectIdentity> {
    let all = defaults(&lookup.catalog, lookup.path.database);
    let DefaultRow { table, column, .. } = all.iter().find(|default| default.oid == oid)?;
    let relation = lookup.catalog.relation(table.id)?;
    let (identity, shown) = (identified(lookup, &relation), described(lookup, &relation));
    Some(ObjectIdentity {
        kind: "default value".to_owned(),
        schema: None,
        name: None,
        identity: format!("for {identity}.{}", quote_ident(&column.name)),
        description: format!("default value for column {} of {shown}", column.name),
    })
}

/// A trigger, which goes by its name and its relation.
fn trigger(lookup: &CatalogLookup, oid: Id) -> Option<ObjectIdentity> {
    let (relation, trigger) = lookup.catalog.names().triggers().get(oid)?;
    let name = quote_ident(&trigger.name);
    Some(ObjectIdentity {
        kind: "trigger".to_owned(),
        schema: None,
        name: None,
        identity: format!("{name} on {}", identified(lookup, &relation)),
        description: format!("trigger {} on {}", trigger.name, described(lookup, &relation)),
    })
}

/// The rule that makes a view one; it has the view's number.
fn rule(lookup: &CatalogLookup, oid: Id) -> Option<ObjectIdentity> {
    let relation = lookup.catalog.relation(oid)?;
    Some(ObjectIdentity {
        kind: "rule".to_owned(),
        schema: None,
        name: None,
        identity: format!("\"_RETURN\" on {}", identified(lookup, &relation)),
        description: format!("rule _RETURN on {}", described(lookup, &relation)),
    })
}
