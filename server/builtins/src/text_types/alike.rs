//! Comparisons of two values of one type.

use braid_types::SqlType::{Bit, Citext, Hstore, Varbit};

use crate::registry::tables::Registry;
use crate::scalars::compare::register_alike;

pub(super) fn register(registry: &mut Registry) {
    for ty in [Bit(0), Varbit(None), Citext, Hstore] {
        register_alike(registry, &ty);
    }
}
