//! Rows of one operator that several workers share.
//!
//! ```text
//!   operator ──batch──▶ pieces ──▶ worker 1, worker 2, worker 1, …
//! ```
//!
//! The worker that finds no piece reads the next batch. Pieces are small, because one row may lead
//! to many lookups.

use std::sync::Arc;

use braid_types::{Result, Row};
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use crate::operator::parallel::stop_signal::StopSignal;
use crate::operator::{BoxedOperator, ExecutionState, Operator};

/// The pieces of a batch for each worker.
const PIECES_OF_WORKER: usize = 4;
/// The fewest rows of a piece: lookups are made for a piece at once.
const PIECE_ROWS_MIN: usize = 16;

/// The rows of an operator, for several workers.
pub(crate) struct SharedRows {
    input: Mutex<Input>,
    workers: usize,
    stop: Arc<StopSignal>,
}

struct Input {
    operator: BoxedOperator,
    /// What is left of the last batch.
    rows: std::vec::IntoIter<Row>,
    piece_rows: usize,
    is_at_end: bool,
}

impl SharedRows {
    /// The rows of an operator that has not given any.
    pub(crate) fn new(operator: BoxedOperator, workers: usize, stop: Arc<StopSignal>) -> Self {
        let rows = Vec::new().into_iter();
        let input = Input { operator, rows, piece_rows: 0, is_at_end: false };
        Self { input: Mutex::new(input), workers, stop }
    }

    /// The next rows that no worker has; `None` if there are no more, or nobody is to take any.
    async fn take(&self, run: &ExecutionState) -> Result<Option<Vec<Row>>> {
        let mut input = run.cx.cancel.unless_stopped(self.input.lock()).await?;
        if self.stop.is_given() {
            return Ok(None);
        }
        if input.rows.len() == 0 && !input.is_at_end {
            match input.operator.next().await? {
                Some(rows) => {
                    let pieces = self.workers * PIECES_OF_WORKER;
                    input.piece_rows = rows.len().div_ceil(pieces).max(PIECE_ROWS_MIN);
                    input.rows = rows.into_iter();
                }
                None => input.is_at_end = true,
            }
        }
        let piece_rows = input.piece_rows;
        let piece: Vec<Row> = input.rows.by_ref().take(piece_rows).collect();
        Ok((!piece.is_empty()).then_some(piece))
    }
}

/// One worker's share of the rows.
pub(crate) struct SharedRowsScan {
    run: Arc<ExecutionState>,
    shared: Arc<SharedRows>,
}

impl SharedRowsScan {
    /// A share of these rows.
    pub(crate) fn new(run: &Arc<ExecutionState>, shared: Arc<SharedRows>) -> Self {
        Self { run: run.clone(), shared }
    }
}

impl Operator for SharedRowsScan {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.shared.take(&self.run))
    }
}
