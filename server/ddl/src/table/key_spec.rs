//! Keys as CREATE INDEX and CREATE TABLE write them.

use std::sync::Arc;

use braid_catalog::Table;
use braid_sql::ast::{Expr, Ident, IndexKey};
use braid_sql::fold;
use braid_types::{Error, Result, SqlState};

use crate::context::DdlContext;
use crate::names::lookup::folded;
use crate::table::constraints::{KeySpec, SpecKey};
use crate::table::descriptor::wanted_name;
use crate::table::exprs::{index_key_expr, index_predicate};
use crate::table::key_classes::{key_class, key_collation};

/// A key as CREATE INDEX or an inline INDEX writes it, apart from its being unique.
pub(crate) fn index_spec(
    cx: &DdlContext<'_>,
    table: &Table,
    name: Option<&Ident>,
    keys: &[IndexKey],
    storing: &[Ident],
    predicate: Option<&Expr>,
) -> Result<KeySpec> {
    let mut columns: Vec<SpecKey> = Vec::with_capacity(keys.len());
    let shape = Arc::new(table.clone());
    for key in keys {
        let (column, expr) = match key.column() {
            Some(column) => (fold(column), None),
            None => {
                let expr = index_key_expr(cx, &shape, &key.expr.to_string())?;
                let label = match braid_plan::column_name(&key.expr) {
                    name if name == "?column?" => "expr".to_owned(),
                    name => name,
                };
                let taken = |name: &str| columns.iter().any(|other| other.column == name);
                (free_label(&label, taken), Some(expr))
            }
        };
        let of_table = table.visible_columns().find(|known| known.name == column);
        let (ty, collation) = match (&expr, of_table) {
            (Some((_, ty)), _) => (ty, None),
            (None, Some(known)) => (&known.ty, known.collation.as_deref()),
            (None, None) => return Err(undefined_column(&column)),
        };
        let collation = key_collation(key.collation.as_ref(), ty, collation)?;
        let operator_class = key_class(key.opclass.as_ref(), ty)?;
        columns.push(SpecKey {
            column,
            expr,
            descending: key.descending,
            // NULLs come last in ascending and first in descending order.
            nulls_opposed: key.nulls_first.is_some_and(|first| first != key.descending),
            operator_class,
            collation,
        });
    }
    let predicate = match predicate {
        Some(expr) => index_predicate(cx, &Arc::new(table.clone()), expr)?,
        None => None,
    };
    Ok(KeySpec {
        name: wanted_name(name),
        keys: columns,
        storing: folded(storing),
        predicate,
        ..KeySpec::default()
    })
}

fn undefined_column(name: &str) -> Error {
    let message = format!("column \"{name}\" does not exist");
    Error::new(SqlState::UndefinedColumn, message)
}

/// A name for a column of an index that no other column of it has: `expr`, `expr1`, …
fn free_label(label: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1..).map(|number: u32| format!("{label}{number}"));
    let mut names = std::iter::once(label.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}
