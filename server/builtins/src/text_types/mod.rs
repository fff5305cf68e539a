//! Functions and operators of types whose values are held as texts, and sort keys of texts.

mod bits;
mod collation;
mod hstore;

pub(crate) use bits::combined;
pub use collation::{COLLATION_VERSION, check_locale};

use braid_types::SqlType;

use crate::registry::tables::Registry;
use crate::scalars::compare::register_alike;

pub(crate) fn register(registry: &mut Registry) {
    use SqlType::{Bit, Citext, Hstore, Varbit};
    for ty in [Bit(0), Varbit(None), Citext, Hstore] {
        register_alike(registry, &ty);
    }
    bits::register(registry);
    collation::register(registry);
    hstore::register(registry);
}
