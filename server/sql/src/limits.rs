//! The limits on a statement's text, and the errors for going beyond them.
//!
//! Deep syntax trees are walked by recursion here, in the planner and when they are dropped, so
//! their depth is bounded before they exist.

use braid_types::{Error, SqlState};

/// `max_statement_bytes`: the longest text that is parsed.
pub const STATEMENT_BYTES_MAX: usize = 64 << 20;

/// The most tokens in one text; bounds the memory that parsing takes (about 100 bytes each).
pub const TOKENS_MAX: usize = 8 << 20;

/// The deepest nesting of parentheses, brackets, subqueries, `CASE` and prefix operators.
pub const NESTING_MAX: usize = 500;

/// The most joins that wait for their `ON` or `USING`, as in `a JOIN b JOIN c ON … ON …`.
pub const OPEN_JOINS_MAX: usize = 100;

/// The deepest nesting of array literals; PostgreSQL's arrays have at most 6 dimensions.
pub const ARRAY_NESTING_MAX: usize = 32;

/// The most `UNION`, `INTERSECT` and `EXCEPT` in one statement.
pub const SET_OPERATIONS_MAX: usize = 2000;

/// The longest chain of operators of one level that are not `AND` or `OR`, such as `1 + 1 + …`.
pub const CHAIN_MAX: usize = 10_000;

/// The longest chain of `AND` or `OR`; long ones become balanced trees.
pub const LOGIC_CHAIN_MAX: usize = 100_000;

/// The most parentheses that open one behind the other at a table; sqlparser tries each as a
/// subquery and as a join.
pub const TABLE_PARENS_MAX: usize = 50;

/// 54001, as PostgreSQL says it.
pub(crate) fn too_deep() -> Error {
    Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded").hint(format!(
        "Statements may nest up to {NESTING_MAX} levels and chain up to {CHAIN_MAX} operators."
    ))
}

/// 54000 for a text of too many bytes.
pub(crate) fn too_long(bytes: usize) -> Error {
    Error::new(
        SqlState::ProgramLimitExceeded,
        format!("statement of {bytes} bytes exceeds max_statement_bytes ({STATEMENT_BYTES_MAX})"),
    )
    .hint("Send bulk data with COPY, or as array parameters with unnest().")
}

/// 54000 for a text of too many tokens.
pub(crate) fn too_many_tokens() -> Error {
    Error::new(
        SqlState::ProgramLimitExceeded,
        format!("statement has more than {TOKENS_MAX} words and symbols"),
    )
    .hint("Send bulk data with COPY, or as array parameters with unnest().")
}
