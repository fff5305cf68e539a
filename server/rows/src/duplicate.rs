//! The error for a key that must be unique and is there already, made from the key alone.
//!
//! A check that was put off to a barrier or to the commit knows only the key. What it does not
//! know is which of several ways of writing a value the row had, so the check is put off only for
//! types whose keys tell everything ([`keys_are_exact`]).

use braid_catalog::{Catalog, Index, Table, index_key_names, owner_of};
use braid_codec::key;
use braid_types::{Datum, Error, FormatSettings, SqlState};

use crate::errors::{from_codec, show};
use crate::violation::Violation;

/// 23505 with the name of the constraint that `key` belongs to, and its columns' values.
pub fn duplicate_key(key_bytes: &[u8], catalog: &Catalog, settings: &FormatSettings) -> Error {
    let found = owner_of(catalog, key_bytes)
        .and_then(|(table, number)| Some((table, table.index(number)?)));
    let Some((table, index)) = found else {
        let message = "duplicate key value violates unique constraint";
        return Error::new(SqlState::UniqueViolation, message).caused_by(Violation::Unique);
    };
    let mut row = vec![Datum::Null; table.columns.len()];
    let mut rest = key_bytes.get(table.key_prefix(index).len()..).unwrap_or_default();
    for (at, part) in index.keys.iter().enumerate() {
        let place = table.position_of(part.column);
        let Some(place) = place else { continue };
        match key::decode(&mut rest, &table.columns[place].ty, part.descending) {
            Ok(value) => row[place] = value,
            Err(error) => return from_codec(error),
        }
        rest = rest.strip_prefix(&*table.bytes_behind(index, at)).unwrap_or(rest);
    }
    duplicate_row(catalog, table, index, &row, settings)
}

/// 23505 with the constraint's name and the key of a row.
pub fn duplicate_row(
    catalog: &Catalog,
    table: &Table,
    index: &Index,
    row: &[Datum],
    settings: &FormatSettings,
) -> Error {
    let place = |id| table.position_of(id);
    let places = index.keys.iter().filter_map(|key| place(key.column));
    let values: Vec<String> =
        places.map(|place| show(&row[place], &table.columns[place].ty, settings)).collect();
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

/// Whether the unique keys of a table tell the values of their columns exactly.
pub fn keys_are_exact(table: &Table) -> bool {
    let unique = table.all_indexes().filter(|index| index.unique || index.number == 1);
    unique
        .flat_map(|index| &index.keys)
        .all(|part| table.column(part.column).is_some_and(|column| key::is_exact(&column.ty)))
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
