//! Whole rows of items of FROM.

use braid_types::{Result, SqlType};

use super::columns::{Scope, ScopeColumn, ScopeTable};
use crate::bind::Binder;
use crate::bind::expr::operators::record;
use crate::bind::expr::scalar::read_column;
use crate::bind::from::presence::row_if_present;
use crate::tree::expr::Expr;

/// The whole row of an item of FROM, which is NULL where an outer join found none.
pub(crate) fn whole_row(
    binder: &mut Binder<'_>,
    scope: &Scope,
    (schema, table): (Option<&str>, &str),
) -> Result<Expr> {
    let mut columns: Vec<&ScopeColumn> = scope.columns_of(schema, table).collect();
    let item = scope.tables.iter().find(|known| known.is_named(schema, table));
    if item.is_some_and(|item| item.relation.is_some()) {
        // The columns of a view that is changed come in the order of its table.
        columns.sort_by_key(|column| column.origin.1);
    }
    if let [column] = columns[..]
        && column.is_row
    {
        return read_column(binder, column);
    }
    let fields = columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
    let items = columns.into_iter().map(|c| read_column(binder, c)).collect::<Result<_>>()?;
    let row = record(items, fields)?;
    let row = named_row(binder, row, table, scope);
    let presence = item.and_then(|item| item.presence.clone());
    Ok(row_if_present(row, presence))
}

/// The row of a relation, which has a type of its own.
fn named_row(binder: &Binder<'_>, row: Expr, table: &str, scope: &Scope) -> Expr {
    let is_relation = |known: &&ScopeTable| known.name == table && known.relation.is_some();
    let column = scope.columns.iter().find(|column| column.table == table && !column.hidden);
    let (Expr::Row(items, SqlType::Record(_)), Some(column), Some(_)) =
        (&row, column, scope.tables.iter().find(is_relation))
    else {
        return row;
    };
    let catalog = binder.cx.catalog;
    let relation = catalog.relation(column.origin.0);
    match relation.and_then(|relation| catalog.names().row_types().of_relation(&relation)) {
        Some(known)
            if known.len() == items.len()
                && known.iter().zip(items).all(|((_, ty), item)| *ty == item.ty()) =>
        {
            Expr::Row(items.clone(), SqlType::Record(known))
        }
        _ => row,
    }
}
