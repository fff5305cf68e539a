//! Keys of indexes that are sort keys of texts.
//!
//! An index with a collation of ICU has a hidden column for its key, whose expression is
//! `braid_sort_key(text, locale)`. What clients see is the text and the collation.

use braid_sql::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

use crate::descriptor::IdentifiedExpr;
use crate::{Column, ColumnId, Index, StoredExpr, Table};

/// The text of a sort key.
#[derive(Clone, Debug)]
pub struct SortedText {
    /// The text.
    pub expr: StoredExpr,
    /// The column that it is, if it is one, perhaps cast to `text`.
    column: Option<ColumnId>,
    is_cast: bool,
    /// The locale of the collation.
    pub locale: String,
}

impl SortedText {
    /// The column of a table that it is, if it is one. The stored form casts a `varchar` to `text`.
    pub fn column_of(&self, table: &Table) -> Option<ColumnId> {
        let column = table.column(self.column?)?;
        (!self.is_cast || column.ty.is_string()).then_some(column.id)
    }
}

impl Column {
    /// The text of which the column is the sort key, if it is the key of an index and one.
    pub fn sorted_text(&self) -> Option<SortedText> {
        let StoredExpr::Identified(stored) = self.generated.as_ref()? else { return None };
        if !self.is_key_expr || !stored.sql.contains("braid_") {
            return None;
        }
        let Expr::Function(function) = braid_sql::parse_expr(&stored.sql).ok()? else {
            return None;
        };
        let name = function.name.0.last()?.as_ident()?;
        if !matches!(name.value.as_str(), "braid_sort_key" | "braid_equality_key") {
            return None;
        }
        let FunctionArguments::List(list) = &function.args else { return None };
        let [text, locale] = list.args.as_slice() else { return None };
        let (text, locale) = (unnamed(text)?, constant(unnamed(locale)?)?);
        let is_column = is_column(text);
        let column = match stored.columns.as_slice() {
            [id] if is_column => Some(*id),
            _ => None,
        };
        let sql = braid_sql::stored_expr_text(text).ok()?;
        let expr = StoredExpr::Identified(IdentifiedExpr { sql, ..stored.clone() });
        let is_cast = !matches!(text, Expr::CompoundIdentifier(_) | Expr::Identifier(_));
        Some(SortedText { expr, column, is_cast, locale })
    }
}

/// The column whose value messages show for a column of an index: of a sort key that of its text.
pub fn shown_column(table: &Table, id: ColumnId) -> ColumnId {
    let sorted = table.column(id).and_then(Column::sorted_text);
    sorted.and_then(|sorted| sorted.column_of(table)).unwrap_or(id)
}

/// The key columns of an index as clients see them: of a sort key the column of its text.
pub fn shown_key_columns(table: &Table, index: &Index) -> Vec<ColumnId> {
    index.keys.iter().map(|key| shown_column(table, key.column)).collect()
}

/// Whether a text is a column, perhaps cast to `text` by the stored form.
fn is_column(text: &Expr) -> bool {
    match text {
        Expr::CompoundIdentifier(_) | Expr::Identifier(_) => true,
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_column(expr),
        _ => false,
    }
}

fn unnamed(arg: &FunctionArg) -> Option<&Expr> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// A string, which the stored form may have with its type.
fn constant(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        Expr::Cast { expr, .. } | Expr::Nested(expr) => constant(expr),
        _ => None,
    }
}
