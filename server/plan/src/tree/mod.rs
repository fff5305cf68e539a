//! The plan tree: nodes, the expressions in them, and the walk over both.

pub(crate) mod access;
pub(crate) mod cascades;
mod compare_op;
pub(crate) mod expr;
mod local;
pub(crate) mod node;
mod partitions;
pub(crate) mod range;
pub(crate) mod row_change;
pub(crate) mod row_lock;
pub(crate) mod subscript;
pub(crate) mod visit;
