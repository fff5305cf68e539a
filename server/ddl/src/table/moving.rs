//! Refuses changes of a table whose rows are being moved.

use braid_catalog::{Catalog, Id, Interleaving, Table};
use braid_types::{Error, Result, SqlState};

pub(crate) fn table_in_use(message: String) -> Error {
    Error::new(SqlState::ObjectInUse, message)
}

fn in_move(table: &Table) -> Error {
    table_in_use(format!("table \"{}\" is being moved by another ALTER TABLE", table.name))
}

/// 55006 if a table's rows, or rows below them, are being moved.
pub(crate) fn refuse_moving(catalog: &Catalog, table: &Table) -> Result<()> {
    let moving = match &table.moving {
        Some(_) => Some(table),
        None => catalog.interleaving().moving_below(table.id).map(|below| &**below),
    };
    let Some(moving) = moving else { return Ok(()) };
    Err(in_move(moving))
}

/// 55006 if a statement has changed the place of a table between which rows are being moved.
pub(crate) fn refuse_while_moving(before: &Catalog, after: &Catalog) -> Result<()> {
    for table in before.tables().iter().filter(|table| table.moving.is_some()) {
        let to = table.moving.as_ref().and_then(|moving| moving.to.as_ref());
        let above = |place: Option<&Interleaving>| {
            place.into_iter().flat_map(|place| &place.above).map(|above| above.table).collect()
        };
        let mut concerned: Vec<Id> = above(to);
        concerned.extend(above(table.primary.interleaving.as_ref()) as Vec<Id>);
        concerned.push(table.id);
        for id in concerned {
            let changed = match (before.table(id), after.table(id)) {
                (Some(before), Some(after)) => !is_placed_alike(before, after),
                (before, after) => before.is_some() != after.is_some(),
            };
            if changed {
                return Err(in_move(table));
            }
        }
    }
    Ok(())
}

fn is_placed_alike(before: &Table, after: &Table) -> bool {
    let types = |table: &Table| {
        let ty = |part: &braid_catalog::IndexKey| table.column(part.column).map(|c| c.ty.clone());
        table.primary.keys.iter().map(ty).collect::<Vec<_>>()
    };
    before.data_id == after.data_id
        && before.primary.keys == after.primary.keys
        && before.primary.interleaving == after.primary.interleaving
        && before.moving == after.moving
        && types(before) == types(after)
}
