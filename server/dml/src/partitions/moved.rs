//! Rows that an UPDATE has taken from their partitions.

use std::collections::HashMap;
use std::sync::Arc;

use braid_catalog::Id;
use braid_exec::{ExecutionState, Operator, row_bytes};
use braid_plan::Moves;
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

/// Rows on their way to another partition, by the table that the statement names.
#[derive(Default)]
pub(crate) struct MovedRows(Mutex<HashMap<Id, Vec<Row>>>);

impl MovedRows {
    /// Takes a row of a partition; it counts for the memory of the statement.
    pub(crate) fn push(&self, run: &ExecutionState, moves: &Moves, row: &[Datum]) -> Result<()> {
        run.cx.memory.take(row_bytes(row))?;
        let value = |place: &Option<usize>| place.and_then(|place| row.get(place)).cloned();
        let moved = moves.places.iter().map(|place| value(place).unwrap_or(Datum::Null));
        self.0.lock().entry(moves.root).or_default().push(moved.collect());
        Ok(())
    }

    fn take(&self, root: Id) -> Option<Vec<Row>> {
        self.0.lock().remove(&root).filter(|rows| !rows.is_empty())
    }
}

/// Gives the moved rows of a table.
pub(super) struct MovedInput {
    pub(super) moved: Arc<MovedRows>,
    pub(super) root: Id,
}

impl Operator for MovedInput {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(async { Ok(self.moved.take(self.root)) })
    }
}

/// The input of an INSERT that is given its rows.
pub(super) struct NoInput;

impl Operator for NoInput {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(async { Ok(None) })
    }
}
