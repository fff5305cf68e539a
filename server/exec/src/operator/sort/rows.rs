//! Sorting: keys are computed once a row; with a limit only that many rows are kept.

use std::cmp::Ordering;
use std::sync::Arc;

use braid_plan::explain::DiskUse;
use braid_plan::{Expr, Sort, SortKey};
use braid_types::{Datum, Result, Row, SqlType, ignores_blanks};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::basic::limit::rows_taken;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::{MemoryReservation, broken};
use crate::operator::sort::prefix::Numbering;
use crate::operator::sort::sorting::sort;
use crate::operator::{BATCH_ROWS, BoxedOperator, ExecutionState, Operator};
use crate::spill::file::TempFile;
use crate::spill::merge::{Merge, RunOrder};
use crate::spill::stream::{RowStream, RowWriter, block_bytes};

/// The directions of sort keys.
pub(crate) struct Directions(Vec<Direction>);

struct Direction {
    descending: bool,
    nulls_first: bool,
    /// The type of the key, if values alone do not say how they compare.
    ty: Option<SqlType>,
    numbering: Numbering,
}

impl Directions {
    /// The directions of these keys.
    pub(crate) fn new(keys: &[SortKey]) -> Self {
        let one = |key: &SortKey| Direction {
            descending: key.descending,
            nulls_first: key.nulls_first,
            ty: Some(key.expr.ty()).filter(ignores_blanks),
            numbering: Numbering::of(&key.expr.ty()),
        };
        Self(keys.iter().map(one).collect())
    }

    /// Whether the first key descends.
    pub(crate) fn first_descends(&self) -> bool {
        self.0.first().is_some_and(|direction| direction.descending)
    }

    /// A number that grows with the first key in this order; `None` if its value has none.
    pub(crate) fn prefix(&self, first: Option<&Datum>) -> Option<u64> {
        match (self.0.first(), first) {
            (Some(direction), Some(first)) => direction.prefix(first),
            _ => Some(0),
        }
    }

