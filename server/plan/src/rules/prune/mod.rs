//! What nobody reads: columns, and members of `jsonb`.

pub(crate) mod columns;
pub(crate) mod members;
