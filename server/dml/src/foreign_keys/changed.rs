//! The error of a foreign key that was right when it was checked and may not be at the commit.

use std::borrow::Cow;
use std::sync::Arc;

use braid_catalog::{Catalog, ForeignKey, Table};
use braid_codec::key as stored_key;
use braid_kv::{Conflict, RetryReason};
use braid_rows::Violation;
use braid_types::{Error, FormatSettings, Row, SqlState};

use crate::foreign_keys::link::Link;
use crate::foreign_keys::messages::{Words, no_parent};

/// 23503 of the foreign key whose read has changed; `None` if it is not there any more.
///
/// Of a parent its existence was read, so it is gone. Of children a span was read, into which
/// another transaction has put a child of one of the keys: that is all that is known.
pub fn foreign_key_changed(
    conflict: &Conflict,
    catalog: &Catalog,
    settings: &FormatSettings,
) -> Option<Error> {
    let (child, found) = catalog.tables().iter().find_map(|table| {
        let key = table.foreign_keys.iter().find(|key| key.id == conflict.tag)?;
        Some((table, key))
    })?;
    let link = Link::new(catalog, child, found)?;
    if conflict.reason == RetryReason::ReadChanged {
        let stored = conflict.key.as_deref().unwrap_or_default();
        let places = link.places_of_parents().into_iter();
        let values = places.filter_map(|(table, key)| values_of(stored, table, key)).next()?;
        let own = link.values.for_child(&values).unwrap_or(Cow::Borrowed(&values));
        return Some(no_parent(Words { catalog, settings, user: None }, &link, &own));
    }
    let message = format!(
        "a row that foreign key constraint \"{}\" of table \"{}\" depends on has changed",
        found.name, child.name
    );
    let error = Error::new(SqlState::ForeignKeyViolation, message)
        .table(&catalog.schema_name(child.schema), &child.name)
        .constraint(&found.name)
        .caused_by(Violation::ForeignKey);
    Some(error)
}

/// The values of these columns in a key.
fn values_of(mut stored: &[u8], table: &Arc<Table>, key: &ForeignKey) -> Option<Row> {
    let columns = &key.parent_columns;
    let (data_id, number) = stored_key::decode_prefix(&mut stored).ok()?;
    let index = table.index(number).filter(|_| table.data_id == data_id)?;
    let mut values = vec![None; columns.len()];
    for part in index.keys.iter().take(columns.len()) {
        let ty = &table.column(part.column)?.ty;
        let value = stored_key::decode(&mut stored, ty, part.descending).ok()?;
        let place = columns.iter().position(|column| *column == part.column)?;
        values[place] = Some(value);
    }
    values.into_iter().collect()
}
