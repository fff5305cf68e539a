//! How deep expressions may nest.

use crate::{Error, SqlState};

/// How deep expressions may nest.
pub const NESTING_MAX: usize = 1000;

/// 54001: an expression that nests too deep.
pub(super) fn too_deep() -> Error {
    Error::new(SqlState::StatementTooComplex, "stack depth limit exceeded")
        .hint(format!("A jsonpath may nest at most {NESTING_MAX} deep."))
}
