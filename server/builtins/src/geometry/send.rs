//! The binary forms of the values, which are the values' own bytes.

use crate::registry::tables::Registry;

pub(super) fn register(registry: &mut Registry) {
    for signature in [
        "point_send(point) -> bytea",
        "lseg_send(lseg) -> bytea",
        "path_send(path) -> bytea",
        "box_send(box) -> bytea",
        "poly_send(polygon) -> bytea",
        "line_send(line) -> bytea",
        "circle_send(circle) -> bytea",
    ] {
        registry.add(signature, |c| Ok(c.datum(0).clone()));
    }
}
