//! UNION, INTERSECT and EXCEPT. NULLs are equal to each other here.
//!
//! Once memory is used up, equal rows of both sides go to partitions of the same number, and the
//! operation is carried out over each pair of partitions.

use std::borrow::Cow;
use std::sync::Arc;

use braid_plan::explain::DiskUse;
use braid_plan::{SetOp, SetOpKind};
use braid_types::{Result, Row};
use futures_util::future::BoxFuture;

use crate::memory::row_bytes;
use crate::operator::aggregate::distinct::DistinctOperator;
use crate::operator::eval::Evaluator;
use crate::operator::key_form::{KeyForm, KeyMap};
use crate::operator::reservation::MemoryReservation;
use crate::operator::spilled::overflow::Overflow;
use crate::operator::spilled::stream_scan::StreamScan;
use crate::operator::{BoxedOperator, Operator};
use crate::spill::partitions::Partitions;
use crate::spill::stream::RowStream;

/// UNION, INTERSECT, EXCEPT, each with and without ALL.
pub(crate) struct SetOperator {
    kind: SetOpKind,
    all: bool,
    left: BoxedOperator,
    right: BoxedOperator,
    /// UNION: the left input has ended. The others: the right input is in `rows`.
    second: bool,
    /// UNION: what was given. The others: the right side's rows and how many are left of each.
    rows: KeyMap<Row, u64>,
    form: KeyForm,
    held: MemoryReservation,
    evaluator: Evaluator,
    overflow: Overflow,
    /// What is left to do after the inputs have ended.
    rest: Option<std::vec::IntoIter<Rest>>,
    below: Option<BoxedOperator>,
}

/// Rows that were deferred.
enum Rest {
    /// Of one side, each to be given once.
    Once(RowStream),
    /// Of both sides.
    Pair(RowStream, RowStream),
}

impl SetOperator {
    /// A set operation over two inputs.
    pub(crate) fn new(
        node: &SetOp,
        left: BoxedOperator,
        right: BoxedOperator,
        evaluator: Evaluator,
    ) -> Self {
        let form = KeyForm::new(&node.types);
        Self::over((node.kind, node.all), (left, right), form, evaluator, Overflow::default())
    }

    fn over(
        (kind, all): (SetOpKind, bool),
        (left, right): (BoxedOperator, BoxedOperator),
        form: KeyForm,
        evaluator: Evaluator,
        overflow: Overflow,
    ) -> Self {
        Self {
            kind,
            all,
            left,
            right,
            second: false,
            rows: KeyMap::default(),
            form,
            held: MemoryReservation::new(&evaluator.run),
            evaluator,
            overflow,
            rest: None,
            below: None,
        }
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if self.rest.is_none() {
            let rows = match self.kind {
                SetOpKind::Union => self.union().await?,
                SetOpKind::Intersect | SetOpKind::Except => self.of_left().await?,
            };
            if rows.is_some() {
                return Ok(rows);
            }
            self.rows = KeyMap::default();
            self.held.clear();
            if self.rest.is_none() {
                let deferred = self.overflow.finish()?.map(Rest::Once);
                self.rest = Some(deferred.collect::<Vec<_>>().into_iter());
            }
        }
        loop {
            if let Some(below) = &mut self.below {
                if let Some(rows) = below.next().await? {
                    return Ok(Some(rows));
                }
                self.below = None;
            }
            let Some(rest) = self.rest.as_mut().and_then(Iterator::next) else { return Ok(None) };
            self.below = Some(self.over_rest(rest));
        }
    }

    /// The operator over rows that were deferred.
    fn over_rest(&self, rest: Rest) -> BoxedOperator {
        let (form, evaluator, overflow) = (&self.form, &self.evaluator, &self.overflow);
        match rest {
            Rest::Once(rows) => {
                Box::new(DistinctOperator::of_partition(rows, form, evaluator, overflow))
            }
            Rest::Pair(left, right) => {
                let scan = |rows| StreamScan::new(&evaluator.run, Arc::new(rows)) as BoxedOperator;
                let inputs = (scan(left), scan(right));
                let (kind, form) = ((self.kind, self.all), form.clone());
                let below = overflow.below();
                Box::new(Self::over(kind, inputs, form, evaluator.clone(), below))
            }
        }
    }

