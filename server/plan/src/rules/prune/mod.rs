//! What nobody reads: columns, values that are only counted, and members of `jsonb`.

pub(crate) mod columns;
pub(crate) mod counts;
pub(crate) mod members;
