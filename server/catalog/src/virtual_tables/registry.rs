//! Which virtual tables there are, and how they are found.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use braid_builtins::{Environment, Lookup};
use braid_types::{Result, Row, SqlType};

use super::runtime::RuntimeInfo;
use super::{
    access, attributes, braid_internal, constraints, dependencies, information_schema,
    information_schema_columns, information_schema_constraints, information_schema_privileges,
    pg_type, procedures, relations, sessions, table_statistics, types,
};
use crate::{Catalog, CatalogNames, Id, SearchPath};

pub(crate) const PG_CATALOG: &str = "pg_catalog";
pub(crate) const INFORMATION_SCHEMA: &str = "information_schema";
pub(crate) const BRAID_INTERNAL: &str = "braid_internal";

/// The virtual schemas with their oids.
const SCHEMAS: &[(&str, Id)] =
    &[(PG_CATALOG, 11), (INFORMATION_SCHEMA, 13207), (BRAID_INTERNAL, 15000)];

/// `schema|table|oid|kind|column:type …`, as PostgreSQL 15 has them.
const COLUMNS: &str = include_str!("columns.txt");

/// Computes the rows of a virtual table.
pub(crate) type RowsOf = fn(&VirtualContext<'_>) -> Result<Vec<Row>>;

/// A table whose rows are computed when it is read.
pub struct VirtualTable {
    /// Its fixed oid.
    pub oid: Id,
    /// Its schema.
    pub schema: &'static str,
    /// Its name.
    pub name: &'static str,
    /// `r` if PostgreSQL has it as a table, `v` as a view.
    pub relkind: char,
    /// Its columns.
    pub columns: Vec<(&'static str, SqlType)>,
    /// Its rows, in no order that could be relied on.
    pub rows: fn(&VirtualContext<'_>) -> Result<Vec<Row>>,
}

impl VirtualTable {
    /// What PostgreSQL calls its kind.
    pub fn kind(&self) -> &'static str {
        if self.relkind == 'v' { "view" } else { "table" }
    }

    /// Whether its rows show how far sequences have come.
    pub fn shows_last_values(&self) -> bool {
        self.schema == PG_CATALOG && self.name == "pg_sequences"
    }
}

impl std::fmt::Debug for VirtualTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// What the rows are computed from.
pub struct VirtualContext<'a> {
    /// The catalog as the statement sees it.
    pub catalog: &'a Arc<Catalog>,
    /// The session's search path and database.
    pub path: &'a SearchPath,
    /// Names and definitions.
    pub lookup: &'a dyn Lookup,
    /// The session.
    pub env: &'a dyn Environment,
    /// The running server.
    pub runtime: &'a dyn RuntimeInfo,
    /// The last values of the sequences that were used and that the user may see, if the view
    /// [shows them](VirtualTable::shows_last_values).
    pub last_values: &'a HashMap<Id, i64>,
}

impl VirtualContext<'_> {
    /// Names as the session has to write them.
    pub(super) fn names(&self) -> CatalogNames<'_> {
        CatalogNames { catalog: self.catalog, path: Some(self.path) }
    }
}

struct Registry {
    tables: Vec<VirtualTable>,
    by_name: HashMap<(&'static str, &'static str), usize>,
    by_oid: HashMap<Id, usize>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let lines = COLUMNS.lines().chain(braid_internal::COLUMNS.lines());
    let tables: Vec<VirtualTable> = lines.filter_map(parse).collect();
    let places = || tables.iter().enumerate();
    let by_name = places().map(|(at, table)| ((table.schema, table.name), at)).collect();
    let by_oid = places().map(|(at, table)| (table.oid, at)).collect();
    Registry { tables, by_name, by_oid }
});

fn parse(line: &'static str) -> Option<VirtualTable> {
    let mut fields = line.split('|');
    let (schema, name) = (fields.next()?, fields.next()?);
    let oid = fields.next()?.parse().ok()?;
    let relkind = fields.next()?.chars().next()?;
    let columns = fields.next()?.split(' ').filter_map(|column| {
        let (name, ty) = column.split_once(':')?;
        Some((name, SqlType::from_name(ty)?))
    });
    let columns = columns.collect();
    let rows = rows_of(schema, name).unwrap_or(|_| Ok(Vec::new()));
    Some(VirtualTable { oid, schema, name, relkind, columns, rows })
}

fn rows_of(schema: &str, name: &str) -> Option<RowsOf> {
    match schema {
        PG_CATALOG => relations::rows_of(name)
            .or_else(|| table_statistics::rows_of(name))
            .or_else(|| attributes::rows_of(name))
            .or_else(|| constraints::rows_of(name))
            .or_else(|| dependencies::rows_of(name))
            .or_else(|| types::rows_of(name))
            .or_else(|| pg_type::rows_of(name))
            .or_else(|| procedures::rows_of(name))
            .or_else(|| access::rows_of(name))
            .or_else(|| sessions::rows_of(name)),
        INFORMATION_SCHEMA => information_schema::rows_of(name)
            .or_else(|| information_schema_columns::rows_of(name))
            .or_else(|| information_schema_constraints::rows_of(name))
            .or_else(|| information_schema_privileges::rows_of(name)),
        _ => braid_internal::rows_of(name),
    }
}

/// Every virtual table.
pub fn virtual_tables() -> &'static [VirtualTable] {
    &REGISTRY.tables
}

/// A virtual table by schema and name.
pub(crate) fn find(schema: &str, name: &str) -> Option<&'static VirtualTable> {
    let registry = &*REGISTRY;
    // The map's keys are static: look a borrowed pair up by narrowing its lifetime.
    let by_name: &HashMap<(&str, &str), usize> = &registry.by_name;
    by_name.get(&(schema, name)).map(|at| &registry.tables[*at])
}

/// A virtual table by oid.
pub(crate) fn by_oid(oid: Id) -> Option<&'static VirtualTable> {
    REGISTRY.by_oid.get(&oid).map(|at| &REGISTRY.tables[*at])
}

/// The oid of a schema that holds virtual tables only.
pub fn virtual_schema(name: &str) -> Option<Id> {
    SCHEMAS.iter().find(|(schema, _)| *schema == name).map(|(_, oid)| *oid)
}

/// Whether a schema holds virtual tables only.
pub fn is_virtual_schema(name: &str) -> bool {
    virtual_schema(name).is_some()
}

/// The name of a schema that holds virtual tables only.
pub(crate) fn virtual_schema_name(oid: Id) -> Option<&'static str> {
    SCHEMAS.iter().find(|(_, schema)| *schema == oid).map(|(name, _)| *name)
}

/// The virtual schemas with their oids.
pub(crate) fn virtual_schemas() -> impl Iterator<Item = (&'static str, Id)> {
    SCHEMAS.iter().copied()
}
