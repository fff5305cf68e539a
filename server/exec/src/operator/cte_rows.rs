//! What scans see of an entry of a WITH.

use std::sync::Arc;

use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

/// The rows of an entry of a WITH, computed as far as somebody reads them.
pub(crate) trait CteRows: Send + Sync {
    /// Chosen columns of the rows from this place on that are there already, at most a batch.
    fn copy(&self, from: usize, places: &[usize]) -> Vec<Row>;

    /// The rows that the recursive term reads in this round.
    fn working(&self) -> Arc<Vec<Row>>;

    /// Makes more rows; false at the end.
    fn advance(&self) -> BoxFuture<'_, Result<bool>>;
}
