//! The rows of a stream as the input of an operator.

use std::sync::Arc;

use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::{ExecutionState, Operator};
use crate::spill::stream::{RowReader, RowStream};

/// The rows of a stream.
pub(crate) struct StreamScan {
    run: Arc<ExecutionState>,
    reader: RowReader,
}

impl StreamScan {
    /// Reads a stream from its begin.
    pub(crate) fn new(run: &Arc<ExecutionState>, stream: Arc<RowStream>) -> Box<Self> {
        Box::new(Self { run: run.clone(), reader: RowReader::new(stream) })
    }
}

impl Operator for StreamScan {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(async move {
            self.run.check_interrupts().await?;
            self.reader.next_batch()
        })
    }
}
