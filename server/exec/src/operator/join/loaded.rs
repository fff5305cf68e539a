//! The rows of a build side in memory, and their hash table.

use std::sync::Arc;

use braid_types::{Result, Row};

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::join::hash_table::HashTable;
use crate::operator::join::keys::KeyExprs;
use crate::operator::reservation::MemoryReservation;
use crate::operator::{BATCH_ROWS, ExecutionState};

/// No further row.
pub(crate) const END: usize = usize::MAX;

/// Memory of a row in the hash table, roughly.
const ENTRY_BYTES: usize = 64;

/// What is in memory of a side.
pub(crate) struct Loaded {
    pub(crate) rows: Vec<Row>,
    /// How many of them are in the hash table.
    pub(crate) hashed: usize,
    /// The hash table, if the side has keys.
    pub(crate) table: Option<HashTable>,
    /// For each row the next one with the same key.
    pub(crate) chain: Vec<usize>,
    pub(crate) held: MemoryReservation,
}

impl Loaded {
    /// Nothing yet.
    pub(crate) fn new(keys: Option<&Arc<KeyExprs>>, run: &Arc<ExecutionState>) -> Self {
        Self {
            rows: Vec::new(),
            hashed: 0,
            table: keys.map(|keys| keys.table()),
            chain: Vec::new(),
            held: MemoryReservation::new(run),
        }
    }

    /// Counts rows; false if there is no room for more.
    pub(crate) fn count(&mut self, batch: &[Row]) -> Result<bool> {
        let bytes: usize = batch.iter().map(|row| row_bytes(row)).sum();
        let entries = if self.table.is_some() { batch.len() * ENTRY_BYTES } else { 0 };
        self.held.try_take(bytes + entries)
    }

    /// Puts all rows into the hash table.
    pub(crate) async fn fill_table(
        &mut self,
        keys: &KeyExprs,
        evaluator: &Evaluator,
    ) -> Result<()> {
        let Some(table) = &mut self.table else { return Ok(()) };
        self.chain = vec![END; self.rows.len()];
        table.clear(self.rows.len());
        // From the end, so that equal keys are found in the input's order.
        for (i, row) in self.rows.iter().enumerate().rev() {
            if i.is_multiple_of(BATCH_ROWS) {
                evaluator.run.check_interrupts().await?;
            }
            let next = if table.needs_values() {
                let key = keys.build.eval(evaluator, row).await?;
                table.add_values(key, i)?
            } else {
                table.add(&self.rows, i)?
            };
            if let Some(next) = next {
                self.chain[i] = next.unwrap_or(END);
                self.hashed += 1;
            }
        }
        Ok(())
    }
}
