//! Rows in the order in which they come, read any number of times: in memory, or on disk once
//! memory is used up.
//!
//! ```text
//!   append ──▶ memory ──used up──▶ disk: stream, stream, … writer
//!                 ▲                        ▲
//!              cursor                   cursor    each at its own row; rows may still be added
//! ```

use std::sync::Arc;

use braid_types::{Result, Row};

use crate::operator::reservation::MemoryReservation;
use crate::operator::{BATCH_ROWS, ExecutionState};
use crate::spill::file::TempFile;
use crate::spill::stream::{BLOCK_BYTES, RowReader, RowStream, RowWriter};

/// Rows in the order in which they come.
pub struct RowStore {
    run: Arc<ExecutionState>,
    rows: Vec<Row>,
    held: MemoryReservation,
    disk: Option<Disk>,
}

struct Disk {
    file: Arc<TempFile>,
    streams: Vec<Arc<RowStream>>,
    writer: RowWriter,
}

/// A place in the rows of a store.
#[derive(Default)]
pub struct StoreCursor {
    /// The number of the next row.
    at: usize,
    /// The stream that is being read.
    stream: usize,
    reader: Option<RowReader>,
}

impl RowStore {
    /// No rows yet.
    pub fn new(run: &Arc<ExecutionState>) -> Self {
        let held = MemoryReservation::new(run);
        Self { run: run.clone(), rows: Vec::new(), held, disk: None }
    }

    /// Adds rows. They go to disk if memory is used up, and so do those before.
    pub fn append(&mut self, rows: Vec<Row>) -> Result<()> {
        if self.disk.is_none() && self.held.try_take_rows(&rows)? {
            self.rows.extend(rows);
            return Ok(());
        }
        self.append_to_disk(rows)
    }

    /// Adds rows on disk, to which those before go as well.
    pub fn append_to_disk(&mut self, rows: Vec<Row>) -> Result<()> {
        let disk = match &mut self.disk {
            Some(disk) => disk,
            None => {
                let file = TempFile::create(&self.run.cx.temp)?;
                let writer = RowWriter::new(&file, BLOCK_BYTES);
                self.disk.insert(Disk { file, streams: Vec::new(), writer })
            }
        };
        for row in std::mem::take(&mut self.rows).iter().chain(&rows) {
            disk.writer.push(row)?;
        }
        self.held.clear();
        Ok(())
    }

    /// The next rows from a place on, about a batch; none at the end.
    pub fn read(&mut self, cursor: &mut StoreCursor) -> Result<Vec<Row>> {
        self.read_as(cursor, Row::clone)
    }

    /// What `read` makes of the next rows from a place on, about a batch; none at the end.
    pub fn read_as(
        &mut self,
        cursor: &mut StoreCursor,
        read: impl Fn(&Row) -> Row,
    ) -> Result<Vec<Row>> {
        if let Some(disk) = &mut self.disk {
            return Ok(disk.read(cursor)?.iter().map(read).collect());
        }
        let rows: Vec<Row> = self.rows.iter().skip(cursor.at).take(BATCH_ROWS).map(read).collect();
        cursor.at += rows.len();
        Ok(rows)
    }

    /// Whether there is no row at all.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.disk.is_none()
    }
}

impl Disk {
    fn read(&mut self, cursor: &mut StoreCursor) -> Result<Vec<Row>> {
        loop {
            if let Some(reader) = &mut cursor.reader {
                if let Some(rows) = reader.next_batch()? {
                    cursor.at += rows.len();
                    return Ok(rows);
                }
                cursor.reader = None;
                cursor.stream += 1;
            }
            if cursor.stream == self.streams.len() {
                if self.writer.is_empty() {
                    return Ok(Vec::new());
                }
                let next = RowWriter::new(&self.file, BLOCK_BYTES);
                let written = std::mem::replace(&mut self.writer, next);
                self.streams.push(Arc::new(written.finish()?));
            }
            let Some(stream) = self.streams.get(cursor.stream) else { return Ok(Vec::new()) };
            let mut reader = RowReader::new(stream.clone());
            if cursor.stream == 0 {
                // Rows that were read while they were in memory.
                for _ in 0..cursor.at {
                    reader.next_row()?;
                }
            }
            cursor.reader = Some(reader);
        }
    }
}
