//! Deletes the rows and index entries of tables that go or are emptied.

use std::sync::Arc;

use braid_catalog::{Ancestor, Dropped, Id, Index, Table, temporary_span};
use braid_exec::from_kv;
use braid_kv::{ScanRequest, Seq, Transaction};
use braid_types::{Error, Result};

use crate::context::DdlContext;
use crate::rows::reader::CHECKED;
use crate::table::descriptor::change_table;

/// A range that nobody is to use any more goes, with this transaction or later.
pub(crate) fn drop_range(txn: &Transaction, seq: Seq, range: &Dropped) -> Result<()> {
    let span = range.span();
    if txn.database().store().locks_spans() || temporary_span().contains_span(&span) {
        return txn.writes().delete_span(seq, span).map_err(from_kv);
    }
    range.note(txn, seq).map_err(from_kv)?;
    txn.writes().leave_span(seq, range.span()).map_err(from_kv)
}

/// [`drop_range`] in the statement's transaction.
pub(crate) fn drop_key_range(cx: &DdlContext<'_>, range: &Dropped) -> Result<()> {
    drop_range(cx.txn(), cx.seq(), range)
}

/// Takes an interleaved index off its parent's list.
pub(crate) fn forget_interleaving(
    cx: &mut DdlContext<'_>,
    table: &Table,
    index: &Index,
) -> Result<()> {
    let Some(parent) = index.parent() else { return Ok(()) };
    let gone = (table.id, index.number);
    change_table(cx, parent, |parent| parent.primary.below.retain(|below| *below != gone))
}

/// Deletes the entries of an index that goes. Those of an interleaved one are left over, to
/// be removed in the background.
pub(crate) fn delete_index_entries(
    cx: &mut DdlContext<'_>,
    table: &Table,
    index: &Index,
) -> Result<()> {
    if index.interleaving.is_some() {
        leave_keys(cx, table, index)?;
        return forget_interleaving(cx, table, index);
    }
    drop_key_range(cx, &Dropped::index(table.data_id, index.number))
}

/// Notes with the parent that the keys of an interleaved index, and all keys below them, are
/// left over.
fn leave_keys(cx: &mut DdlContext<'_>, table: &Table, index: &Index) -> Result<()> {
    let (Some(interleaving), Some(parent)) = (&index.interleaving, index.parent()) else {
        return Ok(());
    };
    let passing = table.passing_keys(index, interleaving);
    change_table(cx, parent, |parent| parent.primary.passing.push(passing))
}

/// Deletes every row and index entry of a table that goes, or whose data gets a new place;
/// `gone` says which others of the catalog go as well.
pub(crate) fn delete_rows(
    cx: &mut DdlContext<'_>,
    table: &Table,
    gone: impl Fn(Id) -> bool,
) -> Result<()> {
    if table.all_indexes().all(|index| !index.is_mixed()) {
        return drop_key_range(cx, &Dropped::data(table.data_id));
    }
    for index in table.all_indexes() {
        match &index.interleaving {
            // What goes above takes it along.
            Some(place) if place.above.iter().any(|above| gone(above.table)) => {}
            Some(_) => leave_keys(cx, table, index)?,
            None => drop_key_range(cx, &Dropped::index(table.data_id, index.number))?,
        }
    }
    drop_vacated(cx, table)
}

/// What a table's rows have left when they moved away goes with the rest of its data.
fn drop_vacated(cx: &DdlContext<'_>, table: &Table) -> Result<()> {
    if !table.vacated {
        return Ok(());
    }
    drop_key_range(cx, &Dropped::index(table.data_id, table.primary.number))
}

fn missing(table: Id) -> Error {
    Error::broken(format!("table {table}, which is to be emptied, is missing"))
}

