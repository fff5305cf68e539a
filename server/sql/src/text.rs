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

/// Stack that must be free for a tree as deep as the limits allow, in an unoptimized build too.
const STACK_FREE: usize = 24 << 20;

/// The stack that is taken where less is free.
const STACK_TAKEN: usize = 64 << 20;

/// Runs work that walks a statement's tree by recursion (binding, planning, cloning, dropping)
/// with enough stack for the deepest tree that the parser lets through. Costs nothing on a
/// thread with that much stack, else a mapping of memory that is used as far as needed.
pub fn deep_stack<R>(run: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(STACK_FREE, STACK_TAKEN, run)
}
