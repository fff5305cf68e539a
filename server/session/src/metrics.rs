//! Numbers about the server, for `/metrics` and `braid_internal`.

/// How a metric moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only up, since the start.
    Counter,
    /// Up and down.
    Gauge,
}

/// One number.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name, with its unit last.
    pub name: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// How it moves.
    pub kind: MetricKind,
    /// A label with its value.
    pub label: Option<(&'static str, String)>,
    /// The number.
    pub value: f64,
}

impl Metric {
    pub(crate) fn counter(name: &'static str, help: &'static str, value: f64) -> Metric {
        Metric { name, help, kind: MetricKind::Counter, label: None, value }
    }

    pub(crate) fn gauge(name: &'static str, help: &'static str, value: f64) -> Metric {
        Metric { name, help, kind: MetricKind::Gauge, label: None, value }
    }

    pub(crate) fn label(mut self, key: &'static str, value: impl Into<String>) -> Metric {
        self.label = Some((key, value.into()));
        self
    }
}
