//! Sorting: keys are computed once a row; with a limit only that many rows are kept.

use std::cmp::Ordering;

use braid_plan::{Expr, SortKey};
use braid_types::{Datum, Result, Row, SqlType, ignores_blanks};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::MemoryReservation;
use crate::operator::sort::sorting::sort;
use crate::operator::{BATCH_ROWS, BoxedOperator, ExecutionState, Operator};

/// The directions of sort keys.
pub struct Directions(Vec<Direction>);

struct Direction {
    descending: bool,
    nulls_first: bool,
    /// The type of the key, if values alone do not say how they compare.
    ty: Option<SqlType>,
}

impl Directions {
    /// The directions of these keys.
    pub fn new(keys: &[SortKey]) -> Self {
        let one = |key: &SortKey| Direction {
            descending: key.descending,
            nulls_first: key.nulls_first,
            ty: Some(key.expr.ty()).filter(ignores_blanks),
        };
        Self(keys.iter().map(one).collect())
    }

    /// Whether the first key descends.
    pub fn first_descends(&self) -> bool {
        self.0.first().is_some_and(|direction| direction.descending)
    }

    /// Compares the keys of two rows.
    pub fn compare(&self, a: &[Datum], b: &[Datum]) -> Ordering {
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
pub fn key_exprs(keys: &[SortKey]) -> Exprs {
    Exprs::new(keys.iter().map(|key| key.expr.clone()).collect())
}

/// Sorts its input, stably.
pub struct SortOperator {
    input: BoxedOperator,
    keys: Exprs,
    order: KeyOrder,
    limit: Option<Expr>,
    evaluator: Evaluator,
    held: MemoryReservation,
    sorted: Option<std::vec::IntoIter<Entry>>,
}

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

impl KeyOrder {
    fn compare(&self, a: &Entry, b: &Entry) -> Ordering {
        match &self.places {
            Some(places) => self.directions.compare_places(places, &a.row, &b.row),
            None => self.directions.compare(&a.keys, &b.keys),
        }
    }

    async fn sort(&self, run: &ExecutionState, entries: Vec<Entry>) -> Result<Vec<Entry>> {
        sort(run, entries, |a, b| self.compare(a, b)).await
    }
}

impl SortOperator {
    /// A sort of an input; `limit`: how many of the first rows are needed.
    pub fn new(
        input: BoxedOperator,
        keys: &[SortKey],
        limit: Option<Expr>,
        evaluator: Evaluator,
    ) -> Self {
        let directions = Directions::new(keys);
        let keys = key_exprs(keys);
        let order = KeyOrder { directions, places: keys.places() };
        let held = MemoryReservation::new(&evaluator.run);
        Self { input, keys, order, limit, evaluator, held, sorted: None }
    }

    /// What is wanted, if that is known; a bad LIMIT is refused by the limit itself.
    async fn wanted(&mut self) -> usize {
        let Some(limit) = &self.limit else { return usize::MAX };
        match self.evaluator.eval(limit, &[]).await {
            Ok(Datum::Int(n)) => usize::try_from(n).unwrap_or(usize::MAX),
            _ => usize::MAX,
        }
    }

    async fn read(&mut self) -> Result<Vec<Entry>> {
        let wanted = self.wanted().await;
        let mut entries: Vec<Entry> = Vec::new();
        // Above this number of entries the surplus is dropped.
        let full = wanted.saturating_mul(2).max(wanted.saturating_add(BATCH_ROWS));
        let mut pruned = false;
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.breathe().await?;
            let mut bytes = 0;
            for row in batch {
                let keys = match &self.order.places {
                    Some(_) => Row::new(),
                    None => self.keys.eval(&self.evaluator, &row).await?,
                };
                let entry = Entry { keys, row };
                // Among equals the earlier row stays, so a later equal one is not needed.
                if pruned && self.order.compare(&entry, &entries[wanted - 1]).is_ge() {
                    continue;
                }
                bytes += entry.bytes();
                entries.push(entry);
            }
            self.held.take(bytes)?;
            if wanted > 0 && entries.len() > full {
                entries = self.order.sort(&self.evaluator.run, entries).await?;
                entries.truncate(wanted);
                pruned = true;
                self.held.clear();
                self.held.take(entries.iter().map(Entry::bytes).sum())?;
            }
        }
        let mut entries = self.order.sort(&self.evaluator.run, entries).await?;
        entries.truncate(wanted);
        Ok(entries)
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.sorted.is_none() {
            self.sorted = Some(self.read().await?.into_iter());
        }
        self.evaluator.run.breathe().await?;
        let Some(sorted) = &mut self.sorted else { return Ok(None) };
        let batch: Vec<Row> = sorted.by_ref().take(BATCH_ROWS).map(|entry| entry.row).collect();
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
}
