//! Aggregates whose rows several workers may read.

mod choose;
mod pipeline;

pub(crate) use choose::apply;
