//! Errors about rows that violate a new constraint.

use braid_catalog::{Catalog, ForeignKey, Index, Table, index_key_names, shown_column};
use braid_types::{Datum, Error, FormatSettings, SqlState};

/// A value as messages show it.
fn shown(datum: &Datum, ty: &braid_types::SqlType) -> String {
    if datum.is_null() {
        return "null".to_owned();
    }
    braid_types::text::to_string(ty, datum, &FormatSettings::default())
}

/// `(a, b)=(1, 2)` of a row.
pub(crate) fn key_detail(
    table: &Table,
    columns: &[braid_catalog::ColumnId],
    row: &[Datum],
) -> String {
    let places = columns.iter().filter_map(|id| table.position_of(*id));
    let (names, values): (Vec<String>, Vec<String>) = places
        .map(|place| {
            let column = &table.columns[place];
            (column.name.clone(), shown(&row[place], &column.ty))
        })
        .unzip();
    format!("({})=({})", names.join(", "), values.join(", "))
}

/// 23505 of an index that cannot be built.
pub(crate) fn not_unique(catalog: &Catalog, table: &Table, index: &Index, row: &[Datum]) -> Error {
    let place = |id| table.position_of(id);
    let places = index.keys.iter().filter_map(|key| place(shown_column(table, key.column)));
    let values: Vec<String> =
        places.map(|place| shown(&row[place], &table.columns[place].ty)).collect();
    let key = format!("({})=({})", index_key_names(catalog, table, index), values.join(", "));
    let message = format!("could not create unique index \"{}\"", index.name);
    Error::new(SqlState::UniqueViolation, message)
        .detail(format!("Key {key} is duplicated."))
        .table(&catalog.schema_name(table.schema), &table.name)
        .constraint(&index.name)
}

/// 23502 of a column that was to be NOT NULL.
pub(crate) fn contains_nulls(table: &Table, place: usize) -> Error {
    let (column, relation) = (&table.columns[place].name, &table.name);
    let message = format!("column \"{column}\" of relation \"{relation}\" contains null values");
    Error::new(SqlState::NotNullViolation, message).column(column)
}

pub(crate) fn no_parent(
    table: &Table,
    parent: &Table,
    key: &ForeignKey,
    row: &[Datum],
    catalog: &Catalog,
) -> Error {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        table.name, key.name
    );
    let shown = key_detail(table, &key.columns, row);
    Error::new(SqlState::ForeignKeyViolation, message)
        .detail(format!("Key {shown} is not present in table \"{}\".", parent.name))
        .table(&catalog.schema_name(table.schema), &table.name)
        .constraint(&key.name)
}
