//! What the database knows of its objects: descriptors, names, privileges, and the catalog views.
//!
//! ```text
//!   CatalogCache ──at(txn)──▶ Catalog (immutable, one version) ──resolve──▶ Relation
//!        │                       ▲
//!        └──draft(txn)──▶ Draft ─┘ a transaction's own changes, flushed at its commit
//!   Sequences     counters outside of transactions
//!   TemporaryObjects  descriptors of one session, laid over a Catalog
//!   commit_tokens what became of transactions whose client did not hear it
//!   notifications what gateways tell each other by NOTIFY
//!   VirtualTable  pg_catalog, information_schema, braid_internal: computed from a Catalog
//! ```
//!
//! What it does not do: parse or run statements (DDL is `exec`'s), read rows of users' tables.
//!
//! Rules that must always hold:
//! - a [`Catalog`] that was handed out never changes;
//! - a stored change of a descriptor comes with the next version, in the same transaction;
//! - temporary objects are never stored, and no stored object refers to one;
//! - an id is never used for two objects that could meet; index and column numbers of a table
//!   are never used twice;
//! - the names of one schema's tables, views, sequences and indexes are unique.

mod backfill;
mod bootstrap;
mod changes;
mod commit_tokens;
mod definition;
pub mod descriptor;
mod draft;
mod dropped;
mod enums;
mod foreign_key;
mod gateways;
mod interleave;
mod interleave_path;
mod key_names;
mod lookup;
pub mod names;
mod notifications;
mod privilege;
mod resolve;
mod sequence;
mod shared_map;
mod snapshot;
mod statistics;
mod store;
mod stored_expr;
mod system_keys;
mod temporary;
mod view_text;
mod virtual_tables;

pub use backfill::Backfill;
pub use bootstrap::bootstrap;
pub use commit_tokens::{
    Asker, CommitStatus, TOKEN_RETENTION, Token, is_expired, record_commit, remove_expired, settle,
};
pub use definition::{
    check_definition, create_table_text, foreign_key_definition, index_definition, index_key_names,
    placed_index_definition, unique_definition,
};
pub use descriptor::*;
pub use draft::Draft;
pub use dropped::{Dropped, dropped_ranges};
pub use enums::{Enum, Label, enums_named, uses_enum};
pub use foreign_key::{ForeignKey, ForeignKeyAction};
pub use gateways::{GatewayInfo, GatewayMode, Gateways, LEASE};
pub use interleave::owner_of;
pub use interleave_path::{KeyPath, path_shape};
pub use key_names::CatalogKeyNames;
pub use lookup::CatalogLookup;
pub use notifications::{
    NOTIFICATION_RETENTION, NotificationRow, append_notifications, newest_notification,
    notification_rows, remove_old_notifications,
};
pub use privilege::{Object, PUBLIC, TABLE_PRIVILEGES, privilege_letter};
pub use resolve::{Relation, SearchPath, undefined_relation};
pub use sequence::{SequenceError, SequenceValues, Sequences, fresh_counter};
pub use snapshot::{Catalog, Named};
pub use statistics::Statistics;
pub use store::{CatalogCache, FORMAT_VERSION, PendingChange, Standing};
pub use stored_expr::{IdentifiedExpr, StoredExpr};
pub use system_keys::{descriptor_key, table_span, token_key, version_key};
pub use temporary::{FIRST_TEMPORARY, PG_TEMP, TemporaryObjects, is_temporary, temporary_span};
pub use view_text::{CatalogNames, view_text};
pub use virtual_tables::{
    CursorInfo, LockEntry, MetricEntry, PreparedInfo, RuntimeInfo, SessionInfo, SettingInfo,
    VirtualContext, VirtualTable, is_virtual_schema, virtual_schema, virtual_tables,
};

/// The first superuser, `root`.
pub const ROOT: Id = 10;
/// The predefined role whose one member is, in each database, the owner of that database.
pub const DATABASE_OWNER: Id = 6171;
/// The database `defaultdb`.
pub const DEFAULT_DATABASE: Id = 100;
