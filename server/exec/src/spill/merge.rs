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

use crate::operator::heap::Heap;
use crate::operator::{BATCH_ROWS, ExecutionState};
use crate::spill::file::TempFile;
use crate::spill::stream::{BLOCK_BYTES_MIN, RowReader, RowStream, RowWriter, block_bytes};

/// Runs that are merged at once, at least and at most.
const FAN_IN_MIN: usize = 4;
const FAN_IN_MAX: usize = 128;

/// How two rows of runs compare.
pub(crate) trait RunOrder: Send + Sync {
    /// The order of two rows.
    fn compare(&self, a: &[Datum], b: &[Datum]) -> Ordering;
}

/// Rows of several runs in order.
pub(crate) struct Merge<O> {
    order: Arc<O>,
    runs: Vec<Run>,
    heap: Heap,
}

struct Run {
    reader: RowReader,
    head: Row,
}

impl<O: RunOrder> Merge<O> {
    /// Merges runs with about that much memory.
    pub(crate) async fn new(
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
        let heap = Heap::new((0..runs.len()).collect(), is_before(&*order, &runs));
        Ok(Self { order, runs, heap })
    }

    /// The next row; `None` at the end.
    pub(crate) fn next_row(&mut self) -> Result<Option<Row>> {
        let Some(first) = self.heap.first() else { return Ok(None) };
        let run = &mut self.runs[first];
        let next = run.reader.next_row()?;
        let is_at_end = next.is_none();
        let row = std::mem::replace(&mut run.head, next.unwrap_or_default());
        let is_before = is_before(&*self.order, &self.runs);
        match is_at_end {
            true => self.heap.drop_first(is_before),
            false => self.heap.sink_first(is_before),
        }
        Ok(Some(row))
    }
}

/// Whether the head of a run comes before that of another one.
fn is_before<'r, O: RunOrder>(order: &'r O, runs: &'r [Run]) -> impl Fn(usize, usize) -> bool + 'r {
    move |a, b| order.compare(&runs[a].head, &runs[b].head).then(a.cmp(&b)).is_lt()
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
            state.check_interrupts().await?;
        }
    }
    writer.finish()
}
