//! Where the rows of a foreign key are found.

use braid_catalog::{ForeignKey, Index, IndexState, Table};

/// An index of the child whose first columns are the foreign key's, in any order.
pub fn index_on<'t>(child: &'t Table, foreign_key: &ForeignKey) -> Option<&'t Index> {
    child.all_indexes().find(|index| {
        index.state == IndexState::Public
            && index.predicate.is_none()
            && !index.is_inverted()
            && index.keys.len() >= foreign_key.columns.len()
            && index.keys[..foreign_key.columns.len()]
                .iter()
                .all(|part| foreign_key.columns.contains(&part.column))
    })
}
