//! The error of a foreign key that was right when it was checked and is not at the commit.

use std::sync::Arc;

use braid_catalog::{Catalog, ForeignKey, IndexNumber, Table};
use braid_codec::key;
use braid_kv::{Conflict, RetryReason};
use braid_types::{Datum, Error, FormatSettings, Row};

use super::link::Link;
use super::messages::{Words, no_parent, still_referenced};

/// 23503 of the foreign key whose read has changed, as its check would have said it; `None` if it
/// is not there any more.
pub fn foreign_key_changed(
    conflict: &Conflict,
    catalog: &Catalog,
    settings: &FormatSettings,
) -> Option<Error> {
    let (child, found) = catalog.tables().find_map(|table| {
        let key = table.foreign_keys.iter().find(|key| key.id == conflict.tag)?;
        Some((table, key))
    })?;
    let link = Link::new(catalog, child, found)?;
    let words = Words { catalog, settings };
    let stored = conflict.key.as_deref().unwrap_or_default();
    // Of parents single keys are read, of children what begins with a key.
    let (table, columns, of_parent) = match conflict.reason {
        RetryReason::ReadChanged => (&link.parent, &found.parent_columns, true),
        _ => (&link.child, &found.columns, false),
    };
    let values = values_of(stored, table, columns);
    let known = values.is_some();
    let values = values.unwrap_or_else(|| nothing(found));
    let error = match of_parent {
        true => no_parent(words, &link, &values),
        false => still_referenced(words, &link, &values),
    };
    if known { Some(error) } else { Some(without_detail(&error)) }
}

fn nothing(key: &ForeignKey) -> Row {
    vec![Datum::Null; key.columns.len()]
}

fn without_detail(error: &Error) -> Error {
    let fields = error.fields();
    let table = fields.table.as_deref().unwrap_or_default();
    Error::new(fields.state, fields.message.clone())
        .table(fields.schema.as_deref().unwrap_or_default(), table)
        .constraint(fields.constraint.as_deref().unwrap_or_default())
}

/// The values of these columns in a key, or the beginning of one.
fn values_of(
    mut stored: &[u8],
    table: &Arc<Table>,
    columns: &[braid_catalog::ColumnId],
) -> Option<Row> {
    let (data_id, number): (u32, IndexNumber) = key::decode_prefix(&mut stored).ok()?;
    let index = table.index(number).filter(|_| table.data_id == data_id)?;
    let mut values = vec![None; columns.len()];
    for part in index.keys.iter().take(columns.len()) {
        let ty = &table.column(part.column)?.ty;
        let value = key::decode(&mut stored, ty, part.descending).ok()?;
        let place = columns.iter().position(|column| *column == part.column)?;
        values[place] = Some(value);
    }
    values.into_iter().collect()
}
