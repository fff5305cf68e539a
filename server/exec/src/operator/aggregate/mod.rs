//! GROUP BY, aggregates and DISTINCT.

pub(crate) mod call;
pub(crate) mod distinct;
pub(crate) mod fold;
pub(crate) mod group_runs;
pub(crate) mod grouping;
