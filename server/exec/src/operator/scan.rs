//! A scan of a stored table: by primary keys, by spans of the primary index, or by a secondary
//! index whose entries lead to rows.
//!
//! Rows that are to be locked are filtered first, then locked, then looked at again as they are
//! now: what was read before the lock may have changed (READ COMMITTED) or the transaction has
//! been refreshed (SERIALIZABLE). Whole primary keys without a further condition are locked and
//! read at once, except at READ COMMITTED, where a row that is not there must not be locked.

mod columns;

use std::sync::Arc;

use braid_catalog::Table;
use braid_kv::{Isolation, Key, KeyShape, Record, ScanRequest, Span, Value};
use braid_plan::{Bound, Expr, Scan};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use super::columns::ColumnSource;
use super::eval::Evaluator;
use super::multi_scan::MultiScan;
use super::row_lock::RowLocker;
use super::spans::{KeyColumn, spans};
use super::{BATCH_ROWS, Operator};
use crate::rows::{IndexDecoder, IndexRows, RowDecoder, TableRows};

/// How a table is read: layouts and decoders for the columns wanted.
pub struct Reader {
    /// The layout.
    pub rows: TableRows,
    /// Decodes the columns wanted.
    pub decoder: RowDecoder,
    /// The families to be read for them.
    pub families: Vec<usize>,
}

impl Reader {
    /// A reader of these columns.
    pub fn new(table: &Arc<Table>, places: &[usize], all_families: bool) -> Self {
        let rows = TableRows::new(table);
        let decoder = rows.reader(places);
        let mut families = rows.families_of(places);
        if all_families {
            families = (0..rows.family_count()).collect();
        } else if !families.contains(&0) {
            families.insert(0, 0);
        }
        Self { rows, decoder, families }
    }

    /// A reader of these columns from these families alone; the others' are NULL.
    pub fn of_families(table: &Arc<Table>, places: &[usize], families: &[usize]) -> Self {
        let rows = TableRows::new(table);
        let decoder = rows.reader(places);
        Self { rows, decoder, families: families.to_vec() }
    }

    /// Whether family 0, which every row has, is read.
    fn reads_first(&self) -> bool {
        self.families.contains(&0)
    }

    /// The key of the pair that every row has.
    pub fn first_key(&self, primary_key: &[u8]) -> Key {
        self.rows.family_keys(primary_key).swap_remove(0)
    }

    /// Rows of which no pair was found, though that does not mean that there is none.
    pub fn unproved(&self, values: &[Option<Value>]) -> Vec<usize> {
        if self.reads_first() {
            return Vec::new();
        }
        let chunks = values.chunks(self.families.len().max(1)).enumerate();
        let empty = chunks.filter(|(_, values)| values.iter().all(Option::is_none));
        empty.map(|(at, _)| at).collect()
    }

    /// Rows from the values of [`Reader::keys_of`]; where these do not tell whether there is a
    /// row, that is read.
    pub async fn rows(
        &self,
        evaluator: &Evaluator,
        primary_keys: &[Key],
        keys: &[Key],
        values: &[Option<Value>],
    ) -> Result<Vec<Option<Row>>> {
        let empty = self.unproved(values);
        if empty.is_empty() {
            return self.decode(keys, values);
        }
        let first: Vec<Key> = empty.iter().map(|at| self.first_key(&primary_keys[*at])).collect();
        let cx = &evaluator.run.cx;
        let found = evaluator.run.wait(cx.txn.multi_get(cx.seq, &first)).await?;
        let there = empty.into_iter().zip(&found).filter(|(_, value)| value.is_some());
        let proved: Vec<usize> = there.map(|(at, _)| at).collect();
        self.decode_proved(keys, values, &proved)
    }

    /// The keys to be read for a row.
    pub fn keys_of(&self, primary_key: &[u8], into: &mut Vec<Key>) {
        let all = self.rows.family_keys(primary_key);
        into.extend(
            all.into_iter()
                .enumerate()
                .filter_map(|(i, key)| self.families.contains(&i).then_some(key)),
        );
    }

