//! How a lookup join reads its right rows: those of many left rows in one wait (two, where entries
//! of a secondary index lead to rows), and page by page where there are many.
//!
//! ```text
//!   left rows ──bounds──▶ spans, in key order ──▶ page ──▶ page ──▶ …    each with its FoundRows
//! ```

use std::sync::Arc;

use braid_kv::{Key, Record, ScanBatch, ScanRequest, Span, Value};
use braid_rows::RowAssembler;
use braid_types::{Result, Row};

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::join::lookup::found_rows::{Entries, FoundRows};
use crate::operator::join::lookup::layout::Layout;
use crate::operator::reservation::MemoryReservation;
use crate::operator::scan::multi_scan::MultiScan;
use crate::operator::scan::reader::Secondary;

/// The bytes after which a page ends, where memory is not short.
pub(super) const PAGE_BYTES: usize = 4 << 20;
/// The bytes that a page may have however short memory is.
const PAGE_BYTES_MIN: usize = 64 << 10;
/// A page may take this part of the memory that is left to the statement.
const ROOM_PART: usize = 8;
/// The rows after which a page ends, where nothing says that fewer will do.
pub(super) const PAGE_ROWS: usize = 8 << 10;
/// Roughly the memory of an entry or a pair that was found, beside its bytes.
const ENTRY_BYTES: usize = 64;

/// The right side.
pub(super) struct RightSide {
    pub evaluator: Evaluator,
    pub layout: Arc<Layout>,
    pub record: Record,
}

/// Reads the rows of spans in key order, page by page.
pub(super) struct PageReader {
    scan: MultiScan,
    /// The number of spans without overlaps.
    pub spans: usize,
    /// How many entries of each span are read; 0: all.
    rows_max: usize,
    /// A row that goes on with the next entry.
    partial: RowAssembler,
    /// Nothing is left to be read.
    pub is_done: bool,
}

/// A page that is being read.
#[derive(Default)]
struct Page {
    entries: Entries,
    /// The primary keys that entries lead to.
    primary_keys: Vec<Key>,
    /// Rows that were put together of several pairs, and their keys.
    rows: Vec<Option<Row>>,
    keys: Vec<Key>,
}

impl RightSide {
    /// The bytes after which a page ends.
    pub(super) fn page_bytes(&self) -> usize {
        let room = self.evaluator.run.cx.memory.room();
        (room / ROOM_PART).clamp(PAGE_BYTES_MIN, PAGE_BYTES)
    }

    /// How many rows of each span are read where `matches` of each are wanted; 0: all.
    fn rows_max(&self, matches: usize) -> usize {
        match (self.layout.first_ones_do, self.layout.gives_left_only()) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) if matches == usize::MAX => 0,
            (true, false) => matches,
        }
    }

    /// One row for each whole primary key.
    pub(super) async fn by_keys(
        &self,
        mut keys: Vec<Key>,
        held: &mut MemoryReservation,
    ) -> Result<FoundRows> {
        let reader = &self.layout.reader;
        if let [family] = reader.families[..] {
            let suffix = reader.rows.family_suffix(family);
            keys.iter_mut().for_each(|key| key.extend_from_slice(&suffix));
            let values = self.values(&keys).await?;
            let bytes = values.iter().flatten().map(|value| value.len()).sum::<usize>();
            held.take(bytes + keys.len() * ENTRY_BYTES)?;
            return Ok(FoundRows::of_pairs(keys, values));
        }
        let mut pair_keys: Vec<Key> = Vec::with_capacity(keys.len() * reader.families.len());
        for key in &keys {
            reader.keys_of(key, &mut pair_keys);
        }
        let values = self.values(&pair_keys).await?;
        let rows = reader.decode(&pair_keys, &values)?;
        held.take(rows.iter().flatten().map(|row| row_bytes(row)).sum())?;
        Ok(FoundRows::of_rows(rows))
    }

    async fn values(&self, keys: &[Key]) -> Result<Vec<Option<Value>>> {
        let run = &self.evaluator.run;
        let reads = run.cx.txn.reads();
        run.wait(reads.multi_get_recorded(run.cx.seq, keys, self.record)).await
    }
}

