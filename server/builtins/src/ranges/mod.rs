//! Functions and operators of ranges and multiranges.
//!
//! Here: how ranges are made of bounds and of each other (`construct`), what is asked of one
//! (`parts`), and what is asked of two (`operators`). Not here: what the answers are
//! (`braid_types::range`), aggregates (`aggregate`), comparisons (`scalars::compare`).

mod construct;
mod operators;
mod parts;

use crate::registry::tables::Registry;

pub(crate) use parts::range_datum;

pub(crate) fn register(registry: &mut Registry) {
    construct::register(registry);
    operators::register(registry);
    parts::register(registry);
}