    /// INTERSECT and EXCEPT: the next rows of the left side that are part of the result.
    async fn of_left(&mut self) -> Result<Option<Vec<Row>>> {
        if !self.second {
            self.second = true;
            if !self.read_right().await? {
                self.divide().await?;
                return Ok(None);
            }
        }
        while let Some(mut batch) = self.left.next().await? {
            self.evaluator.run.check_interrupts().await?;
            let mut failed = None;
            batch.retain(|row| {
                self.keeps(row).unwrap_or_else(|error| {
                    failed = Some(error);
                    false
                })
            });
            if let Some(error) = failed {
                return Err(error);
            }
            if !batch.is_empty() {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// Reads the right side into memory; false if that is used up.
    async fn read_right(&mut self) -> Result<bool> {
        while let Some(batch) = self.right.next().await? {
            self.evaluator.run.check_interrupts().await?;
            let mut fits = true;
            for mut row in batch {
                self.form.apply(&mut row);
                let bytes = row_bytes(&row);
                let count = self.rows.entry(row).or_insert(0);
                if *count == 0 && !self.held.try_take(bytes)? {
                    fits = false;
                    if self.overflow.is_deepest() {
                        self.held.take(bytes)?;
                    }
                }
                *count += 1;
            }
            if !fits && !self.overflow.is_deepest() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes both sides into partitions.
    async fn divide(&mut self) -> Result<()> {
        let run = self.evaluator.run.clone();
        let rows = std::mem::take(&mut self.rows);
        self.held.clear();
        self.overflow.begin(&run, &mut self.held)?;
        for (row, count) in rows {
            for _ in 0..count {
                self.overflow.push(&row, &row)?;
            }
        }
        while let Some(batch) = self.right.next().await? {
            run.check_interrupts().await?;
            for mut row in batch {
                self.form.apply(&mut row);
                self.overflow.push(&row, &row)?;
            }
        }
        let right = self.overflow.finish_all()?;
        let mut left: Partitions = self.overflow.partitions(&run, &mut self.held)?;
        while let Some(batch) = self.left.next().await? {
            run.check_interrupts().await?;
            for row in batch {
                left.push(key(&self.form, &row).as_ref(), &row)?;
            }
        }
        let pairs = left.finish()?.into_iter().zip(right);
        let pairs = pairs.filter(|(left, _)| left.rows() > 0);
        let pairs: Vec<Rest> = pairs.map(|(left, right)| Rest::Pair(left, right)).collect();
        self.rest = Some(pairs.into_iter());
        Ok(())
    }

    /// Whether a row of the left side is part of the result now.
    fn keeps(&mut self, row: &Row) -> Result<bool> {
        let intersect = self.kind == SetOpKind::Intersect;
        let key = key(&self.form, row);
        if let Some(count) = self.rows.get_mut(key.as_ref()) {
            match (intersect, self.all) {
                (true, false) => {
                    self.rows.remove(key.as_ref());
                }
                (false, false) => {}
                (_, true) if *count > 0 => *count -= 1,
                (_, true) => return Ok(!intersect),
            }
            return Ok(intersect);
        }
        if !intersect && !self.all {
            // It is given once.
            return self.remember(&key, row);
        }
        Ok(!intersect)
    }

    /// Remembers a row that is to be given once; false if it is deferred.
    fn remember(&mut self, key: &Row, row: &Row) -> Result<bool> {
        if self.overflow.is_active() {
            self.overflow.push(key, row)?;
            return Ok(false);
        }
        let fits = self.held.try_take(row_bytes(key))?;
        self.rows.insert(key.clone(), 1);
        if !fits {
            self.overflow.begin(&self.evaluator.run, &mut self.held)?;
        }
        Ok(true)
    }

    async fn union(&mut self) -> Result<Option<Vec<Row>>> {
        loop {
            let input = if self.second { &mut self.right } else { &mut self.left };
            let Some(batch) = input.next().await? else {
                if self.second {
                    return Ok(None);
                }
                self.second = true;
                continue;
            };
            self.evaluator.run.check_interrupts().await?;
            if self.all {
                return Ok(Some(batch));
            }
            let mut kept = Vec::new();
            for row in batch {
                let key = key(&self.form, &row);
                if !self.rows.contains_key(key.as_ref()) && self.remember(&key, &row)? {
                    kept.push(row);
                }
            }
            if !kept.is_empty() {
                return Ok(Some(kept));
            }
        }
    }
}

/// What stands for a row among those that are equal to it.
fn key<'r>(form: &KeyForm, row: &'r Row) -> Cow<'r, Row> {
    match form.is_plain() {
        true => Cow::Borrowed(row),
        false => Cow::Owned(form.key(row)),
    }
}

impl Operator for SetOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }

    fn spilled(&self) -> Option<DiskUse> {
        self.overflow.spilled()
    }
}
