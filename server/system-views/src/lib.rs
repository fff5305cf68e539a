//! The system views: `pg_catalog`, `information_schema` and `braid_internal`.
//!
//! ```text
//!   exec ── virtual_rows ──▶ registry ──▶ pg_catalog/  information_schema/  braid_internal/
//!                                            │ each view is one function of a VirtualContext
//!                                            ▼
//!   catalog: VirtualTable (names, oids, columns)      RuntimeInfo (implemented by session)
//!
//!   session ── CatalogLookup ──▶ pg_get_indexdef, pg_describe_object, obj_description, ...
//! ```
//!
//! A system view is a table whose rows are computed when a statement reads it. The crate `catalog`
//! has the list of these tables, because names resolve to them. This crate computes their rows, and
//! answers the functions of `pg_catalog` that print definitions ([`CatalogLookup`]).
//!
//! What it does not do: read the store, filter rows, know which tables there are.
//!
//! Rules that must always hold:
//! - a row has one value for each column of its table;
//! - a table that PostgreSQL has and that has no counterpart here is empty, with the right columns;
//! - rows show the session's database only, except where PostgreSQL shows all of them (databases,
//!   roles);
//! - no view knows the registry.

mod access;
mod braid_internal;
mod cell;
mod context;
mod information_schema;
mod lookup;
mod pg_catalog;
mod registry;
mod row_builder;
mod runtime;

pub use context::VirtualContext;
pub use lookup::CatalogLookup;
pub use registry::virtual_rows;
pub use runtime::{
    CursorInfo, DatabaseCounts, LockEntry, MetricEntry, PreparedInfo, RelationCounts, RuntimeInfo,
    SessionInfo, SettingInfo, StatementInfo, StatementsInfo,
};
