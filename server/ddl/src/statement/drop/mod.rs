//! DROP, and what depends on what.

pub(crate) mod column_dependents;
pub(crate) mod dependents;
pub(crate) mod other;
pub(crate) mod relations;
pub(crate) mod run;
pub(crate) mod schema;
