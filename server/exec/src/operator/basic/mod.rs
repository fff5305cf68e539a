//! VALUES, projection, LIMIT, set operations and WITH.

pub(crate) mod append;
pub(crate) mod limit;
pub(crate) mod merge_append;
pub(crate) mod project;
pub(crate) mod set_op;
pub(crate) mod values;
pub(crate) mod with;
