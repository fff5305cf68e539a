//! Numbers that only one kind of store has, for `/metrics`.

use crate::HistogramValues;

/// A number of a store's own. Those of one name follow each other.
#[derive(Clone, Debug)]
pub struct StoreMetric {
    /// The name of its family, with its unit last.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// A label with its value.
    pub label: Option<(&'static str, &'static str)>,
    /// The number.
    pub value: StoreValue,
}

/// What kind of number it is.
#[derive(Clone, Debug)]
pub enum StoreValue {
    /// Only up, since the start.
    Counter(u64),
    /// Up and down.
    Gauge(u64),
    /// Times, in nanoseconds; shown in seconds.
    Times(HistogramValues),
    /// Counts by size.
    Sizes(HistogramValues),
}
