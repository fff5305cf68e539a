//! What binding makes of a statement.

use crate::context::{OutputColumn, StatementKind};
use crate::tree::node::Node;

/// A bound statement.
pub(crate) struct BoundStatement {
    /// What it is.
    pub kind: StatementKind,
    /// Its plan.
    pub root: Node,
    /// The columns of its result.
    pub columns: Vec<OutputColumn>,
    /// Whether it changes data.
    pub is_write: bool,
    /// `RETURNING NOTHING`
    pub returning_nothing: bool,
}
