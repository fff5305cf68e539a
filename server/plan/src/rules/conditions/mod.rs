//! Conditions rewritten or derived, so that indexes and joins can use them.

pub(crate) mod cannot_fail;
pub(crate) mod equal_columns;
pub(crate) mod factor_or;
pub(crate) mod never_null;
pub(crate) mod null_operands;
pub(crate) mod restrict_by_or;
pub(crate) mod times;
