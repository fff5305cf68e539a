//! Rows of tables whose columns have collations.

use std::sync::Arc;

use braid_catalog::{Catalog, Column, Table};
use braid_types::SqlType;
use braid_types::sql_type::{RowType, relation_of_row_type};

use super::collation::{is_collatable, stored_collation};
use super::derived::Derived;

/// Whether a type is the row type of a table whose columns have collations, or has it inside.
pub(crate) fn is_collated_row(catalog: &Catalog, ty: &SqlType) -> bool {
    let SqlType::Record(row) = ty.innermost() else { return false };
    let has_own = |table: &Arc<Table>| table.columns.iter().any(|c| c.collation.is_some());
    row_table(catalog, row).is_some_and(has_own)
        || row.iter().any(|(_, ty)| is_collated_row(catalog, ty))
}

/// The table whose row type it is.
fn row_table<'c>(catalog: &'c Catalog, row: &RowType) -> Option<&'c Arc<Table>> {
    let (relation, is_array) = relation_of_row_type(row.name()?.oid)?;
    catalog.table(relation).filter(|_| !is_array)
}

/// Whether columns of a table have collations, or a row with them inside.
pub(super) fn has_collations(catalog: &Catalog, table: &Table) -> bool {
    table
        .columns
        .iter()
        .any(|column| column.collation.is_some() || is_collated_row(catalog, &column.ty))
}

/// What the values of a column have besides what every value of their type has.
pub(super) fn of_column(catalog: &Catalog, column: &Column, ty: &SqlType) -> Option<Derived> {
    match &column.collation {
        Some(stored) if is_collatable(ty) => {
            Some(Derived::Implicit(stored_collation(catalog, stored)))
        }
        _ => row_of(catalog, ty),
    }
}

/// The fields of a table's row, and of an array of such rows, if one of them has a collation.
pub(super) fn row_of(catalog: &Catalog, ty: &SqlType) -> Option<Derived> {
    let SqlType::Record(row) = ty.innermost() else { return None };
    let table = row_table(catalog, row);
    let mut has_one = false;
    let mut fields = Vec::with_capacity(row.len());
    for (place, (_, ty)) in row.iter().enumerate() {
        let number = row.attributes().get(place).map(|attribute| attribute.number);
        let column = table.zip(number).and_then(|(table, number)| table.column(number));
        let own =
            column.map_or_else(|| row_of(catalog, ty), |column| of_column(catalog, column, ty));
        has_one |= own.is_some();
        fields.push(own.unwrap_or_else(|| Derived::of_type(ty)));
    }
    has_one.then_some(Derived::Row(fields))
}
