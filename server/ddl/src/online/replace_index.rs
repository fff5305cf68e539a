//! A new index takes the place of the old one.

use braid_catalog::{IndexNumber, Table};
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::rows::delete::delete_index_entries;
use crate::table::descriptor::change_table;

/// The new index takes the part of the old one, which goes.
pub(crate) fn take_part(
    cx: &mut DdlContext<'_>,
    table: &mut Table,
    old: IndexNumber,
    new: IndexNumber,
) -> Result<()> {
    let Some(index) = table.index(old).cloned() else {
        let message = "the index was dropped while it was being moved";
        return Err(Error::new(SqlState::UndefinedObject, message));
    };
    delete_index_entries(cx, table, &index)?;
    let Some(place) = table.indexes.iter().position(|known| known.number == new) else {
        return Err(Error::internal("an index has vanished"));
    };
    let mut moved = table.indexes.remove(place);
    (moved.id, moved.name) = (index.id, index.name);
    (moved.constraint, moved.comment) = (index.constraint, index.comment);
    moved.constraint_comment = index.constraint_comment;
    for known in table.indexes.iter_mut().filter(|known| known.number == old) {
        *known = moved.clone();
    }
    let id = table.id;
    let repoint = |table: &mut Table| {
        let keys = table.foreign_keys.iter_mut();
        for key in keys.filter(|key| key.parent == id && key.parent_index == old) {
            key.parent_index = new;
        }
    };
    for child in table.referenced_by.iter().filter(|child| **child != id) {
        change_table(cx, *child, repoint)?;
    }
    repoint(table);
    Ok(())
}
