//! Views of statistics: what ANALYZE found, and what relations were used for.

pub(crate) mod columns;
pub(crate) mod extended;
pub(crate) mod relations;
