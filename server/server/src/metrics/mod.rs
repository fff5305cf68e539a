//! Numbers about the server, for `/metrics` and `braid_internal`.

mod collect;
mod metric;

pub use metric::{Metric, MetricKind};
