//! The list of families; each registers its own functions.

use super::tables::Registry;
use crate::numbers::{floats, integers, numerics};
use crate::scalars::{arrays, casts, compare, enums, images, lsns, macs, money, networks, uuids};
use crate::{
    aggregate, datetimes, geometry, json, ranges, search, sets, strings, system, text_types,
};

pub(crate) fn register(registry: &mut Registry) {
    compare::register(registry);
    images::register(registry);
    compare::register_search(registry);
    integers::register(registry);
    floats::register(registry);
    numerics::register(registry);
    lsns::register(registry);
    networks::register(registry);
    macs::register(registry);
    money::register(registry);
    geometry::register(registry);
    strings::register(registry);
    text_types::register(registry);
    enums::register(registry);
    uuids::register(registry);
    arrays::register(registry);
    ranges::register(registry);
    json::register(registry);
    datetimes::register(registry);
    sets::register(registry);
    search::register(registry);
    system::register(registry);
    casts::register(registry);
    aggregate::register(registry);
}