    /// Compares the keys of two rows.
    pub(crate) fn compare(&self, a: &[Datum], b: &[Datum]) -> Ordering {
        for ((direction, a), b) in self.0.iter().zip(a).zip(b) {
            let order = direction.compare(a, b);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// Compares two rows whose keys are columns of theirs.
    fn compare_places(&self, places: &[usize], a: &[Datum], b: &[Datum]) -> Ordering {
        for (direction, place) in self.0.iter().zip(places) {
            let order = direction.compare(&a[*place], &b[*place]);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }
}

impl Direction {
    fn prefix(&self, value: &Datum) -> Option<u64> {
        if value.is_null() {
            return Some(if self.nulls_first { 0 } else { u64::MAX });
        }
        let prefix = self.numbering.prefix(value)?;
        Some(match (self.numbering, self.descending) {
            (Numbering::Unknown, _) if self.nulls_first => u64::MAX,
            (Numbering::Unknown, _) => 0,
            (_, true) => !prefix,
            (_, false) => prefix,
        })
    }

    fn compare(&self, a: &Datum, b: &Datum) -> Ordering {
        match (a.is_null(), b.is_null()) {
            (false, false) => {
                let order = match &self.ty {
                    None => a.compare(b),
                    Some(ty) => a.compare_typed(b, ty),
                };
                if self.descending { order.reverse() } else { order }
            }
            (true, true) => Ordering::Equal,
            (true, false) if self.nulls_first => Ordering::Less,
            (false, true) if !self.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        }
    }
}

/// The expressions of sort keys.
pub(crate) fn key_exprs(keys: &[SortKey]) -> Exprs {
    Exprs::new(keys.iter().map(|key| key.expr.clone()).collect())
}

/// Sorts its input, stably.
///
/// Rows that memory has no room for are on disk, in runs that are sorted each for itself. The runs
/// are merged when the rows are given. Under a limit rows that are not wanted go first.
pub(crate) struct SortOperator {
    input: BoxedOperator,
    keys: Exprs,
    order: Arc<KeyOrder>,
    limit: Option<Expr>,
    offset: Option<Expr>,
    evaluator: Evaluator,
    held: MemoryReservation,
    file: Option<Arc<TempFile>>,
    runs: Vec<RowStream>,
    sorted: Option<Sorted>,
}

/// The result.
enum Sorted {
    Memory(std::vec::IntoIter<Entry>),
    /// With the number of rows that are still wanted.
    Disk(Merge<KeyOrder>, usize),
}

/// The order of entries, and of the rows of runs. These begin with keys of their own, if the keys
/// are not columns.
struct KeyOrder {
    directions: Directions,
    /// The keys' places, if all are columns; then entries have no keys of their own.
    places: Option<Vec<usize>>,
}

struct Entry {
    keys: Row,
    row: Row,
}

impl Entry {
    fn bytes(&self) -> usize {
        row_bytes(&self.row) + row_bytes(&self.keys)
    }
}

impl RunOrder for KeyOrder {
    fn compare(&self, a: &[Datum], b: &[Datum]) -> Ordering {
        match &self.places {
            Some(places) => self.directions.compare_places(places, a, b),
            None => self.directions.compare(a, b),
        }
    }
}

impl KeyOrder {
    fn compare_entries(&self, a: &Entry, b: &Entry) -> Ordering {
        match &self.places {
            Some(places) => self.directions.compare_places(places, &a.row, &b.row),
            None => self.directions.compare(&a.keys, &b.keys),
        }
    }

    async fn sort(&self, run: &ExecutionState, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        let prefix = |entry: &Entry| {
            let first = match &self.places {
                Some(places) => places.first().and_then(|place| entry.row.get(*place)),
                None => entry.keys.first(),
            };
            self.directions.prefix(first)
        };
        sort(run, entries, prefix, |a, b| self.compare_entries(a, b)).await
    }
}

impl SortOperator {
    /// A sort of an input.
    pub(crate) fn new(input: BoxedOperator, node: &Sort, evaluator: Evaluator) -> Self {
        let directions = Directions::new(&node.keys);
        let keys = key_exprs(&node.keys);
        let (limit, offset) = (node.limit.clone(), node.offset.clone());
        let order = Arc::new(KeyOrder { directions, places: keys.places() });
        let held = MemoryReservation::new(&evaluator.run);
        let (file, runs, sorted) = (None, Vec::new(), None);
        Self { input, keys, order, limit, offset, evaluator, held, file, runs, sorted }
    }

    async fn read(&mut self) -> Result<Sorted> {
        let page = (self.limit.as_ref(), self.offset.as_ref());
        let wanted = rows_taken(&self.evaluator, page).await;
        let mut entries: Vec<Entry> = Vec::new();
        // Above this number of entries the surplus is dropped.
        let full = wanted.saturating_mul(2).max(wanted.saturating_add(BATCH_ROWS));
        let mut pruned = false;
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.check_interrupts().await?;
            let mut bytes = 0;
            for row in batch {
                let keys = match &self.order.places {
                    Some(_) => Row::new(),
                    None => self.keys.eval(&self.evaluator, &row).await?,
                };
                let entry = Entry { keys, row };
                // Among equals the earlier row stays, so a later equal one is not needed.
                if pruned && self.order.compare_entries(&entry, &entries[wanted - 1]).is_ge() {
                    continue;
                }
                bytes += entry.bytes();
                entries.push(entry);
            }
            let fits = self.held.try_take(bytes)?;
            if !fits || (wanted > 0 && entries.len() > full) {
                entries = self.make_room(entries, wanted).await?;
                pruned = wanted > 0 && entries.len() == wanted;
            }
        }
        if self.runs.is_empty() {
            let mut entries = self.order.sort(&self.evaluator.run, entries).await?;
            entries.truncate(wanted);
            return Ok(Sorted::Memory(entries.into_iter()));
        }
        let mut rest = self.order.sort(&self.evaluator.run, entries).await?;
        rest.truncate(wanted);
        self.merge(rest, wanted).await
    }

    /// Drops the entries that are not wanted. What is too much all the same goes to disk.
    async fn make_room(&mut self, entries: Vec<Entry>, wanted: usize) -> Result<Vec<Entry>> {
        let mut entries = self.order.sort(&self.evaluator.run, entries).await?;
        entries.truncate(wanted);
        self.held.clear();
        // So a good part is free again.
        let bytes: usize = entries.iter().map(Entry::bytes).sum();
        if entries.len() == wanted && self.held.try_take(bytes * 2)? {
            self.held.clear();
            self.held.try_take(bytes)?;
            return Ok(entries);
        }
        self.write_run(entries).await?;
        Ok(Vec::new())
    }

    /// Writes sorted entries to disk.
    async fn write_run(&mut self, entries: Vec<Entry>) -> Result<()> {
        let run = &self.evaluator.run;
        self.held.clear();
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(TempFile::create(&run.cx.temp)?),
        };
        let mut writer = RowWriter::new(file, block_bytes(self.held.take_buffers()?, 1));
        for (place, Entry { mut keys, mut row }) in entries.into_iter().enumerate() {
            if place.is_multiple_of(BATCH_ROWS) {
                run.check_interrupts().await?;
            }
            if keys.is_empty() {
                writer.push(&row)?;
            } else {
                keys.append(&mut row);
                writer.push(&keys)?;
            }
        }
        self.runs.push(writer.finish()?);
        self.held.clear();
        Ok(())
    }

    async fn merge(&mut self, rest: Vec<Entry>, wanted: usize) -> Result<Sorted> {
        self.write_run(rest).await?;
        let runs = std::mem::take(&mut self.runs);
        let Some(file) = &self.file else { return Err(broken("a run has no file")) };
        let memory = self.held.take_buffers()?;
        let run = &self.evaluator.run;
        let merge = Merge::new(run, file, runs, self.order.clone(), memory).await?;
        Ok(Sorted::Disk(merge, wanted))
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.sorted.is_none() {
            self.sorted = Some(self.read().await?);
        }
        self.evaluator.run.check_interrupts().await?;
        let batch: Vec<Row> = match &mut self.sorted {
            None => return Ok(None),
            Some(Sorted::Memory(sorted)) => {
                sorted.by_ref().take(BATCH_ROWS).map(|entry| entry.row).collect()
            }
            Some(Sorted::Disk(merge, wanted)) => {
                let keys = if self.order.places.is_some() { 0 } else { self.keys.list.len() };
                let mut batch = Vec::new();
                while batch.len() < BATCH_ROWS.min(*wanted)
                    && let Some(mut row) = merge.next_row()?
                {
                    row.drain(..keys);
                    batch.push(row);
                }
                *wanted -= batch.len();
                batch
            }
        };
        if batch.is_empty() {
            self.held.clear();
            return Ok(None);
        }
        Ok(Some(batch))
    }
}

impl Operator for SortOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn spilled(&self) -> Option<DiskUse> {
        self.file.as_ref().map(|file| DiskUse { sorts: true, batches: 0, bytes: file.bytes() })
    }
}
