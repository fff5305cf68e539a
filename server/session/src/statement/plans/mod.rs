//! Plans of statements: made, found again, shared between sessions.

pub(crate) mod cache;
pub(crate) mod current_of;
pub(crate) mod planning;
pub(crate) mod sizes;
