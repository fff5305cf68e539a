//! Numbers about the server, for `/metrics` and `braid_internal`.

use braid_kv::{HistogramValues, StoreMetric, StoreValue};

/// How a metric moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only up, since the start.
    Counter,
    /// Up and down.
    Gauge,
    /// Counts by size, in samples `_bucket`, `_sum` and `_count`.
    Histogram,
}

impl MetricKind {
    /// The word for it, as Prometheus has it.
    pub fn as_str(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        }
    }
}

/// One number. Those of one name follow each other.
#[derive(Clone, Debug)]
pub struct Metric {
    /// The name of its family, with its unit last.
    pub name: &'static str,
    /// What comes behind the name: `_bucket`, `_sum` or `_count` of a histogram, else nothing.
    pub suffix: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// How it moves.
    pub kind: MetricKind,
    /// Labels with their values.
    pub labels: Vec<(&'static str, String)>,
    /// The number.
    pub value: f64,
}

impl Metric {
    fn new(name: &'static str, help: &'static str, kind: MetricKind, value: f64) -> Metric {
        Metric { name, suffix: "", help, kind, labels: Vec::new(), value }
    }

    pub(crate) fn counter(name: &'static str, help: &'static str, value: f64) -> Metric {
        Metric::new(name, help, MetricKind::Counter, value)
    }

    pub(crate) fn gauge(name: &'static str, help: &'static str, value: f64) -> Metric {
        Metric::new(name, help, MetricKind::Gauge, value)
    }

    /// The samples of a histogram whose values are counted in `units` to one.
    pub(crate) fn histogram(
        name: &'static str,
        help: &'static str,
        units: f64,
        values: &HistogramValues,
    ) -> Vec<Metric> {
        let sample = |suffix, value| Metric {
            suffix,
            ..Metric::new(name, help, MetricKind::Histogram, value)
        };
        let bounds = values.bounds.iter().map(|bound| (*bound as f64 / units).to_string());
        let mut below = 0;
        let mut samples = Vec::new();
        for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(values.counts) {
            below += count;
            samples.push(sample("_bucket", below as f64).label("le", bound));
        }
        samples.push(sample("_sum", values.sum as f64 / units));
        samples.push(sample("_count", below as f64));
        samples
    }

    pub(crate) fn label(mut self, key: &'static str, value: impl Into<String>) -> Metric {
        self.labels.push((key, value.into()));
        self
    }

    /// The samples of a histogram of times with these labels.
    pub(crate) fn labelled_times(
        name: &'static str,
        help: &'static str,
        labels: &[(&'static str, &str)],
        nanos: &HistogramValues,
    ) -> Vec<Metric> {
        const NANOS: f64 = 1e9;
        let labels = labels.iter().map(|(key, value)| (*key, (*value).to_owned()));
        let mut samples = Metric::histogram(name, help, NANOS, nanos);
        for sample in &mut samples {
            sample.labels.splice(..0, labels.clone());
        }
        samples
    }

    /// A store's own number, in as many samples as it takes.
    pub(crate) fn of_store(metric: StoreMetric) -> Vec<Metric> {
        const NANOS: f64 = 1e9;
        let StoreMetric { name, help, label, value } = metric;
        let mut samples = match value {
            StoreValue::Counter(value) => vec![Metric::counter(name, help, value as f64)],
            StoreValue::Gauge(value) => vec![Metric::gauge(name, help, value as f64)],
            StoreValue::Times(values) => Metric::histogram(name, help, NANOS, &values),
            StoreValue::Sizes(values) => Metric::histogram(name, help, 1.0, &values),
        };
        for sample in &mut samples {
            sample.labels.splice(..0, label.map(|(key, value)| (key, value.to_owned())));
        }
        samples
    }
}
