//! The catalog as functions read it: names, definitions and identities by oid.

mod answers;
mod catalog_lookup;
pub(crate) mod definition;
mod object_address;
mod object_identity;
mod object_privileges;
mod partition_tree;
mod routine_text;
mod writable;

pub use catalog_lookup::CatalogLookup;
pub(crate) use routine_text::{DEFAULT_COST, DEFAULT_ROWS};
