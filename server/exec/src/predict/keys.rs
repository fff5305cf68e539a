//! Spans of rows, index entries, parents and children of which some columns are known.

use std::sync::Arc;

use braid_catalog::{ForeignKey, Index, Table};
use braid_codec::key;
use braid_kv::Span;
use braid_rows::{push_column, row_span};

use crate::predict::values::Known;

pub(crate) fn with_generated(table: &Table, mut places: Vec<usize>) -> Vec<usize> {
    let columns = table.columns.iter().enumerate();
    places.extend(columns.filter(|(_, c)| c.generated.is_some()).map(|(place, _)| place));
    places
}

pub(crate) fn places(table: &Table, columns: &[braid_catalog::ColumnId]) -> Vec<usize> {
    let place = |id: &braid_catalog::ColumnId| table.position_of(*id);
    columns.iter().filter_map(place).collect()
}

/// The part of an index that contains a row's entry: one key if the row is known.
pub(crate) fn entry_span(table: &Table, index: &Index, row: &[Known]) -> Span {
    if index.is_inverted() {
        return table.index_span(index);
    }
    let mut out = table.key_prefix(index);
    let rest =
        table.primary.keys.iter().filter(|part| {
            index.number != 1 && index.keys.iter().all(|own| own.column != part.column)
        });
    let mut has_null = false;
    let mut known = 0;
    for (i, part) in index.keys.iter().chain(rest).enumerate() {
        // The entry of a unique key ends with it, unless a NULL makes it one of many.
        if i == index.keys.len() && index.unique && !has_null {
            break;
        }
        let place = table.position_of(part.column);
        let Some((Some(value), column)) =
            place.and_then(|place| Some((row.get(place)?.as_ref(), &table.columns[place])))
        else {
            break;
        };
        has_null |= value.is_null() && !index.nulls_not_distinct;
        key::encode(&mut out, value, &column.ty, part.descending);
        if i < index.keys.len() {
            out.extend_from_slice(&table.bytes_after(index, i));
            known += 1;
        }
    }
    span_of(index, known, out)
}

/// The part of an index with the entries of all rows that have the same key as a row.
pub(crate) fn key_span(table: &Table, index: &Index, row: &[Known]) -> Span {
    let known = index.keys.iter().filter_map(|part| {
        let value = row.get(table.position_of(part.column)?)?;
        Some((&part.column, value))
    });
    let known: Vec<_> = known.collect();
    known_prefix(table, index, &index.keys, &known)
}

/// The part of an index below a key of which this number of columns is known. For a whole row it
/// excludes what is interleaved below the row.
fn span_of(index: &Index, columns_known: usize, key: Vec<u8>) -> Span {
    match columns_known == index.keys.len() && index.has_below() {
        true => row_span(key),
        false => Span::prefix(key),
    }
}

/// Where the parent of these values is: its key, or what is known of it.
pub(crate) fn parent_span(
    parent: &Table,
    foreign_key: &ForeignKey,
    values: &[Known],
) -> Option<Span> {
    let index = parent.all_indexes().find(|index| index.number == foreign_key.parent_index)?;
    let parts = foreign_key.parent_columns.iter().zip(values);
    let known: Vec<_> = parts.collect();
    Some(known_prefix(parent, index, &index.keys, &known))
}

/// Where children with these values are: a part of this index of theirs, or the whole table.
pub(crate) fn child_span(
    child: &Arc<Table>,
    foreign_key: &ForeignKey,
    index: Option<&Index>,
    values: &[Known],
) -> Span {
    match index {
        None => child.index_span(&child.primary),
        Some(index) => {
            let known: Vec<_> = foreign_key.columns.iter().zip(values).collect();
            known_prefix(child, index, &index.keys[..foreign_key.columns.len()], &known)
        }
    }
}

fn known_prefix(
    table: &Table,
    index: &Index,
    keys: &[braid_catalog::IndexKey],
    known: &[(&braid_catalog::ColumnId, &Known)],
) -> Span {
    let mut out = table.key_prefix(index);
    let mut columns_known = 0;
    for (place, part) in keys.iter().enumerate() {
        let value = known.iter().find(|(id, _)| **id == part.column);
        let Some((_, Some(value))) = value else { break };
        if push_column(&mut out, table, index, place, value).is_none() {
            break;
        }
        columns_known += 1;
    }
    span_of(index, columns_known, out)
}