impl PageReader {
    /// A reader of the rows of all spans, each read once; of at least `matches` of each where so
    /// many are enough.
    pub(super) fn new(side: &RightSide, spans: &[Span], matches: usize) -> Self {
        let mut wanted = without_overlaps(spans);
        wanted.reverse();
        let (spans, rows_max) = (wanted.len(), side.rows_max(matches));
        let scan = MultiScan::new(wanted, false).rows_max(rows_max);
        Self { scan, spans, rows_max, partial: RowAssembler::default(), is_done: false }
    }

    /// The next page: it ends after about this number of rows, or [`RightSide::page_bytes`].
    pub(super) async fn read(
        &mut self,
        side: &RightSide,
        rows: usize,
        held: &mut MemoryReservation,
    ) -> Result<FoundRows> {
        let (run, layout) = (&side.evaluator.run, &side.layout);
        let (shape, rows_max) = (layout.bounds.shape.as_ref(), self.rows_max);
        let first_rows = if rows < PAGE_ROWS { rows } else { 0 };
        let request = |span| {
            let request = ScanRequest::new(span).record(side.record).shape(shape);
            request.limit_rows(rows_max).first_rows(first_rows)
        };
        // An entry of the primary index is a row, unless the table has column families.
        let is_whole = layout.secondary.is_some() || layout.reader.rows.family_count() == 1;
        let mut page = Page::default();
        let page_bytes = side.page_bytes();
        while !self.is_done && page.len() < rows && held.bytes() < page_bytes {
            let batch = self.scan.next(run, request).await?;
            self.is_done = batch.is_none() || self.scan.is_at_end();
            run.check_interrupts().await?;
            let known = page.rows.len();
            if !is_whole {
                for (key, value) in batch.iter().flat_map(|batch| batch.iter()) {
                    page.add_row(self.partial.add(&layout.reader.decoder, key, value)?);
                }
                if self.is_done {
                    page.add_row(self.partial.finish());
                }
                held.take(page.rows[known..].iter().flatten().map(|row| row_bytes(row)).sum())?;
            }
            let Some(batch) = batch else { break };
            held.take(batch.len() * ENTRY_BYTES)?;
            if is_whole {
                held.take(batch.bytes())?;
                page.add_entries(batch, layout)?;
            }
        }
        let Page { entries, primary_keys, rows, keys } = page;
        if !is_whole {
            return Ok(FoundRows::of_rows_with_keys(keys, rows));
        }
        if primary_keys.is_empty() {
            return Ok(FoundRows::of_entries(entries));
        }
        let found = side.by_keys(primary_keys, held).await?;
        Ok(FoundRows::by_entries(entries, found))
    }
}

impl Page {
    fn len(&self) -> usize {
        self.entries.len() + self.rows.len()
    }

    /// Adds a row of the primary index whose families have all been read.
    fn add_row(&mut self, complete: Option<(Key, Row)>) {
        if let Some((key, row)) = complete {
            self.keys.push(key);
            self.rows.push(Some(row));
        }
    }

    /// Adds entries of an index, with the primary keys that they lead to.
    fn add_entries(&mut self, batch: ScanBatch, layout: &Layout) -> Result<()> {
        if let Some(Secondary { covering: None, primary }) = &layout.secondary {
            let mut parts = Row::new();
            for (key, value) in batch.iter() {
                parts.clear();
                primary.append(&mut parts, key, value)?;
                self.primary_keys.push(layout.reader.rows.primary_key_of_parts(&parts));
            }
        }
        self.entries.add(batch);
        Ok(())
    }
}

/// Spans in key order that cover the same keys, each key once: the spans of several left rows may
/// overlap. Spans that only touch stay apart, so that they are read side by side.
fn without_overlaps(spans: &[Span]) -> Vec<Span> {
    let mut wanted = spans.to_vec();
    wanted.sort_unstable();
    wanted.dedup_by(|next, last| {
        let is_covered = *next == *last || next.start < last.end;
        if is_covered && last.end < next.end {
            last.end = std::mem::take(&mut next.end);
        }
        is_covered
    });
    wanted
}
