//! Whole rows of items of FROM.

use braid_types::{Result, SqlType};

use super::columns::{Scope, ScopeColumn, ScopeTable};
use crate::bind::Binder;
use crate::bind::expr::operators::record;
use crate::bind::expr::scalar::read_column;
use crate::tree::expr::Expr;

/// The columns of an item of FROM as one row.
pub(crate) fn whole_row<'s>(
    binder: &mut Binder<'_>,
    columns: impl Iterator<Item = &'s ScopeColumn>,
) -> Result<Expr> {
    let columns: Vec<&ScopeColumn> = columns.collect();
    if let [column] = columns[..]
        && column.is_row
    {
        return read_column(binder, column);
    }
    let fields = columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
    let items = columns.into_iter().map(|c| read_column(binder, c)).collect::<Result<_>>()?;
    record(items, fields)
}

/// The row of a relation, which has a type of its own.
pub(crate) fn named_row(binder: &Binder<'_>, row: Expr, table: &str, scope: &Scope) -> Expr {
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
