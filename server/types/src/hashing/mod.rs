//! Hashes whose values are those of PostgreSQL.

mod lookup3;
mod partition;

pub use partition::{has_partition_hash, hash_of_key, seeded_hash};
