//! What scans see of an entry of a WITH.

use std::sync::Arc;

use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

/// The rows of an entry of a WITH, computed as far as somebody reads them.
pub(crate) trait CteRows: Send + Sync {
    /// Reads chosen columns of the rows from their begin: of all rows, or of those that the
    /// recursive term reads in this round.
    fn reader(self: Arc<Self>, working: bool, places: Vec<usize>) -> Box<dyn CteReader>;
}

/// A reader of rows of an entry of a WITH.
pub(crate) trait CteReader: Send {
    /// The next rows, about a batch; none at the end.
    fn next(&mut self) -> BoxFuture<'_, Result<Vec<Row>>>;
}
