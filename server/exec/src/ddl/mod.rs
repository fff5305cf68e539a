//! Statements that define objects: they change a transaction's [`braid_catalog::Draft`].
//!
//! One file a statement kind. DDL is transactional: descriptors are written at the commit, with
//! the catalog's next version; rows that a statement moves or checks go through the same
//! transaction. Only CREATE INDEX, the validation of a foreign key and ALTER … INTERLEAVE work in
//! transactions of their own, outside of a transaction block.
//!
//! What it does not do: bind expressions (`plan`), encode rows ([`crate::rows`]).
//!
//! Rules that must always hold:
//! - the catalog's version key is locked before anything is looked up, so that DDL queues, unless
//!   the statement concerns temporary objects only;
//! - a statement that fails leaves the draft as it was;
//! - names of one schema stay unique, and nothing is dropped that something else needs.

mod alter_column;
mod alter_table;
mod analyze;
mod build_index;
mod columns;
mod comment;
mod constraints;
mod context;
mod create_index;
mod create_table;
mod data;
mod database;
mod dependents;
mod drop;
mod drop_enum;
mod drop_other;
mod dropped;
mod enums;
mod exprs;
mod foreign_keys;
mod grant;
mod interleave;
mod key_from_index;
mod left_over;
mod lookup;
mod move_index;
mod owned;
mod relocate;
mod rename;
mod roles;
mod run;
mod schema;
mod scram;
mod sequence;
mod temporary;
mod truncate;
mod unfinished;
mod validate_rows;
mod view;

pub use context::DdlContext;
pub use dropped::{destroy_dropped_ranges, mark_dropped_ranges};
pub use left_over::remove_left_over;
pub use run::{is_ddl, run};
pub use scram::scram_secret;
pub use temporary::has_on_commit;
pub use unfinished::{Gone, TakenOver, go_on, remove_unfinished, take_over, who_is_gone};