    /// Rows from the values of [`Reader::keys_of`], one chunk a row; `None` where there is none.
    pub fn decode(&self, keys: &[Key], values: &[Option<Value>]) -> Result<Vec<Option<Row>>> {
        self.decode_proved(keys, values, &[])
    }

    /// The same; the rows at `proved` are known to be there whatever their values say.
    pub fn decode_proved(
        &self,
        keys: &[Key],
        values: &[Option<Value>],
        proved: &[usize],
    ) -> Result<Vec<Option<Row>>> {
        let first_tells = self.reads_first();
        let width = self.families.len();
        let mut result = Vec::with_capacity(keys.len() / width.max(1));
        for (at, (keys, values)) in keys.chunks(width).zip(values.chunks(width)).enumerate() {
            // Family 0 says whether the row exists; so does a value in any other.
            let there = match first_tells {
                true => values[0].is_some(),
                false => values.iter().any(Option::is_some) || proved.contains(&at),
            };
            if !there {
                result.push(None);
                continue;
            }
            let mut row = self.decoder.start(&keys[0])?;
            for value in values.iter().flatten() {
                self.decoder.fill(&mut row, value)?;
            }
            result.push(Some(row));
        }
        Ok(result)
    }
}

/// The bounds and key columns of an access.
pub struct KeyBounds {
    /// What the index's keys start with.
    pub prefix: Vec<u8>,
    /// Its key columns.
    pub columns: Vec<KeyColumn>,
    /// Conditions on the first of them.
    pub bounds: Vec<Bound>,
    /// Tells the index's keys from others between them, if there are any.
    pub shape: Option<Arc<dyn KeyShape>>,
}

impl KeyBounds {
    /// The bounds of a scan's access.
    pub fn new(scan: &Scan) -> Self {
        let table = &scan.table;
        let index = table.all_indexes().find(|index| index.number == scan.access.index);
        let index = index.unwrap_or(&table.primary);
        Self {
            prefix: table.key_prefix(index),
            columns: KeyColumn::all(table, index),
            shape: table.key_shape_among(index, scan.gap_keys),
            bounds: scan.access.bounds.clone(),
        }
    }

    /// Whether every key column has one or more single values.
    pub fn are_points(&self) -> bool {
        self.bounds.len() == self.columns.len() && self.bounds.iter().all(Bound::is_of_values)
    }

    /// The spans.
    pub async fn spans(&self, evaluator: &Evaluator) -> Result<Vec<Span>> {
        spans(&self.prefix, &self.columns, &self.bounds, evaluator).await
    }
}

/// A secondary index on the way to rows.
pub struct Secondary {
    /// Decodes the columns wanted, if the index has them all.
    pub covering: Option<IndexDecoder>,
    /// Decodes the primary key.
    pub primary: IndexDecoder,
}

impl Secondary {
    /// The index that a scan reads, if it is not the primary one. Rows that are locked are read
    /// by their primary keys.
    pub fn new(scan: &Scan, places: &[usize], reader: &Reader, locking: bool) -> Option<Self> {
        let table = &scan.table;
        let index = table.indexes.iter().find(|index| index.number == scan.access.index)?;
        let rows = IndexRows::new(table, index);
        let covers = !locking && places.iter().all(|place| rows.has(table, *place));
        Some(Self {
            covering: covers.then(|| rows.reader(table, places)),
            primary: rows.reader(table, &reader.rows.primary_places()),
        })
    }
}

fn places_of(scan: &Scan) -> Vec<usize> {
    scan.columns.iter().map(|(_, place)| *place).collect()
}

/// How a scan reads, as far as it follows from the plan: kept with it.
struct Layout {
    reader: Reader,
    bounds: KeyBounds,
    secondary: Option<Secondary>,
}

impl Layout {
    fn new(scan: &Scan, locking: bool) -> Self {
        let places = places_of(scan);
        let reader = match &scan.families {
            Some(families) => Reader::of_families(&scan.table, &places, families),
            None => Reader::new(&scan.table, &places, locking),
        };
        let secondary = Secondary::new(scan, &places, &reader, locking);
        Self { reader, bounds: KeyBounds::new(scan), secondary }
    }

