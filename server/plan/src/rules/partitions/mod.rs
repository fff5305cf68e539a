//! Partitioned tables: partitions that are not read, and lookups in the others.

mod lookups;
mod prune;

pub use lookups::{lookup, predicted_lookup};
pub use prune::apply;
