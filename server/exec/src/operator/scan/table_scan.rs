//! A scan of a stored table: by primary keys, by spans of the primary index, or by a secondary
//! index whose entries lead to rows.
//!
//! Rows that are to be locked are filtered first, then locked, then looked at again as they are
//! now: what was read before the lock may have changed (READ COMMITTED) or the transaction has
//! been refreshed (SERIALIZABLE). Whole primary keys without a further condition are locked and
//! read at once, except at READ COMMITTED, where a row that is not there must not be locked.

mod columns;
mod decoder;
mod entries;
mod entry_filter;
mod first_of_each;
mod key_parts;
mod merged;
mod read_options;
mod stages;
mod terms;

use std::sync::Arc;

use braid_kv::{Isolation, Key, Record, ScanRequest, Span};
use braid_plan::{Expr, LimitHint, Reading, Scan};
use braid_rows::RowAssembler;
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::basic::limit::rows_taken;
use crate::operator::column_source::ColumnSource;
use crate::operator::counts::ScanCounts;
use crate::operator::eval::Evaluator;
use crate::operator::parallel::morsels::Morsels;
use crate::operator::postponed::Postponed;
use crate::operator::reservation::MemoryReservation;
use crate::operator::scan::reader::{KeyBounds, Reader, Secondary};
use crate::operator::scan::row_lock::{LockedRow, RowLocker};
use crate::operator::scan::table_scan::entries::Entries;
use crate::operator::scan::table_scan::entry_filter::EntryFilter;
use crate::operator::scan::table_scan::read_options::ReadOptions;
use crate::operator::scan::table_scan::terms::{InvertedIndex, TermScan};
use crate::operator::{BATCH_ROWS, Operator};

fn places_of(scan: &Scan) -> Vec<usize> {
    scan.columns.iter().map(|(_, place)| *place).collect()
}

/// How a scan reads, as far as it follows from the plan: kept with it.
struct Layout {
    reader: Reader,
    bounds: KeyBounds,
    secondary: Option<Secondary>,
    inverted: Option<InvertedIndex>,
    /// What is known of a row before it is read by its primary key.
    entry_filter: Option<EntryFilter>,
}

impl Layout {
    fn new(scan: &Scan, locking: bool) -> Result<Self> {
        let places = places_of(scan);
        let reader = match &scan.families {
            Some(families) => Reader::of_families(&scan.table, &places, families)?,
            None => Reader::new(&scan.table, &places, locking)?,
        };
        let reader = reader.only_members(scan);
        let secondary = Secondary::new(scan, &places, &reader, locking)?;
        let inverted = InvertedIndex::new(scan)?;
        let is_covering = |index: &Secondary| index.covering.is_some();
        // An entry of an inverted index has terms, and no values of columns.
        let leads_to_rows =
            inverted.is_none() && secondary.as_ref().is_some_and(|index| !is_covering(index));
        let entry_filter = leads_to_rows.then(|| EntryFilter::new(scan)).transpose()?;
        let bounds = KeyBounds::new(scan)?;
        Ok(Self { reader, bounds, secondary, inverted, entry_filter })
    }

    /// The layout that the plan keeps, unless this run locks otherwise than the plan says.
    fn of(scan: &Scan, locking: bool) -> Result<Arc<Self>> {
        if locking == scan.lock.is_some() {
            scan.memo.get_or_make(|| Self::new(scan, locking))
        } else {
            Self::new(scan, locking).map(Arc::new)
        }
    }
}

impl Layout {
    /// Whether the row of an entry passes a filter that reads nothing but the entry. Where that
    /// fails, the scan meets the failure again when it looks at the row.
    fn passes(&self, (key, value): (&[u8], &[u8]), filter: &[Expr], evaluator: &Evaluator) -> bool {
        if filter.is_empty() {
            return true;
        }
        let row = match &self.secondary {
            Some(Secondary { covering: Some(decoder), .. }) => decoder.decode(key, value),
            Some(_) => return true,
            None => self.reader.decoder.row(key, [value]),
        };
        !row.is_ok_and(|row| matches!(evaluator.holds_now(filter, &row), Ok(false)))
    }
}

