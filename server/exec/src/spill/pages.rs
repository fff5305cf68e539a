//! Rows of a cursor by their number: the last ones in memory, the others on disk in pages.
//!
//! ```text
//!   number   0 … 1023   1024 … 2047   2048 … 2100
//!            page       page          memory        append ──▶
//! ```
//!
//! A cursor may stand anywhere and go forward and backward, so the page of the last row that was
//! asked for stays in memory as well.

use std::collections::VecDeque;
use std::sync::Arc;

use braid_types::{Result, Row};
use parking_lot::Mutex;

use crate::memory::row_bytes;
use crate::spill::file::TempFile;
use crate::spill::space::TempSpace;
use crate::spill::stream::{BLOCK_BYTES, RowReader, RowStream, RowWriter};

/// Rows of a page.
const PAGE_ROWS: usize = 1024;
/// Bytes of rows that stay in memory.
const MEMORY_BYTES: usize = 4 << 20;

/// Rows by their number, from 0.
pub struct RowPages {
    space: Arc<TempSpace>,
    file: Option<Arc<TempFile>>,
    /// The number of the first row that is kept.
    first: usize,
    pages: VecDeque<Arc<RowStream>>,
    /// The rows after those of the pages.
    memory: VecDeque<Row>,
    bytes: usize,
    /// The number of the first row of a page that was read, and its rows.
    read: Mutex<Option<(usize, Vec<Row>)>>,
}

impl RowPages {
    /// No rows yet.
    pub fn new(space: &Arc<TempSpace>) -> Self {
        Self {
            space: space.clone(),
            file: None,
            first: 0,
            pages: VecDeque::new(),
            memory: VecDeque::new(),
            bytes: 0,
            read: Mutex::default(),
        }
    }

    /// The number after that of the last row.
    pub fn end(&self) -> usize {
        self.memory_first() + self.memory.len()
    }

    /// The number of the first row in memory.
    fn memory_first(&self) -> usize {
        self.first + self.pages.len() * PAGE_ROWS
    }

    /// Adds rows at the end.
    pub fn append(&mut self, rows: Vec<Row>) -> Result<()> {
        self.bytes += rows.iter().map(|row| row_bytes(row)).sum::<usize>();
        self.memory.extend(rows);
        while self.bytes > MEMORY_BYTES && self.memory.len() >= PAGE_ROWS {
            self.write_page()?;
        }
        Ok(())
    }

    /// Moves the first rows in memory to disk.
    fn write_page(&mut self) -> Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(TempFile::create(&self.space)?),
        };
        let mut writer = RowWriter::new(file, BLOCK_BYTES);
        for row in self.memory.iter().take(PAGE_ROWS) {
            writer.push(row)?;
        }
        self.pages.push_back(Arc::new(writer.finish()?));
        let rows = self.memory.drain(..PAGE_ROWS);
        self.bytes -= rows.map(|row| row_bytes(&row)).sum::<usize>();
        Ok(())
    }

    /// The row of a number, if it is kept.
    pub fn get(&self, number: usize) -> Result<Option<Row>> {
        if let Some(place) = number.checked_sub(self.memory_first()) {
            return Ok(self.memory.get(place).cloned());
        }
        let Some(place) = number.checked_sub(self.first) else { return Ok(None) };
        let first = self.first + place / PAGE_ROWS * PAGE_ROWS;
        let mut read = self.read.lock();
        if read.as_ref().is_none_or(|(read, _)| *read != first) {
            let Some(page) = self.pages.get(place / PAGE_ROWS) else { return Ok(None) };
            let mut reader = RowReader::new(page.clone());
            let mut rows = Vec::with_capacity(PAGE_ROWS);
            while let Some(row) = reader.next_row()? {
                rows.push(row);
            }
            *read = Some((first, rows));
        }
        let rows = read.as_ref().map(|(_, rows)| rows);
        Ok(rows.and_then(|rows| rows.get(number - first)).cloned())
    }

    /// Drops rows before that of a number, as far as they are not in a page with others.
    pub fn forget_before(&mut self, number: usize) {
        while !self.pages.is_empty() && self.first + PAGE_ROWS <= number {
            self.pages.pop_front();
            self.first += PAGE_ROWS;
        }
        while self.pages.is_empty()
            && self.first < number
            && let Some(row) = self.memory.pop_front()
        {
            self.bytes -= row_bytes(&row);
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use braid_types::Datum;

    use super::*;
    use crate::spill::folder::TempFolder;

    fn row(number: usize) -> Row {
        vec![Datum::Int(number as i64), Datum::text("x".repeat(1000))]
    }

    #[test]
    fn rows_are_found_in_memory_and_on_disk() {
        let base = tempfile::tempdir().expect("a folder");
        let space = Arc::new(TempSpace::new(TempFolder::new(base.path().to_owned()), |_| {}));
        let mut pages = RowPages::new(&space);
        for batch in 0..100 {
            pages.append((batch * 100..(batch + 1) * 100).map(row).collect()).expect("appends");
        }
        assert_eq!(pages.end(), 10_000);
        assert!(space.folder.used_bytes() > 0 && pages.bytes <= MEMORY_BYTES);
        for number in [0, 9_999, 1_023, 1_024, 5_000, 4_999, 7] {
            let found = pages.get(number).expect("reads");
            assert_eq!(found, Some(row(number)), "{number}");
        }
        assert_eq!(pages.get(10_000).expect("reads"), None);
        pages.forget_before(2_050);
        assert_eq!(pages.get(2_047).expect("reads"), None);
        assert_eq!(pages.get(2_050).expect("reads"), Some(row(2_050)));
        pages.forget_before(9_990);
        assert_eq!(pages.get(9_989).expect("reads"), None);
        assert_eq!(pages.get(9_990).expect("reads"), Some(row(9_990)));
        drop(pages);
        assert_eq!(space.folder.used_bytes(), 0);
    }
}
