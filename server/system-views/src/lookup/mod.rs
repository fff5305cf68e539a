//! The catalog as functions read it: names, definitions and identities by oid.

mod answers;
mod catalog_lookup;
pub(crate) mod definition;
pub(crate) mod object_identity;

pub use catalog_lookup::CatalogLookup;