/// A scan.
pub(crate) struct ScanOperator {
    evaluator: Evaluator,
    layout: Arc<Layout>,
    points: bool,
    filter: Vec<Expr>,
    locker: Option<RowLocker>,
    /// Keys are locked and read at once.
    locks_first: bool,
    record: Record,
    limit: Option<Expr>,
    offset: Option<Expr>,
    hint: Option<LimitHint>,
    /// The rows of the first batch; 0 if nothing is known of it.
    first_rows: usize,
    reverse: bool,
    reading: Reading,
    /// Rows that are still to be left out, before those that are given.
    skip: usize,
    /// Rows that may still be given.
    left: Option<u64>,
    /// Spans (or point keys) still to be read, the next one last.
    open: Option<Vec<Span>>,
    /// The same while entries are read.
    entries: Option<Entries>,
    /// The parts of the spans, if other workers read some of them.
    morsels: Option<Arc<Morsels>>,
    /// The row whose families are being put together: its key and what is there so far.
    partial: RowAssembler,
    by_columns: Option<Box<columns::ByColumns>>,
    /// Rows have room for this many more columns.
    room: usize,
    counts: ScanCounts,
    failed: Postponed,
    /// Memory of the primary keys that an inverted index has led to.
    found: MemoryReservation,
}

impl ScanOperator {
    /// A scan; nothing is read yet. With `morsels` it reads parts that no other worker has taken.
    pub(crate) fn new(
        scan: &Scan,
        evaluator: Evaluator,
        morsels: Option<Arc<Morsels>>,
    ) -> Result<Box<Self>> {
        let lock = scan.lock.filter(|_| !scan.implicit_lock || evaluator.run.cx.implicit_locks);
        let layout = Layout::of(scan, lock.is_some())?;
        let locker = lock.map(|lock| {
            let places = places_of(scan);
            RowLocker::new(&scan.table, &places, scan.families.as_deref(), lock, true)
        });
        let locker = locker.transpose()?;
        let points = layout.secondary.is_none()
            && layout.bounds.are_points()
            && scan.access.reading == Reading::InOrder;
        let read_committed = evaluator.run.cx.txn.isolation() == Isolation::ReadCommitted;
        // Boxed here, since each return by value would copy it.
        Ok(Box::new(Self {
            points,
            locks_first: points && locker.is_some() && scan.filter.is_empty() && !read_committed,
            counts: ScanCounts::new(&evaluator.run, scan),
            record: if scan.unrecorded { Record::Never } else { Record::Default },
            layout,
            filter: scan.filter.clone(),
            locker,
            limit: scan.access.limit.clone(),
            offset: scan.access.offset.clone(),
            hint: scan.access.limit_hint.clone(),
            first_rows: 0,
            reverse: scan.access.reverse,
            reading: scan.access.reading,
            skip: 0,
            left: None,
            open: None,
            entries: None,
            morsels,
            partial: RowAssembler::default(),
            by_columns: None,
            room: 0,
            failed: Postponed::default(),
            found: MemoryReservation::new(&evaluator.run),
            evaluator,
        }))
    }

    async fn start(&mut self) -> Result<()> {
        let skip = self.evaluator.count(self.offset.as_ref(), "OFFSET").await?.unwrap_or(0);
        self.skip = usize::try_from(skip).unwrap_or(usize::MAX);
        self.left = self.evaluator.count(self.limit.as_ref(), "LIMIT").await?;
        if let Some(hint) = &self.hint {
            let page = (Some(&hint.limit), hint.offset.as_ref());
            let rows = rows_taken(&self.evaluator, page).await.clamp(1, BATCH_ROWS);
            self.first_rows = rows * self.layout.reader.rows.family_count().max(1);
        }
        let mut spans = match &self.layout.inverted {
            Some(_) => self.rows_with_terms().await?,
            None => self.layout.bounds.spans(&self.evaluator).await?,
        };
        if let Some(morsels) = &self.morsels {
            morsels.begin(spans, &self.layout.bounds);
            spans = morsels.take().into_iter().collect();
        }
        if !self.reverse {
            spans.reverse();
        }
        self.open = Some(spans);
        self.counts.begin(1);
        Ok(())
    }

