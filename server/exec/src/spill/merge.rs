//! Sorted runs in a temporary file, merged into one order.
//!
//! ```text
//! run 1  ─┐
//! run 2  ─┼─▶ merged ─┐
//! run 3  ─┘           ├─▶ rows in order
//! run 4  ─┬─▶ merged ─┘
//! run 5  ─┘
//! ```
//!
//! Of equal rows those of the earlier run come first. So if runs are parts of the input one after
//! the other, each sorted stably, the result is sorted stably too. Only neighbours are merged.
//!
//! A merge keeps one block of each run in memory. If there are more runs than memory has room for,
//! they are first merged in groups, written again.

use std::cmp::Ordering;
use std::sync::Arc;

use braid_types::{Datum, Result, Row};

use crate::operator::{BATCH_ROWS, ExecutionState};
use crate::spill::file::TempFile;
use crate::spill::stream::{BLOCK_BYTES_MIN, RowReader, RowStream, RowWriter, block_bytes};

/// Runs that are merged at once, at least and at most.
const FAN_IN_MIN: usize = 4;
const FAN_IN_MAX: usize = 128;

/// How two rows of runs compare.
pub trait RunOrder: Send + Sync {
    /// The order of two rows.
    fn compare(&self, a: &[Datum], b: &[Datum]) -> Ordering;
}

/// Rows of several runs in order.
pub struct Merge<O> {
    order: Arc<O>,
    runs: Vec<Run>,
    /// Places in `runs` as a binary heap: the run whose row comes next is the first.
    heap: Vec<usize>,
}

struct Run {
    reader: RowReader,
    head: Row,
}

impl<O: RunOrder> Merge<O> {
    /// Merges runs with about that much memory.
    pub async fn new(
        state: &ExecutionState,
        file: &Arc<TempFile>,
        mut runs: Vec<RowStream>,
        order: Arc<O>,
        memory: usize,
    ) -> Result<Self> {
        let largest = runs.iter().map(RowStream::block_bytes).max().unwrap_or(0);
        let fan_in = memory / largest.max(BLOCK_BYTES_MIN);
        let fan_in = fan_in.clamp(FAN_IN_MIN, FAN_IN_MAX);
        while runs.len() > fan_in {
            let mut merged = Vec::with_capacity(runs.len().div_ceil(fan_in));
            let mut rest = runs.into_iter().peekable();
            while rest.peek().is_some() {
                let group: Vec<RowStream> = rest.by_ref().take(fan_in).collect();
                merged.push(write_merged(state, file, group, &order, memory / fan_in).await?);
            }
            runs = merged;
        }
        Self::start(runs, order)
    }

    fn start(streams: Vec<RowStream>, order: Arc<O>) -> Result<Self> {
        let mut runs = Vec::with_capacity(streams.len());
        for stream in streams {
            let mut reader = RowReader::new(Arc::new(stream));
            if let Some(head) = reader.next_row()? {
                runs.push(Run { reader, head });
            }
        }
        let heap = (0..runs.len()).collect();
        let mut merge = Self { order, runs, heap };
        for place in (0..merge.heap.len() / 2).rev() {
            merge.sink(place);
        }
        Ok(merge)
    }

    /// The next row; `None` at the end.
    pub fn next_row(&mut self) -> Result<Option<Row>> {
        let Some(first) = self.heap.first().copied() else { return Ok(None) };
        let run = &mut self.runs[first];
        let row = match run.reader.next_row()? {
            Some(next) => std::mem::replace(&mut run.head, next),
            None => {
                self.heap.swap_remove(0);
                std::mem::take(&mut run.head)
            }
        };
        self.sink(0);
        Ok(Some(row))
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        let order = self.order.compare(&self.runs[a].head, &self.runs[b].head);
        order.then(a.cmp(&b)).is_lt()
    }

    /// Moves a run down in the heap, to where it belongs.
    fn sink(&mut self, mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let mut first = place;
            for child in [left, right] {
                if child < self.heap.len() && self.is_before(self.heap[child], self.heap[first]) {
                    first = child;
                }
            }
            if first == place {
                return;
            }
            self.heap.swap(place, first);
            place = first;
        }
    }
}

/// Merges runs into one.
async fn write_merged<O: RunOrder>(
    state: &ExecutionState,
    file: &Arc<TempFile>,
    runs: Vec<RowStream>,
    order: &Arc<O>,
    memory: usize,
) -> Result<RowStream> {
    let mut merge = Merge::start(runs, order.clone())?;
    let mut writer = RowWriter::new(file, block_bytes(memory, 1));
    let mut rows = 0_usize;
    while let Some(row) = merge.next_row()? {
        writer.push(&row)?;
        rows += 1;
        if rows.is_multiple_of(BATCH_ROWS) {
            state.breathe().await?;
        }
    }
    writer.finish()
}
