//! Aggregates: found by name and types, fed row by row.
//!
//! ORDER BY, DISTINCT and FILTER inside an aggregate call are `exec`'s: rows arrive here sorted,
//! distinct and filtered. Ordered-set aggregates (`percentile_cont … WITHIN GROUP`) get their
//! direct arguments first in each row, then the sorted value.

mod accumulator;
mod bits;
mod collect;
mod count;
mod definition;
mod extreme;
mod json;
mod ranges;
mod resolve;
mod statistics;
mod steps;
mod sum;
mod within_group;

pub use accumulator::Accumulator;
pub(crate) use definition::AggregateSignature;
pub use definition::{Aggregate, AggregateMeaning, RowOrder};
pub use resolve::{ResolvedAggregate, resolve_aggregate};
pub use within_group::{hypothetical, is_ordered_set};

use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    bits::register(registry);
    count::register(registry);
    sum::register(registry);
    extreme::register(registry);
    collect::register(registry);
    statistics::register(registry);
    json::register(registry);
    within_group::register(registry);
    steps::register(registry);
    ranges::register(registry);
}