    /// The primary keys that an inverted index leads to, as points; or the span of all rows, if
    /// that costs less to read.
    async fn rows_with_terms(&mut self) -> Result<Vec<Span>> {
        let layout = self.layout.clone();
        let Some(inverted) = &layout.inverted else { return Ok(Vec::new()) };
        let mut search = TermScan::new(inverted, &self.evaluator, self.record);
        let found = search.find().await?;
        self.counts.read(search.entries);
        let Some(keys) = found else { return layout.bounds.spans(&self.evaluator).await };
        self.points = true;
        self.found.take(keys.iter().map(Vec::len).sum())?;
        let key = |suffix: Vec<u8>| {
            let values = inverted.index.primary_values(&suffix)?;
            Ok(Span::key(layout.reader.rows.primary_key_of_parts(&values)))
        };
        keys.into_iter().map(key).collect()
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Row>>> {
        if self.open.is_none() && self.entries.is_none() {
            self.start().await?;
        }
        loop {
            self.evaluator.run.check_interrupts().await?;
            if self.left == Some(0) {
                return Ok(None);
            }
            self.failed.check()?;
            let found = if self.points {
                self.next_points().await?
            } else if self.layout.secondary.is_some() {
                self.next_by_index().await?
            } else {
                self.next_of_primary().await?
            };
            let Some((mut keys, mut rows)) = found else { return Ok(None) };
            // Rows of other spans that are there already are locked in the same wait.
            while self.layout.secondary.is_none() && rows.len() < BATCH_ROWS && self.has_ready() {
                let Some((more_keys, more)) = self.next_of_primary().await? else { break };
                keys.extend(more_keys);
                rows.extend(more);
            }
            if self.locker.is_some() && !self.locks_first {
                rows = self.lock_shown(&keys, rows).await?;
            }
            rows.drain(..self.skipped_of(rows.len()));
            if let Some(left) = &mut self.left {
                rows.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
                *left -= rows.len() as u64;
            }
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
    }

    /// How many rows are worth reading at once.
    fn wanted(&self) -> usize {
        match self.left {
            Some(left) if self.filter.is_empty() => {
                (left as usize).saturating_add(self.skip).clamp(1, BATCH_ROWS)
            }
            _ => BATCH_ROWS,
        }
    }

    /// How many of this number of rows are left out for OFFSET.
    fn skipped_of(&mut self, rows: usize) -> usize {
        let skipped = self.skip.min(rows);
        self.skip -= skipped;
        skipped
    }

    /// Whole primary keys, read side by side.
    async fn next_points(&mut self) -> Result<Option<(Vec<Key>, Vec<Row>)>> {
        let wanted = self.wanted();
        let Some(open) = &mut self.open else { return Ok(None) };
        if open.is_empty() {
            return Ok(None);
        }
        let at = open.len().saturating_sub(wanted);
        let primary_keys: Vec<Key> = open.drain(at..).rev().map(|span| span.start).collect();
        if self.locks_first {
            let rows = self.lock_rows(&primary_keys).await?;
            self.counts.fetched(rows.len());
            return Ok(Some((Vec::new(), rows)));
        }
        self.rows_of(primary_keys).await.map(Some)
    }

    /// The rows of primary keys that satisfy the filter, and their primary keys.
    async fn rows_of(&mut self, primary_keys: Vec<Key>) -> Result<(Vec<Key>, Vec<Row>)> {
        let mut keys = Vec::with_capacity(primary_keys.len() * self.layout.reader.families.len());
        for primary_key in &primary_keys {
            self.layout.reader.keys_of(primary_key, &mut keys);
        }
        let cx = &self.evaluator.run.cx;
        let read = cx.txn.reads().multi_get_recorded(cx.seq, &keys, self.record);
        let values = self.evaluator.run.wait(read).await?;
        let rows = self.layout.reader.rows(&self.evaluator, &primary_keys, &keys, &values).await?;
        self.counts.fetched(rows.iter().flatten().count());
        let (mut found_keys, mut found) = (Vec::new(), Vec::with_capacity(rows.len()));
        for (primary_key, row) in primary_keys.into_iter().zip(rows) {
            if let Some(row) = row
                && self.failed.passes(self.evaluator.holds_now(&self.filter, &row))
            {
                if self.locker.is_some() {
                    found_keys.push(primary_key);
                }
                found.push(row);
            }
        }
        Ok((found_keys, found))
    }

    /// The next batch of the spans; `None` at the end.
    async fn next_entries(&mut self, keys_only: bool) -> Result<Option<braid_kv::ScanBatch>> {
        let limit_rows = match self.left {
            Some(_) if self.filter.is_empty() => {
                self.wanted() * self.layout.reader.rows.family_count()
            }
            _ => 0,
        };
        let (reverse, record, first_rows) = (self.reverse, self.record, self.first_rows);
        let shape = self.layout.bounds.shape.as_ref();
        let request = |span| {
            let request = ScanRequest::new(span).reverse(reverse).record(record).shape(shape);
            let request = request.limit_rows(limit_rows).first_rows(first_rows);
            if keys_only { request.keys_only() } else { request }
        };
        let (layout, filter, evaluator) = (&self.layout, &self.filter, &self.evaluator);
        let passes = |key: &[u8], value: &[u8]| layout.passes((key, value), filter, evaluator);
        let options = ReadOptions { request, limit_rows, passes: &passes };
        let open = &mut self.open;
        let (bounds, alone) = (&layout.bounds, self.left.is_some());
        let entries_of = |spans| Entries::new(self.reading, spans, bounds, (reverse, alone));
        let entries =
            self.entries.get_or_insert_with(|| entries_of(open.take().unwrap_or_default()));
        let mut batch = entries.next(&evaluator.run, &options).await?;
        while batch.is_none()
            && let Some(part) = self.morsels.as_ref().and_then(|morsels| morsels.take())
        {
            *entries = entries_of(vec![part]);
            batch = entries.next(&evaluator.run, &options).await?;
        }
        if let Some(batch) = &batch {
            let families = self.layout.reader.rows.family_count().max(1);
            let is_index = self.layout.secondary.is_some();
            let rows = if is_index { batch.len() } else { batch.len().div_ceil(families) };
            self.counts.read(rows);
            // A span of the primary key leads to its rows.
            self.counts.fetched(if is_index { 0 } else { rows });
        }
        Ok(batch)
    }

    /// Whether the next batch of entries is there already.
    fn has_ready(&self) -> bool {
        self.entries.as_ref().is_some_and(Entries::has_ready)
    }

    async fn next_of_primary(&mut self) -> Result<Option<(Vec<Key>, Vec<Row>)>> {
        let single = self.layout.reader.rows.family_count() == 1;
        let keys_only = single && !self.layout.reader.decoder.needs_values();
        let Some(batch) = self.next_entries(keys_only).await? else {
            let mut result = (Vec::new(), Vec::new());
            let Some((key, row)) = self.partial.finish() else { return Ok(None) };
            self.keep(key, row, &mut result);
            return Ok(Some(result));
        };
        if single {
            return self.rows_of_batch(&batch).map(Some);
        }
        let mut result = (Vec::new(), Vec::with_capacity(batch.len()));
        for (key, value) in batch.iter() {
            let complete = self.partial.add(&self.layout.reader.decoder, key, value)?;
            if let Some((key, row)) = complete {
                self.keep(key, row, &mut result);
            }
        }
        Ok(Some(result))
    }

    fn keep(&mut self, key: Key, row: Row, result: &mut (Vec<Key>, Vec<Row>)) {
        if self.failed.passes(self.evaluator.holds_now(&self.filter, &row)) {
            result.0.push(key);
            result.1.push(row);
        }
    }

    async fn next_by_index(&mut self) -> Result<Option<(Vec<Key>, Vec<Row>)>> {
        let Some(batch) = self.next_entries(false).await? else { return Ok(None) };
        let mut entries = batch.len();
        let mut batches = vec![batch];
        while entries < BATCH_ROWS && self.has_ready() {
            let Some(batch) = self.next_entries(false).await? else { break };
            entries += batch.len();
            batches.push(batch);
        }
        let layout = self.layout.clone();
        let Some(secondary) = &layout.secondary else { return Ok(None) };
        let all = batches.iter().flat_map(|batch| batch.iter());
        if let Some(decoder) = &secondary.covering {
            let skipped = if self.filter.is_empty() { self.skipped_of(entries) } else { 0 };
            let mut rows = Vec::with_capacity(entries - skipped);
            for (key, value) in all.skip(skipped) {
                let row = decoder.decode(key, value)?;
                if self.failed.passes(self.evaluator.holds_now(&self.filter, &row)) {
                    rows.push(row);
                }
            }
            return Ok(Some((Vec::new(), rows)));
        }
        let decides = layout.entry_filter.as_ref().is_some_and(|filter| filter.decides);
        let wanted = self.left.filter(|_| decides && self.locker.is_none());
        let mut primary_keys = Vec::with_capacity(entries.saturating_sub(self.skip));
        for entry in all {
            if wanted.is_some_and(|wanted| primary_keys.len() as u64 >= wanted) {
                break;
            }
            let filter = layout.entry_filter.as_ref();
            if filter.is_some_and(|filter| !filter.passes(entry, &self.evaluator)) {
                continue;
            }
            if self.skip > 0 && decides {
                self.skip -= 1;
                continue;
            }
            let parts = secondary.primary.decode(entry.0, entry.1)?;
            primary_keys.push(layout.reader.rows.primary_key_of_parts(&parts));
        }
        match primary_keys.is_empty() {
            true => Ok(Some((Vec::new(), Vec::new()))),
            false => self.rows_of(primary_keys).await.map(Some),
        }
    }

    /// Locks rows and reads them as they are now.
    async fn lock_rows(&mut self, keys: &[Key]) -> Result<Vec<Row>> {
        let Some(locker) = &self.locker else { return Ok(Vec::new()) };
        let locked = locker.rows(&self.evaluator, keys).await?;
        Ok(self.still_wanted(locked))
    }

    /// Locks rows that the scan has shown; as they are now.
    async fn lock_shown(&mut self, keys: &[Key], rows: Vec<Row>) -> Result<Vec<Row>> {
        let wanted = self.left.map_or(usize::MAX, |left| left as usize);
        let mut result = Vec::with_capacity(rows.len());
        let (mut open, mut rows) = (keys, rows.into_iter());
        // With a limit no more is locked than is given.
        while !open.is_empty() && result.len() < wanted {
            let (now, later) = open.split_at(open.len().min(wanted - result.len()));
            open = later;
            let Some(locker) = &self.locker else { break };
            let shown = rows.by_ref().take(now.len()).collect();
            let locked = locker.scanned(&self.evaluator, now, shown).await?;
            result.append(&mut self.still_wanted(locked));
        }
        Ok(result)
    }

    /// Locked rows that satisfy the filter, which is looked at again where a row may be another one
    /// than before.
    fn still_wanted(&mut self, locked: Vec<Option<LockedRow>>) -> Vec<Row> {
        let mut result = Vec::with_capacity(locked.len());
        for LockedRow { row, stale } in locked.into_iter().flatten() {
            if !stale || self.failed.passes(self.evaluator.holds_now(&self.filter, &row)) {
                result.push(row);
            }
        }
        result
    }
}

impl Operator for ScanOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.next_rows())
    }

    fn is_done(&self) -> bool {
        let all_read = self.points && self.open.as_ref().is_some_and(Vec::is_empty);
        all_read && !self.failed.is_waiting()
    }

    fn make_room(&mut self, columns: usize) {
        self.room = columns;
    }

    fn columns(&mut self) -> Option<&mut dyn ColumnSource> {
        if self.gives_columns() { Some(self) } else { None }
    }
}
