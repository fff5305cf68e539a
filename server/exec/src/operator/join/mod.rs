//! Joins.

pub(crate) mod build_side;
pub(crate) mod interleaved_join;
pub(crate) mod left_build_join;
pub(crate) mod lookup_join;
pub(crate) mod pairs;
pub(crate) mod plain_join;
