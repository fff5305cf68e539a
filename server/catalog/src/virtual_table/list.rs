//! Which virtual tables there are, and how they are found.

use std::collections::HashMap;
use std::sync::LazyLock;

use braid_types::SqlType;

use crate::Id;

/// The schema of PostgreSQL's system catalogs.
pub const PG_CATALOG: &str = "pg_catalog";
/// The schema of the SQL standard's views.
pub const INFORMATION_SCHEMA: &str = "information_schema";
/// The schema of what BraidDB shows beyond PostgreSQL's catalogs.
pub const BRAID_INTERNAL: &str = "braid_internal";

/// The virtual schemas with their oids.
const SCHEMAS: &[(&str, Id)] =
    &[(PG_CATALOG, 11), (INFORMATION_SCHEMA, 13207), (BRAID_INTERNAL, 15000)];

/// `schema|table|oid|kind|column:type …`, as PostgreSQL 15 has them.
const COLUMNS: &str = include_str!("columns.txt");

/// The same for `braid_internal`.
const BRAID_INTERNAL_COLUMNS: &str = include_str!("braid_internal.txt");

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
}

impl VirtualTable {
    /// What PostgreSQL calls its kind.
    pub fn kind(&self) -> &'static str {
        if self.relkind == 'v' { "view" } else { "table" }
    }

    /// Whether its rows come from the catalog alone, and not from the running server: they do not
    /// change while a statement runs.
    pub fn is_of_catalog(&self) -> bool {
        (self.schema == PG_CATALOG && self.relkind == 'r') || self.schema == INFORMATION_SCHEMA
    }

    /// Whether its rows show how far sequences have come.
    pub fn shows_last_values(&self) -> bool {
        self.schema == PG_CATALOG && self.name == "pg_sequences"
    }

    /// Whether it has rows of large objects.
    pub fn shows_large_objects(&self) -> bool {
        let of_objects = ["pg_largeobject_metadata", "pg_description"];
        self.schema == PG_CATALOG && of_objects.contains(&self.name)
    }
}

impl std::fmt::Debug for VirtualTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

struct Registry {
    tables: Vec<VirtualTable>,
    by_name: HashMap<(&'static str, &'static str), usize>,
    by_oid: HashMap<Id, usize>,
}

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let lines = COLUMNS.lines().chain(BRAID_INTERNAL_COLUMNS.lines());
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
    Some(VirtualTable { oid, schema, name, relkind, columns })
}

/// Every virtual table.
pub fn virtual_tables() -> &'static [VirtualTable] {
    &REGISTRY.tables
}

/// A virtual table by schema and name.
pub fn virtual_table(schema: &str, name: &str) -> Option<&'static VirtualTable> {
    let registry = &*REGISTRY;
    // The map's keys are static: look a borrowed pair up by narrowing its lifetime.
    let by_name: &HashMap<(&str, &str), usize> = &registry.by_name;
    by_name.get(&(schema, name)).map(|at| &registry.tables[*at])
}

/// A virtual table by oid.
pub fn virtual_table_by_oid(oid: Id) -> Option<&'static VirtualTable> {
    REGISTRY.by_oid.get(&oid).map(|at| &REGISTRY.tables[*at])
}

/// The catalog view that a function in FROM gives the rows of, by the function's name and how many
/// arguments it has. None of them changes the rows.
pub fn view_of_function(name: &str, arguments: usize) -> Option<&'static VirtualTable> {
    let view = match (name, arguments) {
        ("pg_show_all_settings", 0) => "pg_settings",
        ("pg_lock_status", 0) => "pg_locks",
        ("pg_prepared_statement", 0) => "pg_prepared_statements",
        ("pg_cursor", 0) => "pg_cursors",
        ("pg_stat_statements", 1)
        | ("pg_stat_statements_info" | "pg_timezone_names" | "pg_timezone_abbrevs", 0) => name,
        _ => return None,
    };
    virtual_table(PG_CATALOG, view)
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
pub fn virtual_schema_name(oid: Id) -> Option<&'static str> {
    SCHEMAS.iter().find(|(_, schema)| *schema == oid).map(|(name, _)| *name)
}

/// The virtual schemas with their oids.
pub fn virtual_schemas() -> impl Iterator<Item = (&'static str, Id)> {
    SCHEMAS.iter().copied()
}
