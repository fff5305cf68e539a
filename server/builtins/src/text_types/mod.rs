//! Functions and operators of types whose values are held as texts, and sort keys of texts.

mod alike;
mod bits;
mod collation;
mod hstore;

pub(crate) use bits::combined;
pub use collation::{COLLATION_VERSION, check_locale};

use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    alike::register(registry);
    bits::register(registry);
    collation::register(registry);
    hstore::register(registry);
}
