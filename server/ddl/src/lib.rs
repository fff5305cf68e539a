//! Statements that define objects: they change a transaction's [`braid_catalog::Draft`].
//!
//! ```text
//!   entry ─▶ run ─▶ statement/  one file a statement  ─▶ table/  parts of a table's descriptor
//!     │       └───▶ roles/      roles and privileges  ─▶ rows/   reads and writes rows
//!     └───────────▶ online/     several transactions  ─▶ names/  names to objects
//! ```
//!
//! DDL is transactional: descriptors are written at the commit, with the catalog's next version.
//! Rows that a statement moves or checks go through the same transaction. CREATE INDEX, the
//! validation of a foreign key and ALTER … INTERLEAVE work in transactions of their own, outside of
//! a transaction block. Over TiKV every ALTER TABLE does.
//!
//! What it does not do: bind expressions (`plan`), encode rows ([`braid_rows`]), run statements
//! ([`braid_dml`], [`braid_exec`]).
//!
//! Rules that must always hold:
//! - the catalog's version key is locked before anything is looked up, so that DDL statements
//!   queue, unless the statement concerns temporary objects only;
//! - a statement that fails leaves the draft as it was;
//! - names of one schema stay unique, and nothing is dropped that something else needs.

mod context;
mod entry;
mod environment;
mod names;
mod online;
mod partitions;
mod roles;
mod rows;
mod run;
mod statement;
mod table;

pub use context::DdlContext;
pub use entry::{is_ddl, run};
pub use names::on_commit::{discard_temporary, end_temporary, has_on_commit};
pub use online::dropped::{destroy_dropped_ranges, mark_dropped_ranges};
pub use online::left_over::remove_left_over;
pub use online::unfinished::{Gone, TakenOver, go_on, remove_unfinished, take_over, who_is_gone};
pub use statement::table::analyze::analyze;
