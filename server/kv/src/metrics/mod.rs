//! Counters and histograms of the kv layer and its stores.

mod counters;
mod histogram;
mod sharded;
mod statement_waits;
mod store_metric;

pub(crate) use counters::Counters;
pub use counters::KvMetrics;
pub use histogram::{BOUNDS_MAX, COUNT_BOUNDS, Histogram, HistogramValues, TIME_BOUNDS};
pub use sharded::Sharded;
pub use statement_waits::StatementWaits;
pub(crate) use statement_waits::lock_wait;
pub use store_metric::{StoreMetric, StoreValue};
