//! Conditions rewritten or derived, so that indexes and joins can use them.

pub mod cannot_fail;
pub mod equal_columns;
pub mod factor_or;
pub mod null_operands;
pub mod restrict_by_or;
pub mod times;
