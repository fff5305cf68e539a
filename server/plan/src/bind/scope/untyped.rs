//! Items of a select list that are literals or parameters without a type.

use std::sync::Arc;

use braid_types::SqlType;

/// What types a literal or a parameter that is an item of a select list and has no type.
#[derive(Clone, Default)]
pub(crate) enum Untyped {
    /// It becomes a text.
    #[default]
    Text,
    /// A set operation, which looks at its other branches first.
    SetOperation,
    /// INSERT: these are the types of the columns that get the items.
    Columns(Arc<[SqlType]>),
}

impl Untyped {
    /// The type of the item at `place`; none if it stays open. What is sorted or compared by is
    /// a text.
    pub(crate) fn type_of(&self, place: usize, is_compared: bool) -> Option<SqlType> {
        match self {
            Untyped::SetOperation => None,
            Untyped::Columns(types) if !is_compared => types.get(place).cloned(),
            Untyped::Text | Untyped::Columns(_) => Some(SqlType::Text),
        }
    }
}
