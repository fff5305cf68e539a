//! Rows one after the other in blocks of a temporary file.
//!
//! ```text
//! RowWriter ──push──▶ buffer ──full──▶ block, block, … ──finish──▶ RowStream ──▶ RowReader
//! ```
//!
//! A row is in one block, so a block may be larger than others. A reader has one block in memory.
//! A stream can be read any number of times, also by several at a time.

use std::sync::Arc;

use braid_types::{Datum, Result, Row, work};

use crate::memory::row_bytes;
use crate::operator::BATCH_ROWS;
use crate::spill::encoding::{put_row, read_row};
use crate::spill::file::{Block, TempFile};

/// The size of a block, unless memory is scarce.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;
/// The size of a block where memory is scarce.
pub(crate) const BLOCK_BYTES_MIN: usize = 4 << 10;

/// The size of each of that many blocks, which take that much memory together.
pub(crate) fn block_bytes(memory: usize, count: usize) -> usize {
    (memory / count.max(1)).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES)
}

/// Writes rows.
pub(crate) struct RowWriter {
    file: Arc<TempFile>,
    buffer: Vec<u8>,
    block_bytes: usize,
    blocks: Blocks,
    rows: u64,
    memory_bytes: u64,
}

/// Blocks of a file, which can be written again when nobody needs these any more.
struct Blocks {
    file: Arc<TempFile>,
    list: Vec<Block>,
}

impl Drop for Blocks {
    fn drop(&mut self) {
        for block in &self.list {
            self.file.free(*block);
        }
    }
}

/// Rows that were written.
pub(crate) struct RowStream {
    blocks: Blocks,
    rows: u64,
    memory_bytes: u64,
}

/// Reads the rows of a stream from its begin.
pub(crate) struct RowReader {
    stream: Arc<RowStream>,
    next_block: usize,
    block: Vec<u8>,
    /// Where the next row is in `block`.
    at: usize,
}

impl RowWriter {
    /// Nothing written yet; blocks of about that size.
    pub(crate) fn new(file: &Arc<TempFile>, block_bytes: usize) -> Self {
        Self {
            file: file.clone(),
            buffer: Vec::new(),
            block_bytes,
            blocks: Blocks { file: file.clone(), list: Vec::new() },
            rows: 0,
            memory_bytes: 0,
        }
    }

    /// Adds a row. Fails once the statement is to stop.
    pub(crate) fn push(&mut self, row: &[Datum]) -> Result<()> {
        work::tick()?;
        put_row(&mut self.buffer, row, &mut self.file.names.lock());
        self.rows += 1;
        self.memory_bytes += row_bytes(row) as u64;
        if self.buffer.len() >= self.block_bytes { self.flush() } else { Ok(()) }
    }

    /// Whether nothing was written.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    fn flush(&mut self) -> Result<()> {
        if !self.buffer.is_empty() {
            self.blocks.list.push(self.file.write(&self.buffer)?);
            self.buffer.clear();
        }
        Ok(())
    }

    /// What was written.
    pub(crate) fn finish(mut self) -> Result<RowStream> {
        self.flush()?;
        Ok(RowStream { blocks: self.blocks, rows: self.rows, memory_bytes: self.memory_bytes })
    }
}

impl RowStream {
    /// How many rows there are.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// What all rows would take in memory.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// What a reader keeps in memory, at most.
    pub(crate) fn block_bytes(&self) -> usize {
        self.blocks.list.iter().map(Block::len).max().unwrap_or(0)
    }
}

impl RowReader {
    /// Reads a stream. It goes when all its readers have gone.
    pub(crate) fn new(stream: Arc<RowStream>) -> Self {
        Self { stream, next_block: 0, block: Vec::new(), at: 0 }
    }

    /// The next row; `None` at the end. Fails once the statement is to stop.
    pub(crate) fn next_row(&mut self) -> Result<Option<Row>> {
        let blocks = &self.stream.blocks;
        while self.at >= self.block.len() {
            let Some(block) = blocks.list.get(self.next_block) else { return Ok(None) };
            self.next_block += 1;
            self.at = 0;
            blocks.file.read(*block, &mut self.block)?;
        }
        work::tick()?;
        let mut rest = self.block.get(self.at..).unwrap_or_default();
        let row = read_row(&mut rest, &blocks.file.names.lock())?;
        self.at = self.block.len() - rest.len();
        Ok(Some(row))
    }

    /// The next rows, about a batch; `None` at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Vec<Row>>> {
        let mut batch = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_ROWS && bytes < BLOCK_BYTES {
            let Some(row) = self.next_row()? else { break };
            bytes += row_bytes(&row);
            batch.push(row);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }
}
