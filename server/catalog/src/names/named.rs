//! What the catalog keeps of a name in a schema.

use crate::{Id, IndexNumber};

/// What a name in a schema stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A table.
    Table(Id),
    /// A view.
    View(Id),
    /// A sequence.
    Sequence(Id),
    /// A composite type.
    Composite(Id),
    /// An index of a table.
    Index(Id, IndexNumber),
}
