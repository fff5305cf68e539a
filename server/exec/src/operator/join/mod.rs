//! Joins.

pub(crate) mod build_side;
pub(crate) mod hash_table;
pub(crate) mod interleaved_join;
pub(crate) mod joined;
pub(crate) mod keys;
pub(crate) mod left_build_join;
pub(crate) mod loaded;
pub(crate) mod lookup;
pub(crate) mod pairs;
pub(crate) mod plain_join;
pub(crate) mod probe_side;
