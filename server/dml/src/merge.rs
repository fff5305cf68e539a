//! MERGE.
//!
//! ```text
//!   for each row of the join:   which WHEN clause? ── lock the target row ── still the same?
//!   after the last one:         delete ── replace ── insert
//! ```
//!
//! Rules: nothing is written before every row has been looked at, so that no clause sees what
//! another one did. If there are triggers, the changes are then made one by one in the order of the
//! rows. A target row that has changed before it was locked is looked at again: if ON
//! no longer holds, or the row is gone, the source row is one without a match.

use std::collections::{BTreeSet, HashMap, HashSet};

use braid_catalog::TriggerEvent;
use braid_exec::{
    BoxedOperator, Evaluator, MemoryReservation, Operator, Reader, key_bytes, row_bytes,
};
use braid_kv::{Key, LockRequest};
use braid_plan::{Expr, Firing, Merge, MergeAction, PolicyUse, When};
use braid_types::{Datum, Error, Result, Row, SqlState};
use futures_util::future::BoxFuture;

use crate::foreign_keys::ForeignKeys;
use crate::queues::Queues;
use crate::table_writer::{Part, TableWriter};
use crate::triggers::RowTriggers;

/// MERGE; it gives no rows.
pub(crate) struct MergeOperator {
    input: BoxedOperator,
    evaluator: Evaluator,
    writer: TableWriter,
    /// Reads whole rows under their locks.
    reader: Reader,
    width: usize,
    on: Expr,
    whens: Vec<When>,
    foreign_keys: ForeignKeys,
    triggers: RowTriggers,
    done: bool,
}

/// What is to be written.
#[derive(Default)]
struct Changes {
    /// The changes, in the order of the joined rows.
    steps: Vec<Step>,
    /// The places of the columns that any clause changes.
    places: Vec<usize>,
    /// The keys of the rows that are deleted or changed.
    seen: HashSet<Key>,
}

/// A change of one row.
enum Step {
    Delete(Row),
    Update(Row, Row),
    Insert(Row),
}

impl MergeOperator {
    /// A MERGE over its input.
    pub(crate) fn new(
        input: BoxedOperator,
        plan: &Merge,
        evaluator: Evaluator,
        queues: &Queues,
    ) -> Result<Self> {
        let writer = TableWriter::new(
            &plan.table,
            &plan.generated,
            &plan.checks,
            &plan.index_exprs,
            evaluator.clone(),
        )?;
        let all: Vec<usize> = (0..plan.table.columns.len()).collect();
        Ok(Self {
            input,
            writer,
            reader: Reader::new(&plan.table, &all, true)?,
            width: all.len(),
            on: plan.on.clone(),
            whens: plan.whens.clone(),
            foreign_keys: ForeignKeys::new(&evaluator.run, queues, &plan.table, &plan.cascades)?,
            triggers: RowTriggers::new(&evaluator, &plan.table, &plan.triggers, &queues.triggers),
            evaluator,
            done: false,
        })
    }