    /// The layout that the plan keeps, unless this run locks otherwise than the plan says.
    fn of(scan: &Scan, locking: bool) -> Arc<Self> {
        if locking == scan.lock.is_some() {
            scan.memo.get_or_make(|| Self::new(scan, locking))
        } else {
            Arc::new(Self::new(scan, locking))
        }
    }
}

/// A scan.
pub struct ScanOperator {
    evaluator: Evaluator,
    layout: Arc<Layout>,
    points: bool,
    filter: Vec<Expr>,
    locker: Option<RowLocker>,
    /// Keys are locked and read at once.
    locks_first: bool,
    record: Record,
    limit: Option<Expr>,
    reverse: bool,
    /// Rows that may still be given.
    left: Option<u64>,
    /// Spans (or point keys) still to be read, the next one last.
    open: Option<Vec<Span>>,
    /// The same while entries are read.
    entries: Option<MultiScan>,
    /// The row whose families are being put together: its key and what is there so far.
    partial: Option<(Vec<u8>, Row)>,
    by_columns: Option<Box<columns::ByColumns>>,
}

impl ScanOperator {
    /// A scan; nothing is read yet.
    pub fn new(scan: &Scan, evaluator: Evaluator) -> Result<Self> {
        let lock = scan.lock.filter(|_| !scan.implicit_lock || evaluator.run.cx.implicit_locks);
        let layout = Layout::of(scan, lock.is_some());
        let locker = lock.map(|lock| {
            let places = places_of(scan);
            RowLocker::new(&scan.table, &places, scan.families.as_deref(), lock, true)
        });
        let points = layout.secondary.is_none() && layout.bounds.are_points();
        let read_committed = evaluator.run.cx.txn.isolation() == Isolation::ReadCommitted;
        Ok(Self {
            points,
            locks_first: points && locker.is_some() && scan.filter.is_empty() && !read_committed,
            record: if scan.unrecorded { Record::Never } else { Record::Default },
            evaluator,
            layout,
            filter: scan.filter.clone(),
            locker,
            limit: scan.access.limit.clone(),
            reverse: scan.access.reverse,
            left: None,
            open: None,
            entries: None,
            partial: None,
            by_columns: None,
        })
    }

    async fn start(&mut self) -> Result<()> {
        self.left = self.evaluator.count(self.limit.as_ref(), "LIMIT").await?;
        let mut spans = self.layout.bounds.spans(&self.evaluator).await?;
        if !self.reverse {
            spans.reverse();
        }
        self.open = Some(spans);
        Ok(())
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Row>>> {
        if self.open.is_none() && self.entries.is_none() {
            self.start().await?;
        }
        loop {
            self.evaluator.run.breathe().await?;
            if self.left == Some(0) {
                return Ok(None);
            }
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
                rows = self.lock_rows(&keys).await?;
            }
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
            Some(left) if self.filter.is_empty() => (left as usize).clamp(1, BATCH_ROWS),
            _ => BATCH_ROWS,
        }
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
        let read = cx.txn.multi_get_recorded(cx.seq, &keys, self.record);
        let values = self.evaluator.run.wait(read).await?;
        let rows = self.layout.reader.rows(&self.evaluator, &primary_keys, &keys, &values).await?;
        let (mut found_keys, mut found) = (Vec::new(), Vec::with_capacity(rows.len()));
        for (primary_key, row) in primary_keys.into_iter().zip(rows) {
            if let Some(row) = row
                && self.evaluator.holds_now(&self.filter, &row)?
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
            Some(left) if self.filter.is_empty() => {
                (left as usize).clamp(1, BATCH_ROWS) * self.layout.reader.rows.family_count()
            }
            _ => 0,
        };
        let (reverse, record) = (self.reverse, self.record);
        let shape = self.layout.bounds.shape.as_ref();
        let request = |span| {
            let request = ScanRequest::new(span).reverse(reverse).record(record).shape(shape);
            let request = request.limit_rows(limit_rows);
            if keys_only { request.keys_only() } else { request }
        };
        let open = &mut self.open;
        let alone = self.left.is_some();
        let entries = self
            .entries
            .get_or_insert_with(|| MultiScan::new(open.take().unwrap_or_default(), alone));
        entries.next(&self.evaluator.run, request).await
    }

