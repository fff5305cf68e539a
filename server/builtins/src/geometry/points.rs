//! Points.

use braid_types::Datum;
use braid_types::geometry::Point;
use braid_types::geometry::arith::{eq, gt, lt};

use super::arguments::point;
use super::results::{datum, number, truth};
use crate::registry::tables::Registry;

pub(super) fn register(registry: &mut Registry) {
    registry.add("point(float8, float8) -> point", |c| {
        datum(Point { x: c.float(0)?, y: c.float(1)? }.to_bytes())
    });
    registry.add("~=(point, point) -> bool", |c| truth(point(c, 0)?.is_at(point(c, 1)?)));
    registry.add("<>(point, point) -> bool", |c| truth(!point(c, 0)?.is_at(point(c, 1)?)));
    registry.add("<<(point, point) -> bool", |c| truth(lt(point(c, 0)?.x, point(c, 1)?.x)));
    registry.add(">>(point, point) -> bool", |c| truth(gt(point(c, 0)?.x, point(c, 1)?.x)));
    for signature in ["<<|(point, point) -> bool", "<^(point, point) -> bool"] {
        registry.add(signature, |c| truth(lt(point(c, 0)?.y, point(c, 1)?.y)));
    }
    for signature in ["|>>(point, point) -> bool", ">^(point, point) -> bool"] {
        registry.add(signature, |c| truth(gt(point(c, 0)?.y, point(c, 1)?.y)));
    }
    for signature in ["?-(point, point) -> bool", "ishorizontal(point, point) -> bool"] {
        registry.add(signature, |c| truth(eq(point(c, 0)?.y, point(c, 1)?.y)));
    }
    for signature in ["?|(point, point) -> bool", "isvertical(point, point) -> bool"] {
        registry.add(signature, |c| truth(eq(point(c, 0)?.x, point(c, 1)?.x)));
    }
    registry.add("<->(point, point) -> float8", |c| number(point(c, 0)?.distance(point(c, 1)?)?));
    registry.add("slope(point, point) -> float8", |c| number(point(c, 0)?.slope(point(c, 1)?)?));
    registry
        .add("+(point, point) -> point", |c| datum(point(c, 0)?.plus(point(c, 1)?)?.to_bytes()));
    registry
        .add("-(point, point) -> point", |c| datum(point(c, 0)?.minus(point(c, 1)?)?.to_bytes()));
    registry
        .add("*(point, point) -> point", |c| datum(point(c, 0)?.times(point(c, 1)?)?.to_bytes()));
    registry
        .add("/(point, point) -> point", |c| datum(point(c, 0)?.over(point(c, 1)?)?.to_bytes()));
    for signature in ["point(lseg) -> point", "point(box) -> point", "point(polygon) -> point"] {
        registry.add(signature, |c| c.cast(0, c.returns));
    }
    registry
        .add("point(circle) -> point", |c| -> braid_types::Result<Datum> { c.cast(0, c.returns) });
}
