//! How the entries of a scan are read.

/// How entries are read, and which are wanted.
pub(super) struct ReadOptions<'a, R> {
    /// How a span is read.
    pub request: R,
    /// The entries that are wanted, if that is known; else 0.
    pub limit_rows: usize,
    /// Whether the row of an entry passes the filter.
    pub passes: &'a (dyn Fn(&[u8], &[u8]) -> bool + Send + Sync),
}
