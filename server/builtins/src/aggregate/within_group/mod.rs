//! Aggregates with WITHIN GROUP.

mod hypothetical;
mod ordered_set;

pub use hypothetical::hypothetical;
pub use ordered_set::is_ordered_set;
pub(crate) use ordered_set::register;
