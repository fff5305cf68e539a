//! Dates, times, timestamps and intervals: operators, the clock, fields and parts.
//!
//! The calendar is `braid_types::datetime`; here are the SQL names and the session's zone.

mod arguments;
mod clock;
mod fields;
mod format;
mod make;
mod operators;
mod timetz;

use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    clock::register(registry);
    fields::register(registry);
    format::register(registry);
    make::register(registry);
    operators::register(registry);
    timetz::register(registry);
}
