//! The error for a key that must be unique and is there already, made from the key alone.
//!
//! A check that was deferred to a barrier or to the commit knows only the key. What it does not
//! know is which of several ways of writing a value the row had, so the check is deferred only for
//! types whose keys tell everything ([`keys_are_exact`]).

use braid_catalog::{Catalog, Index, IndexKey, Table, index_key_names, owner_of, shown_column};
use braid_codec::key;
use braid_types::{Datum, Error, FormatSettings, Result, Row, SqlState};

use crate::errors::show;
use crate::key_part::{after_prefix, parts};
use crate::violation::Violation;

/// 23505 with the name of the constraint that `key` belongs to, and its columns' values.
pub fn duplicate_key(key_bytes: &[u8], catalog: &Catalog, settings: &FormatSettings) -> Error {
    let found = owner_of(catalog, key_bytes)
        .and_then(|(table, number)| Some((table, table.index(number)?)));
    let Some((table, index)) = found else {
        let message = "duplicate key value violates unique constraint";
        return Error::new(SqlState::UniqueViolation, message).caused_by(Violation::Unique);
    };
    match row_of_key(key_bytes, table, index) {
        Ok(row) => duplicate_row(catalog, table, index, &row, settings),
        Err(broken) => broken,
    }
}

/// A row with the values that a key of a unique index has; the rest is NULL.
fn row_of_key(key_bytes: &[u8], table: &Table, index: &Index) -> Result<Row> {
    let mut row = vec![Datum::Null; table.columns.len()];
    let mut rest = after_prefix(key_bytes, table.key_prefix(index).len())?;
    for part in parts(table, index)? {
        row[part.place] = part.decode(&mut rest)?;
    }
    Ok(row)
}

/// 23505 with the constraint's name and the key of a row; XX000 if the table has not all columns
/// of the index.
pub fn duplicate_row(
    catalog: &Catalog,
    table: &Table,
    index: &Index,
    row: &[Datum],
    settings: &FormatSettings,
) -> Error {
    let shown = |part: &IndexKey| {
        let place = table.place_of(shown_column(table, part.column))?;
        Ok(show(&row[place], &table.columns[place].ty, settings))
    };
    let values: Vec<String> = match index.keys.iter().map(shown).collect::<Result<_>>() {
        Ok(values) => values,
        Err(broken) => return broken,
    };
    let names = index_key_names(catalog, table, index);
    let key = format!("({names})=({})", values.join(", "));
    Error::new(
        SqlState::UniqueViolation,
        format!("duplicate key value violates unique constraint \"{}\"", index.name),
    )
    .detail(format!("Key {key} already exists."))
    .table(&catalog.schema_name(table.schema), &table.name)
    .constraint(&index.name)
    .caused_by(Violation::Unique)
}

/// Whether the values of a table's unique columns can be read exactly from their keys.
pub fn keys_are_exact(table: &Table) -> bool {
    let unique = table.all_indexes().filter(|index| index.unique || index.number == 1);
    unique
        .flat_map(|index| &index.keys)
        .map(|part| table.column(part.column))
        // A column that is missing is not known to be exact.
        .all(|column| column.is_some_and(|c| key::is_exact(&c.ty) && c.sorted_text().is_none()))
}

/// Columns that UPSERT changes in a row that is there: the key's own stay, except where equal
/// keys may be written differently (numeric scale).
pub fn replaced_places(table: &Table, targets: &[usize]) -> Vec<usize> {
    let stays = |place: &usize| {
        let column = &table.columns[*place];
        table.primary.keys.iter().any(|key| key.column == column.id) && key::is_exact(&column.ty)
    };
    targets.iter().copied().filter(|place| !stays(place)).collect()
}
