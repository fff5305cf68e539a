//! What the database knows of its objects: descriptors, names, privileges, and the catalog views.
//!
//! ```text
//!   CatalogCache ──at(txn)──▶ Catalog (immutable, one version) ──resolve──▶ Relation
//!        │                       ▲
//!        └──draft(txn)──▶ Draft ─┘ a transaction's own changes, flushed at its commit
//!   Sequences     counters outside of transactions
//!   TemporaryObjects  descriptors of one session, laid over a Catalog
//!   VirtualTable  the list of pg_catalog, information_schema, braid_internal: names and columns
//! ```
//!
//! What it does not do: parse or run statements, read rows of users' tables, compute the rows of
//! virtual tables (`system-views`), agree with other gateways (`cluster`, which is below).
//!
//! Rules that must always hold:
//! - a [`Catalog`] that was handed out never changes;
//! - a stored change of a descriptor comes with the next version, in the same transaction;
//! - temporary objects are never stored, and no stored object refers to one;
//! - an id is never used for two objects that could meet; index and column numbers of a table
//!   are never used twice;
//! - the names of one schema's tables, views, sequences and indexes are unique.

mod cache;
mod catalog;
mod collection;
pub mod descriptor;
mod domains;
mod edit;
mod enums;
mod interleaving;
mod materialized;
mod mentioning;
pub mod names;
mod operator_classes;
pub mod partitions;
mod privileges;
mod routines;
mod sequence;
mod storage;
mod temporary;
mod triggers;
mod updatable;
mod virtual_table;

pub use braid_codec::terms::TermClass;
pub use cache::{
    AnalyzeRuns, AnalyzedBy, CatalogCache, Changes, Draft, PendingChange, Standing, Statistics,
};
pub use catalog::Catalog;
pub use collection::{Collection, Identified, InDatabase};
pub use descriptor::*;
pub use domains::Domains;
pub use enums::Enums;
pub use interleaving::{InterleavedTables, KeyPath, owner_of, path_shape};
pub use materialized::Queries;
pub use mentioning::Mentioning;
pub use names::{
    CatalogKeyNames, CatalogNames, Collations, Named, Names, Relation, RowTypes, SearchPath,
    SortedText, StatisticsObjects, column_label, index_column_text, index_key_names, shown_column,
    shown_key_columns, undefined_relation, view_text,
};
pub use operator_classes::{INVERTED_CLASSES, OPERATOR_CLASSES, OperatorClass, family_name};
pub use partitions::{
    KeyPart, PartitionBound, PartitionKey, PartitionMap, PartitionOf, PartitionStrategy,
    Partitioning, RangeEnd,
};
pub use privileges::{
    Acl, AclItem, Dependents, Object, Owned, Privileges, Rights, TABLE_PRIVILEGES,
};
pub use routines::{Routines, built_in_trigger_function};
pub use sequence::{SequenceError, SequenceValues, Sequences, fresh_counter};
pub use storage::{
    Backfill, Descriptor, Dropped, FORMAT_VERSION, bootstrap, descriptor_key, dropped_ranges,
    table_span, version_key,
};
pub use temporary::{FIRST_TEMPORARY, PG_TEMP, TemporaryObjects, is_temporary, temporary_span};
pub use triggers::Triggers;
pub use updatable::{NotWritable, ViewLayer, ViewOutput, WritableView};
pub use virtual_table::{
    BRAID_INTERNAL, INFORMATION_SCHEMA, PG_CATALOG, VirtualTable, is_virtual_schema,
    view_of_function, virtual_schema, virtual_schema_name, virtual_schemas, virtual_table,
    virtual_table_by_oid, virtual_tables,
};
pub use virtual_table::{
    EXTENSIONS, Extension, created_extensions, extension_schema, is_extension_function,
    is_extension_type, type_schema, uses_extension,
};

/// The grantee that stands for everybody.
pub const PUBLIC: Id = 0;
/// The first superuser, `root`.
pub const ROOT: Id = 10;
/// The predefined role whose one member is, in each database, the owner of that database.
pub const DATABASE_OWNER: Id = 6171;
/// The predefined role whose members see the statements of all.
pub const READ_ALL_STATS: Id = 3375;
/// The predefined role whose members may cancel statements of others and end their sessions.
pub const SIGNAL_BACKEND: Id = 4200;
/// The predefined role whose members may read all tables, views and sequences.
const READ_ALL_DATA: Id = 6181;
/// The predefined role whose members may change all tables, views and sequences.
const WRITE_ALL_DATA: Id = 6182;
/// The predefined role whose members may read files of the server by COPY.
pub const READ_SERVER_FILES: Id = 4569;
/// The predefined role whose members may write files of the server by COPY.
pub const WRITE_SERVER_FILES: Id = 4570;
const READ_ALL_SETTINGS: Id = 3374;
const STAT_SCAN_TABLES: Id = 3377;
/// The predefined roles: numbers, names, and the roles that they are members of.
pub(crate) const PREDEFINED: &[(Id, &str, &[Id])] = &[
    (DATABASE_OWNER, "pg_database_owner", &[]),
    (3373, "pg_monitor", &[READ_ALL_SETTINGS, READ_ALL_STATS, STAT_SCAN_TABLES]),
    (READ_ALL_SETTINGS, "pg_read_all_settings", &[]),
    (READ_ALL_STATS, "pg_read_all_stats", &[]),
    (STAT_SCAN_TABLES, "pg_stat_scan_tables", &[]),
    (SIGNAL_BACKEND, "pg_signal_backend", &[]),
    (4544, "pg_checkpoint", &[]),
    (READ_SERVER_FILES, "pg_read_server_files", &[]),
    (WRITE_SERVER_FILES, "pg_write_server_files", &[]),
    (4571, "pg_execute_server_program", &[]),
    (READ_ALL_DATA, "pg_read_all_data", &[]),
    (WRITE_ALL_DATA, "pg_write_all_data", &[]),
];

/// Whether a role is there from the start and can be neither changed nor dropped.
pub fn is_predefined(role: Id) -> bool {
    PREDEFINED.iter().any(|(id, ..)| *id == role)
}

/// The database `defaultdb`.
pub const DEFAULT_DATABASE: Id = 100;
/// The number of `template1`.
pub const TEMPLATE_DATABASE: Id = 1;
