//! Partitioned tables: how a table divides its rows, and which partition a key belongs to.
//!
//! ```text
//!   parent  Table::partitioning   strategy, keys, ids of its partitions; it has no rows of its own
//!   child   Table::partition_of   its parent's id and its bound
//!   PartitionMap                  the bounds of all partitions of a table: key ──▶ partition
//!   ReferenceRoutes               values of a foreign key ──▶ leaf that may have their parent
//! ```
//!
//! Rules that must always hold:
//! - each id in `Partitioning::partitions` is a table whose `partition_of` names the parent, and
//!   the other way round;
//! - no two partitions of a table can have the same key;
//! - nobody writes rows under the parent's own keys.

mod bound;
mod map;
mod references;
mod text;

pub use bound::{
    KeyPart, PartitionBound, PartitionKey, PartitionOf, PartitionStrategy, Partitioning, RangeEnd,
};
pub use map::{Bound, End, PartitionMap, leaves, lineage, with_partitions};
pub use references::{
    Reference, ReferenceRoutes, is_copy_of, is_in_every_partition, is_referenced, origin_of_key,
    references_to,
};
pub use text::{bound_text, condition_text, key_list, key_text};
