//! Operators and functions of the geometric types.
//!
//! Coordinates within 0.000001 of each other count as equal where PostgreSQL says so, and are
//! compared exactly where it does not (see [`braid_types::geometry::arith`]).
//!
//! ```text
//! points ◄── lines ◄── segments ◄── boxes ◄── paths ◄── polygons ◄── circles
//! ```

mod arguments;
mod boxes;
mod circles;
mod inside;
mod lines;
mod parts;
mod paths;
mod points;
mod polygons;
mod results;
mod segments;
mod send;

use crate::registry::tables::Registry;

pub(crate) fn register(registry: &mut Registry) {
    points::register(registry);
    lines::register(registry);
    segments::register(registry);
    boxes::register(registry);
    paths::register(registry);
    polygons::register(registry);
    circles::register(registry);
    parts::register(registry);
    send::register(registry);
}
