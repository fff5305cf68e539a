//! Partitioned tables: partitions that are not read, and lookups in the others.

mod lookups;
mod prune;

pub(crate) use lookups::{lookup, predicted_lookup};
pub(crate) use prune::apply;
