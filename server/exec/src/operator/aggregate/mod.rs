//! GROUP BY, aggregates and DISTINCT.

pub(crate) mod distinct;
pub(crate) mod grouping;
