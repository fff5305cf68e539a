//! Functions and operators of types whose values are held as texts.

mod bits;
mod hstore;

pub(crate) use bits::combined;

use braid_types::SqlType;

use crate::registry::tables::Registry;
use crate::scalars::compare::register_alike;

pub(crate) fn register(registry: &mut Registry) {
    use SqlType::{Bit, Citext, Hstore, Varbit};
    for ty in [Bit(0), Varbit(None), Citext, Hstore] {
        register_alike(registry, &ty);
    }
    bits::register(registry);
    hstore::register(registry);
}
