//! The list of virtual tables: names, oids and columns of `pg_catalog`, `information_schema` and
//! `braid_internal`.
//!
//! A catalog resolves names with this list. The crate `system-views` computes the rows.
//! `columns.txt` and `braid_internal.txt` list every table with its oid and columns, `pg_catalog`
//! as PostgreSQL 15 has them.

mod extensions;
mod list;
mod used_extensions;

pub use extensions::{
    EXTENSIONS, Extension, created_extensions, extension_schema, is_extension_function,
    is_extension_type, type_schema,
};
pub use list::{
    BRAID_INTERNAL, INFORMATION_SCHEMA, PG_CATALOG, VirtualTable, is_virtual_schema,
    view_of_function, virtual_schema, virtual_schema_name, virtual_schemas, virtual_table,
    virtual_table_by_oid, virtual_tables,
};
pub use used_extensions::uses_extension;