    async fn run(&mut self) -> Result<Option<Vec<Row>>> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(None);
        }
        let mut held = MemoryReservation::new(&self.evaluator.run);
        let mut changes = Changes::default();
        let events = self.events();
        for event in &events {
            self.triggers.begin(*event).await?;
        }
        while let Some(batch) = self.input.next().await? {
            self.evaluator.run.check_interrupts().await?;
            held.take(self.gather(batch, &mut changes).await?)?;
        }
        self.write(changes).await?;
        for event in events.iter().rev() {
            self.triggers.end(*event).await?;
        }
        Ok(None)
    }

    /// What the clauses may do, in the order in which triggers before the statement fire.
    fn events(&self) -> Vec<TriggerEvent> {
        use TriggerEvent as E;
        let has = |event: &TriggerEvent| {
            self.whens.iter().any(|when| match when.action {
                MergeAction::Insert(_) => *event == E::Insert,
                MergeAction::Update(_) => *event == E::Update,
                MergeAction::Delete => *event == E::Delete,
                MergeAction::Nothing => false,
            })
        };
        [E::Insert, E::Update, E::Delete].into_iter().filter(has).collect()
    }

    /// The primary key of a joined row's target, if it has one.
    fn key_of(&self, row: &[Datum]) -> Option<Key> {
        let has_row = self.writer.rows.primary_places().iter().all(|place| !row[*place].is_null());
        has_row.then(|| self.writer.rows.primary_key(&row[..self.width]))
    }

    /// The first clause whose condition holds.
    async fn clause(&mut self, row: &[Datum], matched: bool) -> Result<Option<usize>> {
        for (place, when) in self.whens.iter().enumerate() {
            if when.matched != matched {
                continue;
            }
            let holds = match &when.condition {
                None => true,
                Some(e) => self.evaluator.eval(e, row).await?.as_bool() == Some(true),
            };
            if holds {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Whether a clause changes the row that it matches.
    fn changes_row(&self, clause: Option<usize>) -> bool {
        let action = clause.map(|place| &self.whens[place].action);
        matches!(action, Some(MergeAction::Update(_) | MergeAction::Delete))
    }

    /// Adds what a batch of joined rows leads to; roughly the memory that this takes.
    async fn gather(&mut self, batch: Vec<Row>, changes: &mut Changes) -> Result<usize> {
        let mut bytes = 0;
        let mut chosen = Vec::with_capacity(batch.len());
        let mut wanted = BTreeSet::new();
        for row in batch {
            let key = self.key_of(&row);
            let clause = self.clause(&row, key.is_some()).await?;
            if let Some(key) = key.as_ref().filter(|_| self.changes_row(clause)) {
                wanted.insert(key.clone());
            }
            chosen.push((row, key, clause));
        }
        let locked = self.lock(wanted).await?;
        for (mut row, key, mut clause) in chosen {
            let mut key = key;
            if let Some(now) = key.as_ref().and_then(|key| locked.get(key))
                && self.changes_row(clause)
                && now.as_deref() != Some(&row[..self.width])
            {
                clause = match self.put_in(&mut row, now.as_ref()).await? {
                    true => self.clause(&row, true).await?,
                    false => {
                        key = None;
                        self.clause(&row, false).await?
                    }
                };
            }
            let Some(clause) = clause else { continue };
            bytes += self.apply(clause, &row, key, changes).await?;
        }
        Ok(bytes)
    }

    /// Locks target rows; as they are now.
    async fn lock(&mut self, wanted: BTreeSet<Key>) -> Result<HashMap<Key, Option<Row>>> {
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let run = &self.evaluator.run;
        let mut keys = Vec::new();
        wanted.iter().for_each(|key| self.reader.keys_of(key, &mut keys));
        let request = LockRequest::keys(keys.clone());
        let locked = run.wait(run.cx.txn.lock(run.cx.seq, request)).await?;
        let rows = self.reader.decode(&keys, &locked.values)?;
        Ok(wanted.into_iter().zip(rows).collect())
    }

    /// Puts the row as it is now into a joined row; whether the two still match.
    async fn put_in(&mut self, row: &mut Row, now: Option<&Row>) -> Result<bool> {
        if let Some(now) = now {
            row[..self.width].clone_from_slice(now);
            if self.evaluator.eval(&self.on, row).await?.as_bool() == Some(true) {
                return Ok(true);
            }
        }
        row[..self.width].fill(Datum::Null);
        Ok(false)
    }

    /// Adds what a clause does with a joined row.
    async fn apply(
        &mut self,
        clause: usize,
        row: &Row,
        key: Option<Key>,
        changes: &mut Changes,
    ) -> Result<usize> {
        let action = &self.whens[clause].action;
        let mut bytes = 0;
        if let Some(key) = key.filter(|_| self.changes_row(Some(clause))) {
            let run = &self.evaluator.run;
            let table = self.writer.rows.table.id;
            bytes += key_bytes(&key);
            if !changes.seen.insert(key.clone()) {
                return Err(second_time());
            }
            // Another part of the statement has changed it.
            if run.shares_changes(table) && !run.first_change(table, key) {
                return Ok(bytes);
            }
        }
        let old = &row[..self.width];
        match action {
            MergeAction::Nothing => {}
            MergeAction::Delete => {
                self.writer.check_policies(PolicyUse::MergeDelete, old).await?;
                bytes += row_bytes(old);
                changes.steps.push(Step::Delete(old.to_vec()));
            }
            MergeAction::Update(assignments) => {
                self.writer.check_policies(PolicyUse::MergeUpdate, old).await?;
                let mut new = old.to_vec();
                for (place, e) in assignments {
                    new[*place] = self.evaluator.eval(e, row).await?;
                    if !changes.places.contains(place) {
                        changes.places.push(*place);
                    }
                }
                if self.triggers.is_empty() {
                    self.writer.complete_changed(old, &mut new).await?;
                }
                bytes += row_bytes(old) + row_bytes(&new);
                changes.steps.push(Step::Update(old.to_vec(), new));
            }
            MergeAction::Insert(values) => {
                let waits = values.iter().any(Expr::waits);
                let mut new = self.evaluator.eval_all(values, waits, row).await?;
                if self.triggers.is_empty() {
                    self.writer.complete(&mut new).await?;
                }
                bytes += row_bytes(&new);
                changes.steps.push(Step::Insert(new));
            }
        }
        Ok(bytes)
    }

    /// Writes the changes: kind by kind, or one by one if triggers look at the rows.
    async fn write(&mut self, changes: Changes) -> Result<()> {
        let Changes { steps, mut places, .. } = changes;
        if self.triggers.is_empty() {
            let columns = self.writer.rows.table.columns.iter().enumerate();
            places.extend(columns.filter(|(_, c)| c.generated.is_some()).map(|(place, _)| place));
            self.write_together(steps, &places).await?;
        } else {
            for step in steps {
                self.evaluator.run.check_interrupts().await?;
                let written = self.write_step(step).await?;
                self.evaluator.run.add_changed(usize::from(written));
            }
        }
        self.foreign_keys.hand_over();
        Ok(())
    }

    async fn write_together(&mut self, steps: Vec<Step>, places: &[usize]) -> Result<()> {
        let count = steps.len();
        let (mut changed, mut inserted) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Delete(old) => {
                    self.writer.delete(&old)?;
                    self.foreign_keys.changed(Some(&old), None)?;
                }
                Step::Update(old, new) => changed.push((old, new)),
                Step::Insert(new) => inserted.push(new),
            }
        }
        for (old, new) in &changed {
            self.foreign_keys.changed(Some(old), Some(new))?;
        }
        self.writer.replace(&changed, places, Part::Both).await?;
        self.insert(&inserted).await?;
        self.evaluator.run.add_changed(count);
        Ok(())
    }

    async fn insert(&mut self, inserted: &[Row]) -> Result<()> {
        let mut keys = Vec::new();
        let mut entries = Vec::with_capacity(inserted.len());
        for (place, row) in inserted.iter().enumerate() {
            let of_row = self.writer.entries(row)?;
            self.writer.unique_keys(row, &of_row, place, &mut keys);
            entries.push(of_row);
        }
        if !keys.is_empty() {
            self.writer.require_free(&keys, |place| &inserted[place]).await?;
        }
        for (row, entries) in inserted.iter().zip(entries) {
            self.foreign_keys.changed(None, Some(row))?;
            self.writer.put(row, entries)?;
        }
        Ok(())
    }

    /// Writes one change between its triggers; false if they drop it.
    async fn write_step(&mut self, step: Step) -> Result<bool> {
        let (event, old, new) = match step {
            Step::Delete(old) => (TriggerEvent::Delete, Some(old), None),
            Step::Update(old, new) => (TriggerEvent::Update, Some(old), Some(new)),
            Step::Insert(new) => (TriggerEvent::Insert, None, Some(new)),
        };
        let (firing, is_delete) = (Firing::before_row(event), new.is_none());
        let fired = self.triggers.fire_row(firing, old.as_ref(), new).await?;
        let Some(mut row) = fired else { return Ok(false) };
        match &old {
            Some(old) if is_delete => {
                self.writer.delete(old)?;
                self.foreign_keys.changed(Some(old), None)?;
            }
            Some(old) => {
                self.writer.complete_changed(old, &mut row).await?;
                self.foreign_keys.changed(Some(old), Some(&row))?;
                let all: Vec<usize> = (0..self.width).collect();
                self.writer.replace(&[(old.clone(), row.clone())], &all, Part::Both).await?;
            }
            None => {
                self.writer.complete(&mut row).await?;
                self.insert(std::slice::from_ref(&row)).await?;
            }
        }
        let new = (!is_delete).then_some(row.as_slice());
        self.triggers.after_row(event, old.as_deref(), new).await?;
        Ok(true)
    }
}

fn second_time() -> Error {
    let message = "MERGE command cannot affect row a second time";
    Error::new(SqlState::CardinalityViolation, message)
        .hint("Ensure that not more than one source row matches any one target row.")
}

impl Operator for MergeOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.run())
    }
}
