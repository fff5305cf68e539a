//! Functions about the session, the catalog and privileges, as drivers and psql call them.
//!
//! What exists only to please a client answers what a server without that feature would: no
//! recovery, no tablespaces, one encoding.

mod acl;
mod catalog;
mod hashes;
mod large_objects;
mod monitoring;
mod objects;
mod places;
mod privileges;
pub(crate) mod relations;
mod sample;
mod session;
mod sizes;

pub use session::clock_micros;

use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    acl::register(registry);
    catalog::register(registry);
    hashes::register(registry);
    large_objects::register(registry);
    monitoring::register(registry);
    objects::register(registry);
    places::register(registry);
    privileges::register(registry);
    relations::register(registry);
    sample::register(registry);
    session::register(registry);
    sizes::register(registry);
}
