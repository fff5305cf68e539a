//! Small questions about parts of a statement.

use sqlparser::ast::Expr;
use sqlparser::tokenizer::Span;

/// The 1-based character offset of a span in the text that was parsed, 0 for an unknown one: what
/// [`braid_types::Error::position`] takes.
pub fn offset_of(span: Span) -> u32 {
    crate::rewrite::position(span)
}

/// Whether an expression is the bare word `DEFAULT`, of a `VALUES` row or an assignment.
pub fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(name) if name.quote_style.is_none() && name.value == "default")
}
