//! The list of families; each registers its own functions.

use crate::registry::Registry;
use crate::{
    aggregate, arrays, casts, compare, datetimes, enums, floats, integers, json, lsns, macs,
    networks, numerics, sets, strings, system, uuids,
};

pub(crate) fn register(registry: &mut Registry) {
    compare::register(registry);
    integers::register(registry);
    floats::register(registry);
    numerics::register(registry);
    lsns::register(registry);
    networks::register(registry);
    macs::register(registry);
    strings::register(registry);
    enums::register(registry);
    uuids::register(registry);
    arrays::register(registry);
    json::register(registry);
    datetimes::register(registry);
    sets::register(registry);
    system::register(registry);
    casts::register(registry);
    aggregate::register(registry);
}
