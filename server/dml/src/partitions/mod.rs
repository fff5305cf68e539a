//! Changes of partitioned tables: rows go to the partition of their key.
//!
//! ```text
//!   INSERT   rows of the target ──key──▶ partition ──▶ InsertOperator of the partition
//!   UPDATE   a row that leaves its partition is deleted there and queued; an INSERT at the end of
//!            the statement puts the queued rows into their partitions
//! ```

mod cascaded;
mod moved;
mod routing;

pub(crate) use cascaded::insert_moved;
pub(crate) use moved::MovedRows;
pub(crate) use routing::{Found, RoutingOperator, find_leaf};