    /// Whether the next batch of entries is there already.
    fn has_ready(&self) -> bool {
        self.entries.as_ref().is_some_and(MultiScan::has_ready)
    }

    async fn next_of_primary(&mut self) -> Result<Option<(Vec<Key>, Vec<Row>)>> {
        let single = self.layout.reader.rows.family_count() == 1;
        let keys_only = single && !self.layout.reader.decoder.needs_values();
        let Some(batch) = self.next_entries(keys_only).await? else {
            let mut result = (Vec::new(), Vec::new());
            let Some((key, row)) = self.partial.take() else { return Ok(None) };
            self.keep(key, row, &mut result)?;
            return Ok(Some(result));
        };
        let mut result = (Vec::new(), Vec::with_capacity(batch.len()));
        if single && self.locker.is_none() {
            result.1 = self.rows_of_batch(&batch)?;
            return Ok(Some(result));
        }
        for (key, value) in batch.iter() {
            let row_key = self.layout.reader.decoder.row_key(key)?;
            if self.partial.as_ref().is_none_or(|(known, _)| known != row_key) {
                if let Some((key, row)) = self.partial.take() {
                    self.keep(key, row, &mut result)?;
                }
                self.partial = Some((row_key.to_vec(), self.layout.reader.decoder.start(key)?));
            }
            if let Some((_, row)) = &mut self.partial {
                self.layout.reader.decoder.fill(row, value)?;
            }
        }
        Ok(Some(result))
    }

    fn keep(&self, key: Key, row: Row, result: &mut (Vec<Key>, Vec<Row>)) -> Result<()> {
        if self.evaluator.holds_now(&self.filter, &row)? {
            result.0.push(key);
            result.1.push(row);
        }
        Ok(())
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
        let Some(secondary) = &self.layout.secondary else { return Ok(None) };
        if let Some(decoder) = &secondary.covering {
            let mut rows = Vec::with_capacity(entries);
            for (key, value) in batches.iter().flat_map(|batch| batch.iter()) {
                let row = decoder.decode(key, value)?;
                if self.evaluator.holds_now(&self.filter, &row)? {
                    rows.push(row);
                }
            }
            return Ok(Some((Vec::new(), rows)));
        }
        let mut primary_keys = Vec::with_capacity(entries);
        for (key, value) in batches.iter().flat_map(|batch| batch.iter()) {
            let parts = secondary.primary.decode(key, value)?;
            primary_keys.push(self.layout.reader.rows.primary_key_of_parts(&parts));
        }
        self.rows_of(primary_keys).await.map(Some)
    }

    /// Locks rows and reads them as they are now.
    async fn lock_rows(&mut self, keys: &[Key]) -> Result<Vec<Row>> {
        let Some(locker) = &self.locker else { return Ok(Vec::new()) };
        let wanted = self.left.map_or(usize::MAX, |left| left as usize);
        let mut result = Vec::with_capacity(keys.len());
        let mut open = keys;
        // With a limit no more is locked than is given.
        while !open.is_empty() && result.len() < wanted {
            let (now, later) = open.split_at(open.len().min(wanted - result.len()));
            open = later;
            for locked in locker.rows(&self.evaluator, now).await?.into_iter().flatten() {
                if self.evaluator.holds_now(&self.filter, &locked.row)? {
                    result.push(locked.row);
                }
            }
        }
        Ok(result)
    }
}

impl Operator for ScanOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.next_rows())
    }

    fn is_done(&self) -> bool {
        self.points && self.open.as_ref().is_some_and(Vec::is_empty)
    }

    fn columns(&mut self) -> Option<&mut dyn ColumnSource> {
        if self.gives_columns() { Some(self) } else { None }
    }
}
