//! Keys of indexes that are sort keys of texts.
//!
//! An index with a collation of ICU has a hidden column for its key, whose expression is
//! `braid_sort_key(text, locale)`. What clients see is the text and the collation.

use braid_sql::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value};

use crate::descriptor::IdentifiedExpr;
use crate::{Column, ColumnId, StoredExpr};

/// The text of a sort key.
#[derive(Clone, Debug)]
pub struct SortedText {
    /// The text.
    pub expr: StoredExpr,
    /// The column that it is, if it is one.
    pub column: Option<ColumnId>,
    /// The locale of the collation.
    pub locale: String,
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
        let is_column = matches!(text, Expr::CompoundIdentifier(_) | Expr::Identifier(_));
        let column = match stored.columns.as_slice() {
            [id] if is_column => Some(*id),
            _ => None,
        };
        let sql = braid_sql::stored_expr_text(text).ok()?;
        let expr = StoredExpr::Identified(IdentifiedExpr { sql, ..stored.clone() });
        Some(SortedText { expr, column, locale })
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
