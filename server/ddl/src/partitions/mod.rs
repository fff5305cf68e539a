//! Definitions of partitioned tables: CREATE, ATTACH and DETACH, and what a definition of the
//! parent does to its partitions.
//!
//! Rule: a partition has every column, CHECK, key, index, foreign key and row trigger of its
//! parent. Columns and constraints belong together by name, indexes by
//! [`braid_catalog::Index::part_of`].

pub(crate) mod attach;
pub(crate) mod bounds;
pub(crate) mod checks;
pub(crate) mod create;
pub(crate) mod detach;
pub(crate) mod indexes;
pub(crate) mod keys;
pub(crate) mod propagate;
pub(crate) mod references;
pub(crate) mod refuse;
pub(crate) mod triggers;
