//! The right rows of a lookup join: those of many left rows in one wait (two, where entries of a
//! secondary index lead to rows), and page by page where there are many.
//!
//! ```text
//!   left rows ──bounds──▶ spans, in key order ──▶ page ──▶ page ──▶ …      each with a Found
//! ```

use std::ops::Range;

use braid_kv::{Key, Record, ScanRequest, Span};
use braid_rows::RowAssembler;
use braid_types::{Result, Row};

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::reservation::MemoryReservation;
use crate::operator::scan::multi_scan::MultiScan;
use crate::operator::scan::reader::{KeyBounds, Reader, Secondary};

/// The bytes after which a page ends, where memory is not short.
pub(crate) const PAGE_BYTES: usize = 4 << 20;
/// The bytes that a page may have however short memory is.
const PAGE_BYTES_MIN: usize = 64 << 10;
/// A page may take this part of the memory that is left to the statement.
const ROOM_PART: usize = 8;
/// The rows after which a page ends, where nothing says that fewer will do.
pub(crate) const PAGE_ROWS: usize = 8 << 10;
/// Roughly the memory of a key that was found.
const KEY_BYTES: usize = 64;

/// How the right side is read.
pub(crate) struct RightSide {
    pub evaluator: Evaluator,
    pub reader: Reader,
    pub bounds: KeyBounds,
    pub secondary: Option<Secondary>,
    /// By whole primary keys.
    pub points: bool,
    /// Nothing but the bounds decides whether a row matches, and each span is of one left row: the
    /// first rows of a span are enough if no more are wanted.
    pub first_ones_do: bool,
    /// One match of a left row is enough.
    pub one_match: bool,
    pub record: Record,
}

/// The right rows that were read.
#[derive(Default)]
pub(crate) struct Found {
    /// The keys that they were found by, ascending, if they come from spans.
    keys: Vec<Key>,
    pub rows: Vec<Option<Row>>,
}

/// Reads the rows of spans in key order, page by page.
pub(crate) struct PageReader {
    scan: MultiScan,
    /// How many entries of each span are read; 0: all.
    rows_max: usize,
    /// A row that goes on with the next entry.
    partial: RowAssembler,
    /// Nothing is left to be read.
    pub is_done: bool,
}

impl RightSide {
    /// The bytes after which a page ends.
    pub(crate) fn page_bytes(&self) -> usize {
        let room = self.evaluator.run.cx.memory.room();
        (room / ROOM_PART).clamp(PAGE_BYTES_MIN, PAGE_BYTES)
    }

    /// How many rows of each span are read where `matches` of each are wanted; 0: all.
    fn rows_max(&self, matches: usize) -> usize {
        match (self.first_ones_do, self.one_match) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) if matches == usize::MAX => 0,
            (true, false) => matches,
        }
    }

    /// One row for each whole primary key.
    pub(crate) async fn by_keys(
        &self,
        spans: &[Span],
        held: &mut MemoryReservation,
    ) -> Result<Found> {
        let keys: Vec<&[u8]> = spans.iter().map(|span| span.start.as_slice()).collect();
        Ok(Found { keys: Vec::new(), rows: self.rows_of(&keys, held).await? })
    }

    async fn rows_of(
        &self,
        primary_keys: &[impl AsRef<[u8]>],
        held: &mut MemoryReservation,
    ) -> Result<Vec<Option<Row>>> {
        let mut keys: Vec<Key> = Vec::with_capacity(primary_keys.len());
        for key in primary_keys {
            self.reader.keys_of(key.as_ref(), &mut keys);
        }
        let cx = &self.evaluator.run.cx;
        let values = self
            .evaluator
            .run
            .wait(cx.txn.reads().multi_get_recorded(cx.seq, &keys, self.record))
            .await?;
        let rows = self.reader.decode(&keys, &values)?;
        held.take(rows.iter().flatten().map(|row| row_bytes(row)).sum())?;
        Ok(rows)
    }
}

impl PageReader {
    /// A reader of the rows of all spans, each read once; of at least `matches` of each where so
    /// many are enough.
    pub(crate) fn new(side: &RightSide, spans: &[Span], matches: usize) -> Self {
        let mut wanted = without_overlaps(spans);
        wanted.reverse();
        let rows_max = side.rows_max(matches);
        let scan = MultiScan::new(wanted, false).rows_max(rows_max);
        Self { scan, rows_max, partial: RowAssembler::default(), is_done: false }
    }

    /// The next page: it ends after about this number of rows, or [`RightSide::page_bytes`].
    pub(crate) async fn read(
        &mut self,
        side: &RightSide,
        rows: usize,
        held: &mut MemoryReservation,
    ) -> Result<Found> {
        let run = &side.evaluator.run;
        let (shape, rows_max) = (side.bounds.shape.as_ref(), self.rows_max);
        let first_rows = if rows < PAGE_ROWS { rows } else { 0 };
        let request = |span| {
            let request = ScanRequest::new(span).record(side.record).shape(shape);
            request.limit_rows(rows_max).first_rows(first_rows)
        };
        let mut found = Found::default();
        let mut primary_keys: Vec<Key> = Vec::new();
        let page_bytes = side.page_bytes();
        while !self.is_done && found.keys.len() < rows && held.bytes() < page_bytes {
            let batch = self.scan.next(run, request).await?;
            self.is_done = batch.is_none() || self.scan.is_at_end();
            run.breathe().await?;
            let known = found.rows.len();
            for (key, value) in batch.iter().flat_map(|batch| batch.iter()) {
                let Some(secondary) = &side.secondary else {
                    found.add(self.partial.add(&side.reader.decoder, key, value)?);
                    continue;
                };
                found.keys.push(key.to_vec());
                match &secondary.covering {
                    Some(decoder) => found.rows.push(Some(decoder.decode(key, value)?)),
                    None => {
                        let parts = secondary.primary.decode(key, value)?;
                        primary_keys.push(side.reader.rows.primary_key_of_parts(&parts));
                    }
                }
            }
            if self.is_done {
                found.add(self.partial.finish());
            }
            let new = found.rows[known..].iter().flatten().map(|row| row_bytes(row)).sum::<usize>();
            held.take(new + batch.map_or(0, |batch| batch.len()) * KEY_BYTES)?;
        }
        if !primary_keys.is_empty() {
            found.rows = side.rows_of(&primary_keys, held).await?;
        }
        Ok(found)
    }
}

impl Found {
    /// Adds a row of the primary index whose families have all been read.
    fn add(&mut self, complete: Option<(Key, Row)>) {
        if let Some((key, row)) = complete {
            self.keys.push(key);
            self.rows.push(Some(row));
        }
    }

    /// The places of the rows that a span has found.
    pub(crate) fn places(&self, place: usize, span: &Span) -> Range<usize> {
        if self.keys.is_empty() {
            // One row for each key, or nothing at all.
            return if self.rows.is_empty() { 0..0 } else { place..place + 1 };
        }
        let from = self.keys.partition_point(|key| *key < span.start);
        let to = from + self.keys[from..].partition_point(|key| *key < span.end);
        from..to
    }

    /// Whether a page has all rows of a span, although others may follow it.
    pub(crate) fn has_all_of(&self, span: &Span) -> bool {
        self.keys.last().is_some_and(|last| span.end <= *last)
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
