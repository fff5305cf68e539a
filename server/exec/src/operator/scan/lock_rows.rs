//! FOR UPDATE and the other locking clauses. Rows are locked as they are requested.
//!
//! Every row carries the primary keys of the tables to be locked. Their columns come from what is
//! stored under the lock, so that nothing is read twice, and conditions are looked at again where
//! that may differ from what the operators below have read: at READ COMMITTED and with SKIP
//! LOCKED. (At the other levels such a difference is a retry, made by the lock itself.)

use std::collections::VecDeque;

use braid_plan::{Expr, LockRows, Recheck, Slot};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::operator::eval::Evaluator;
use crate::operator::exprs::Exprs;
use crate::operator::reservation::broken;
use crate::operator::scan::lock_target::Target;
use crate::operator::{BoxedOperator, Operator};

/// Locks rows.
pub(crate) struct LockRowsOperator {
    input: BoxedOperator,
    locks: Locks,
    limit: Option<Expr>,
    offset: Option<Expr>,
    started: bool,
    /// Rows that may still be given.
    left: Option<u64>,
    /// Rows that the input has given and that are not looked at yet.
    pending: VecDeque<Row>,
}

struct Locks {
    evaluator: Evaluator,
    /// Places in the input of what is passed on.
    passed: Vec<usize>,
    targets: Vec<Target>,
    recheck: Vec<Step>,
}

enum Step {
    Holds(Exprs),
    NullUnless(Exprs, Vec<usize>),
    Compute(Exprs, Vec<usize>),
}

impl LockRowsOperator {
    /// A lock over an input.
    pub(crate) fn new(input: BoxedOperator, node: &LockRows, evaluator: Evaluator) -> Result<Self> {
        let inside = node.input.slots();
        let passed_slots = node.passed();
        let place = |slot: &Slot| {
            let place = inside.iter().position(|known| known == slot);
            place.ok_or_else(|| broken("a lock on rows whose key is not known"))
        };
        let places = |slots: &[Slot]| slots.iter().map(place).collect::<Result<Vec<usize>>>();
        let implicit_locks = evaluator.run.cx.implicit_locks;
        let mut targets = Vec::with_capacity(node.targets.len());
        let mut output = passed_slots.clone();
        for target in &node.targets {
            targets.push(Target::new(target, &places, !target.implicit || implicit_locks)?);
            output.extend(target.columns.iter().map(|(slot, _)| *slot));
        }
        // Slots that nobody reads are not there any more.
        let outputs = |slots: &mut dyn Iterator<Item = &Slot>| -> Vec<usize> {
            slots.filter_map(|slot| output.iter().position(|known| known == slot)).collect()
        };
        let step = |step: &Recheck| match step {
            Recheck::Holds(list) => Step::Holds(Exprs::new(list.clone())),
            Recheck::NullUnless(list, slots) => {
                Step::NullUnless(Exprs::new(list.clone()), outputs(&mut slots.iter()))
            }
            Recheck::Compute(list) => {
                let here = list.iter().filter(|(slot, _)| output.contains(slot));
                let (slots, exprs): (Vec<Slot>, Vec<Expr>) = here.cloned().unzip();
                Step::Compute(Exprs::new(exprs), outputs(&mut slots.iter()))
            }
        };
        let passed = places(&passed_slots)?;
        let recheck = node.recheck.iter().map(step).collect();
        Ok(Self {
            input,
            locks: Locks { evaluator, passed, targets, recheck },
            limit: node.limit.clone(),
            offset: node.offset.clone(),
            started: false,
            left: None,
            pending: VecDeque::new(),
        })
    }

    async fn batch(&mut self) -> Result<Option<Vec<Row>>> {
        if !std::mem::replace(&mut self.started, true) {
            let evaluator = &self.locks.evaluator;
            let limit = evaluator.count(self.limit.as_ref(), "LIMIT").await?;
            let offset = evaluator.count(self.offset.as_ref(), "OFFSET").await?;
            self.left = limit.map(|limit| limit.saturating_add(offset.unwrap_or(0)));
        }
        while self.left != Some(0) {
            self.locks.evaluator.run.check_interrupts().await?;
            if self.pending.is_empty() {
                let Some(batch) = self.input.next().await? else { break };
                self.pending = batch.into();
            }
            let wanted = self.left.map_or(usize::MAX, |left| left as usize);
            let now = self.pending.drain(..wanted.min(self.pending.len())).collect();
            let rows = self.locks.lock(now).await?;
            if let Some(left) = &mut self.left {
                *left -= rows.len() as u64;
            }
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

impl Locks {
    /// Locks the rows of a batch, table by table; what is left of it.
    async fn lock(&self, batch: Vec<Row>) -> Result<Vec<Row>> {
        let mut open: Vec<(Row, Row, bool)> = batch
            .into_iter()
            .map(|row| {
                let passed = self.passed.iter().map(|place| row[*place].clone()).collect();
                (row, passed, false)
            })
            .collect();
        for target in &self.targets {
            let rows: Vec<&Row> = open.iter().map(|(row, ..)| row).collect();
            let locked = target.lock(&self.evaluator, &rows).await?;
            let mut next = Vec::with_capacity(open.len());
            for ((row, mut given, stale), locked) in open.into_iter().zip(locked) {
                if let Some(locked) = locked {
                    given.extend(locked.row);
                    next.push((row, given, stale || locked.stale));
                }
            }
            open = next;
        }
        let mut result = Vec::with_capacity(open.len());
        for (_, row, stale) in open {
            if !stale {
                result.push(row);
            } else if let Some(row) = self.looked_at_again(row).await? {
                result.push(row);
            }
        }
        Ok(result)
    }

    async fn looked_at_again(&self, mut row: Row) -> Result<Option<Row>> {
        for step in &self.recheck {
            match step {
                Step::Holds(list) => {
                    if !list.hold(&self.evaluator, &row).await? {
                        return Ok(None);
                    }
                }
                Step::NullUnless(list, places) => {
                    if !list.hold(&self.evaluator, &row).await? {
                        places.iter().for_each(|place| row[*place] = Datum::Null);
                    }
                }
                Step::Compute(list, places) => {
                    let values = list.eval(&self.evaluator, &row).await?;
                    places.iter().zip(values).for_each(|(place, value)| row[*place] = value);
                }
            }
        }
        Ok(Some(row))
    }
}

impl Operator for LockRowsOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.batch())
    }
}