/// Deletes every row and index entry of a table that is emptied together with others. Where
/// its keys are left over, its data gets a new place, and what is interleaved in it with it.
pub(crate) fn empty_table(cx: &mut DdlContext<'_>, id: Id, emptied: &[Id]) -> Result<()> {
    let catalog = cx.catalog();
    let Some(table) = catalog.table(id).cloned() else { return Err(missing(id)) };
    // Entries of an index that lie below the rows stay if their table is not emptied.
    let alone = |table: &Table| {
        let below = catalog.interleaving().below(table);
        below.iter().all(|(below, _)| emptied.contains(&below.id))
    };
    let takes_all = |above: &Ancestor| {
        let table = catalog.table(above.table).filter(|_| emptied.contains(&above.table));
        table.is_some_and(|table| alone(table))
    };
    let is_alone = alone(&table);
    let is_mixed = table.all_indexes().any(Index::is_mixed);
    // A range that is left and destroyed later must not be used again.
    let leaves = !cx.txn().database().store().locks_spans();
    let mut moves = !is_mixed;
    if !is_mixed {
        drop_key_range(cx, &Dropped::data(table.data_id))?;
    }
    for index in table.all_indexes().filter(|_| is_mixed) {
        match &index.interleaving {
            Some(place) if place.above.iter().any(takes_all) => {}
            Some(_) if is_alone => {
                leave_keys(cx, &table, index)?;
                moves = true;
            }
            None if is_alone || (index.below.is_empty() && !leaves) => {
                drop_key_range(cx, &Dropped::index(table.data_id, index.number))?;
                moves |= leaves;
                change_table(cx, id, |table| {
                    let owned = std::iter::once(&mut table.primary).chain(&mut table.indexes);
                    for own in owned.filter(|own| own.number == index.number) {
                        own.passing.clear();
                    }
                })?;
            }
            _ => cx.scattered.push((table.clone(), index.number)),
        }
    }
    if !moves {
        return Ok(());
    }
    if is_mixed {
        drop_vacated(cx, &table)?;
    }
    replace_data(cx, id)
}

/// Gives a table's data a new place; there is none yet, neither its own nor below its rows.
fn replace_data(cx: &mut DdlContext<'_>, id: Id) -> Result<()> {
    let data_id = cx.draft()?.allocate_id(id);
    let catalog = cx.catalog();
    let Some(table) = catalog.table(id) else { return Err(missing(id)) };
    for (below, number) in catalog.interleaving().below(table) {
        change_table(cx, below.id, |below| {
            let owned = std::iter::once(&mut below.primary).chain(&mut below.indexes);
            let places = owned.filter(|index| index.number == number);
            let above = places.filter_map(|index| index.interleaving.as_mut());
            for above in above.flat_map(|place| &mut place.above).filter(|a| a.table == id) {
                above.data_id = data_id;
            }
        })?;
    }
    change_table(cx, id, |table| {
        table.data_id = data_id;
        table.primary.passing.clear();
        table.vacated = false;
    })
}

/// Deletes keys that are between keys of other tables, as noted when tables were emptied.
pub(crate) async fn delete_scattered(cx: &mut DdlContext<'_>) -> Result<()> {
    for (table, number) in std::mem::take(&mut cx.scattered) {
        let index = table.index(number).ok_or_else(|| {
            Error::broken(format!("table \"{}\" has no index {number}", table.name))
        })?;
        delete_keys(cx.txn(), cx.seq(), &table, index).await?;
        cx.exec.check_interrupts().await?;
    }
    Ok(())
}

/// Deletes the keys of an index one by one.
async fn delete_keys(txn: &Arc<Transaction>, seq: Seq, table: &Table, index: &Index) -> Result<()> {
    let request = ScanRequest::new(table.index_span(index)).keys_only().record(CHECKED);
    let request = request.shape(table.key_shape(index).as_ref());
    let mut scanner = txn.scanner(seq.after(), request);
    while let Some(batch) = scanner.next_batch().await.map_err(from_kv)? {
        for (key, _) in batch.iter() {
            txn.delete(seq, key).map_err(from_kv)?;
        }
    }
    Ok(())
}
