//! Statements on partitioned tables: each becomes one on the partitions.
//!
//! ```text
//!   SELECT … FROM t      Append ── Project ── Scan of p1 …      a scan for each partition
//!   UPDATE t, DELETE     Append ── Update of p1, Update of p2   bound once for each partition
//!   INSERT INTO t        Insert ── routes ── Insert of p1, …    each row goes to its partition
//! ```
//!
//! A partition is changed under the name and with the privileges of the table that the statement
//! names, as a view's table is. Columns of a table and of its partitions belong together by name.

pub(crate) mod changes;
pub(crate) mod condition;
pub(crate) mod leaves;
pub(crate) mod routes;
pub(crate) mod scan;
