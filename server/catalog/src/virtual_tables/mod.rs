//! Tables that are computed when they are read: `pg_catalog`, `information_schema` and
//! `braid_internal`.
//!
//! `columns.txt` lists every table with its oid and columns as PostgreSQL 15 has them; what we
//! have nothing to show for is an empty table with the right columns. Rows show the session's
//! database only, except where PostgreSQL shows all of them (databases, roles).

mod access;
mod attributes;
mod braid_internal;
mod constraints;
mod dependencies;
mod information_schema;
mod information_schema_columns;
mod information_schema_constraints;
mod information_schema_privileges;
mod pg_type;
mod procedures;
mod registry;
mod relations;
mod runtime;
mod sessions;
mod sheet;
mod table_statistics;
mod types;

pub(crate) use registry::{PG_CATALOG, by_oid, find, virtual_schema_name};
pub use registry::{
    VirtualContext, VirtualTable, is_virtual_schema, virtual_schema, virtual_tables,
};
pub use runtime::{
    CursorInfo, LockEntry, MetricEntry, PreparedInfo, RuntimeInfo, SessionInfo, SettingInfo,
};
