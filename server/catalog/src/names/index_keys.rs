//! The keys of an index as text: for its definition and for the details of errors.

use crate::{Catalog, CatalogNames, Column, ColumnId, Index, Table};
use braid_sql::quote_ident;

/// A column's name as SQL writes it.
pub fn column_label(table: &Table, id: ColumnId) -> String {
    table.column(id).map_or_else(|| id.to_string(), |column| quote_ident(&column.name))
}

/// A column of an index: a column of the table, or an expression.
pub fn index_column_text(
    names: CatalogNames<'_>,
    table: &Table,
    id: ColumnId,
    pretty: bool,
) -> String {
    match table.column(id) {
        Some(column @ Column { is_key_expr: true, generated: Some(expr), .. }) => {
            match column.sorted_text() {
                Some(sorted) => match sorted.column_of(table) {
                    Some(id) => column_label(table, id),
                    None => names.key_expr(table, &sorted.expr, pretty),
                },
                None => names.key_expr(table, expr, pretty),
            }
        }
        _ => column_label(table, id),
    }
}

/// `(a, lower(b))`: the keys of an index, as details of errors show them.
pub fn index_key_names(catalog: &Catalog, table: &Table, index: &Index) -> String {
    let names = CatalogNames { catalog, path: None };
    let keys = index.keys.iter();
    let texts: Vec<String> =
        keys.map(|key| index_column_text(names, table, key.column, true)).collect();
    texts.join(", ")
}
