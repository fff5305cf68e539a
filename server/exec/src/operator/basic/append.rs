//! The rows of several inputs, one after the other: those of a table's partitions, or what their
//! changes return.

use std::sync::Arc;

use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::state::ExecutionState;
use crate::operator::{BoxedOperator, Operator};

/// The rows of several inputs.
pub(crate) struct AppendOperator {
    /// The inputs that are still to be read, the next one last.
    inputs: Vec<BoxedOperator>,
    run: Arc<ExecutionState>,
}

impl AppendOperator {
    /// The rows of these inputs, in order.
    pub(crate) fn new(mut inputs: Vec<BoxedOperator>, run: &Arc<ExecutionState>) -> Self {
        inputs.reverse();
        Self { inputs, run: run.clone() }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        while let Some(input) = self.inputs.last_mut() {
            if let Some(batch) = input.next().await? {
                return Ok(Some(batch));
            }
            self.inputs.pop();
            self.run.check_interrupts().await?;
        }
        Ok(None)
    }
}

impl Operator for AppendOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn is_done(&self) -> bool {
        self.inputs.is_empty()
    }
}
