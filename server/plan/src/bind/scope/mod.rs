//! Names in scope, the place of an expression, and the places of errors.

pub(crate) mod columns;
pub(crate) mod context;
pub(crate) mod lock_clause;
pub(crate) mod names;
pub(crate) mod notes;
pub(crate) mod places;
pub(crate) mod rows;
pub(crate) mod text_places;
pub(crate) mod untyped;
pub(crate) mod variables;
pub(crate) mod windows;
