//! Rows of INSERT: computed, checked for conflicts, put.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use braid_catalog::{IndexNumber, TriggerEvent};
use braid_exec::{
    BoxedOperator, Evaluator, ExecutionState, MemoryReservation, Operator, Postponed, Reader,
    key_bytes, row_bytes,
};
use braid_kv::{Key, LockRequest};
use braid_plan::{Expr, Firing, Insert, OnConflict, PolicyUse};
use braid_rows::{IndexEntry, IndexRows, RowEntries, replaced_places};
use braid_types::{Datum, Result, Row};
use futures_util::future::BoxFuture;

use crate::foreign_keys::ForeignKeys;
use crate::queues::Queues;
use crate::table_writer::{FREE_KEYS_MANY, Part, TableWriter, UniqueKey, second_time};
use crate::triggers::{RowTriggers, later_run};

use super::rules::{defers, excluded, has_exclusions, is_blind};

/// Rows whose keys are looked at in one wait.
const ROWS_AT_ONCE: usize = 16_384;

/// INSERT; it gives RETURNING's rows.
pub(crate) struct InsertOperator {
    input: BoxedOperator,
    evaluator: Evaluator,
    writer: TableWriter,
    /// Reads whole rows that are in the way.
    reader: Reader,
    values: Vec<Expr>,
    values_wait: bool,
    /// The input's rows are the table's as they come.
    as_it_comes: bool,
    on_conflict: OnConflict,
    returning: Vec<Expr>,
    returning_waits: bool,
    /// Whether RETURNING reads `xmax`.
    marks: bool,
    /// For each of the rows just written whether it was inserted; empty if all of them were.
    fresh: Vec<bool>,
    foreign_keys: ForeignKeys,
    triggers: RowTriggers,
    /// What rows are checked and written with: a number above those of triggers' statements.
    writing: Arc<ExecutionState>,
    /// Rows of the input that wait for their turn.
    pending: std::vec::IntoIter<Row>,
    /// Primary keys of rows that this statement has written, for rows that would come twice.
    written: HashSet<Key>,
    /// Uniqueness is checked at the barrier or the commit.
    deferred_unique_checks: bool,
    /// UPSERT needs nothing of the rows that it replaces.
    blind: bool,
    /// The rows that are checked and put at once.
    held: MemoryReservation,
    /// The keys in `written`.
    written_held: MemoryReservation,
    /// The error of a row after those that are to be written first.
    failed: Postponed,
    begun: bool,
    done: bool,
    ended: bool,
}

/// A row to be inserted.
struct Proposed {
    row: Row,
    entries: RowEntries,
}

impl InsertOperator {
    /// An INSERT over its input.
    pub(crate) fn new(
        input: BoxedOperator,
        plan: &Insert,
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
        let deferred_unique_checks = defers(plan, &evaluator);
        if deferred_unique_checks {
            queues.keys.defer_unique_checks();
        }
        let all: Vec<usize> = (0..plan.table.columns.len()).collect();
        let returning: Vec<Expr> = plan.returning.iter().map(|(_, e)| e.clone()).collect();
        Ok(Self {
            input,
            writer,
            reader: Reader::new(&plan.table, &all, true)?,
            values_wait: plan.values.iter().any(Expr::waits),
            as_it_comes: is_whole_row(&plan.values),
            values: plan.values.clone(),
            on_conflict: plan.on_conflict.clone(),
            returning_waits: returning.iter().any(Expr::waits),
            returning,
            marks: plan.replaced.is_some(),
            fresh: Vec::new(),
            foreign_keys: ForeignKeys::new(&evaluator.run, queues, &plan.table, &plan.cascades)?,
            triggers: RowTriggers::new(&evaluator, &plan.table, &plan.triggers, &queues.triggers),
            writing: evaluator.run.clone(),
            pending: Vec::new().into_iter(),
            written: HashSet::new(),
            deferred_unique_checks,
            blind: is_blind(plan, &evaluator),
            held: MemoryReservation::new(&evaluator.run),
            written_held: MemoryReservation::new(&evaluator.run),
            evaluator,
            failed: Postponed::default(),
            begun: false,
            done: false,
            ended: false,
        })
    }

    async fn next_rows(&mut self) -> Result<Option<Vec<Row>>> {
        if !std::mem::replace(&mut self.begun, true) {
            self.begin().await?;
        }
        if let Some(rows) = self.next_written().await? {
            return Ok(Some(rows));
        }
        if !std::mem::replace(&mut self.ended, true) {
            self.end().await?;
        }
        Ok(None)
    }

    /// Inserts rows that do not come from the input; what RETURNING gives of them.
    pub(crate) async fn insert_rows(&mut self, rows: Vec<Row>) -> Result<Vec<Row>> {
        self.pending = rows.into_iter();
        self.done = false;
        let mut result = Vec::new();
        while let Some(mut batch) = self.next_written().await? {
            result.append(&mut batch);
        }
        Ok(result)
    }

    async fn next_written(&mut self) -> Result<Option<Vec<Row>>> {
        while !self.done {
            self.held.clear();
            self.fresh.clear();
            let proposed = self.gather().await?;
            let written = match &self.on_conflict {
                _ if proposed.is_empty() => Vec::new(),
                OnConflict::Error => self.insert_all(proposed).await?,
                OnConflict::Nothing(indexes) => {
                    let indexes = indexes.clone();
                    self.insert_free(proposed, &indexes).await?
                }
                OnConflict::Update { .. } => self.insert_or_update(proposed).await?,
                OnConflict::Upsert(_) => self.upsert(proposed).await?,
            };
            self.evaluator.run.add_changed(written.len());
            self.foreign_keys.hand_over();
            if self.returning.is_empty() || written.is_empty() {
                continue;
            }
            return self.returned(written).await.map(Some);
        }
        Ok(None)
    }

    /// Whether rows that are there may be updated.
    fn updates(&self) -> bool {
        matches!(self.on_conflict, OnConflict::Update { .. } | OnConflict::Upsert(_))
    }

    /// Fires the triggers before the statement.
    async fn begin(&mut self) -> Result<()> {
        self.triggers.begin(TriggerEvent::Insert).await?;
        if self.updates() { self.triggers.begin(TriggerEvent::Update).await } else { Ok(()) }
    }

    /// Owes the triggers after the statement.
    async fn end(&mut self) -> Result<()> {
        if self.updates() {
            self.triggers.end(TriggerEvent::Update).await?;
        }
        self.triggers.end(TriggerEvent::Insert).await
    }

    /// The row as the triggers before it leave it; `None` if they drop it.
    async fn before(
        &mut self,
        event: TriggerEvent,
        old: Option<&Row>,
        new: Row,
    ) -> Result<Option<Row>> {
        let firing = Firing::before_row(event);
        if !self.triggers.has(firing) {
            return Ok(Some(new));
        }
        let row = self.triggers.fire_row(firing, old, Some(new)).await?;
        self.writing = later_run(&self.writing);
        self.writer.go_on(&self.writing);
        Ok(row)
    }

    /// Rows that are taken at once: one, if a trigger is to see what became of those before.
    fn rows_at_once(&self) -> usize {
        let one = self.triggers.are_before_rows()
            || (self.updates() && !self.triggers.is_empty())
            || has_exclusions(&self.writer, &self.on_conflict);
        if one { 1 } else { ROWS_AT_ONCE }
    }

    /// RETURNING of the rows just written.
    async fn returned(&mut self, written: Vec<Row>) -> Result<Vec<Row>> {
        let mut result = Vec::with_capacity(written.len());
        for (place, mut row) in written.into_iter().enumerate() {
            if self.marks {
                // The number is that of `txid_current()`, cut to the bits of an xid.
                let number = self.evaluator.run.cx.env.transaction_micros() as u32;
                let is_fresh = self.fresh.get(place).copied().unwrap_or(true);
                let replaced = if is_fresh { 0 } else { number.max(1) };
                row.push(Datum::Int(replaced.into()));
            }
            result
                .push(self.evaluator.eval_all(&self.returning, self.returning_waits, &row).await?);
        }
        Ok(result)
    }

    /// The next rows to be written, as many as are checked and put at once.
    async fn gather(&mut self) -> Result<Vec<Proposed>> {
        self.failed.check()?;
        let mut proposed = Vec::new();
        if let Err(error) = self.gather_into(&mut proposed).await {
            self.failed.keep(error, !proposed.is_empty())?;
        }
        Ok(proposed)
    }

    async fn gather_into(&mut self, proposed: &mut Vec<Proposed>) -> Result<()> {
        let (rows_max, mut fits) = (self.rows_at_once(), true);
        while fits && proposed.len() < rows_max {
            if self.pending.len() == 0 {
                let Some(batch) = self.input.next().await? else {
                    self.done = true;
                    break;
                };
                self.pending = batch.into_iter();
            }
            self.evaluator.run.check_interrupts().await?;
            let wanted = self.pending.len().min(rows_max - proposed.len());
            proposed.reserve(wanted);
            let mut bytes = 0;
            for row in self.pending.by_ref().take(wanted).collect::<Vec<_>>() {
                let row = match self.as_it_comes && row.len() == self.values.len() {
                    true => row,
                    false => self.evaluator.eval_all(&self.values, self.values_wait, &row).await?,
                };
                let Some(mut row) = self.before(TriggerEvent::Insert, None, row).await? else {
                    continue;
                };
                self.writer.complete(&mut row).await?;
                let entries = self.writer.entries(&row)?;
                bytes += row_bytes(&row) + entries.all().map(entry_bytes).sum::<usize>();
                proposed.push(Proposed { row, entries });
            }
            fits = self.held.try_take(bytes)?;
        }
        Ok(())
    }

    fn put(&mut self, proposed: Proposed) -> Result<Row> {
        let (run, table) = (&self.evaluator.run, self.writer.rows.table.id);
        if run.shares_changes(table) {
            run.first_change(table, self.writer.rows.primary_key(&proposed.row));
        }
        self.foreign_keys.changed(None, Some(&proposed.row))?;
        if self.deferred_unique_checks {
            self.writer.put_new(&proposed.row, proposed.entries)?;
        } else {
            self.writer.put(&proposed.row, proposed.entries)?;
        }
        Ok(proposed.row)
    }

    /// Every row, or 23505.
    async fn insert_all(&mut self, proposed: Vec<Proposed>) -> Result<Vec<Row>> {
        if !self.deferred_unique_checks && !proposed.is_empty() {
            let keys = keys_of(&self.writer, &proposed);
            self.writer.require_free(&keys, |place| &proposed[place].row).await?;
        }
        let rows = proposed.into_iter().map(|p| self.put(p)).collect::<Result<Vec<_>>>()?;
        self.inserted(&rows).await?;
        Ok(rows)
    }

    /// Owes the triggers after rows that were inserted.
    async fn inserted(&mut self, rows: &[Row]) -> Result<()> {
        for row in rows {
            self.triggers.after_row(TriggerEvent::Insert, None, Some(row)).await?;
        }
        Ok(())
    }

    /// DO NOTHING inserts the rows that conflict with nothing; `arbiters` empty means any index.
    async fn insert_free(
        &mut self,
        proposed: Vec<Proposed>,
        arbiters: &[IndexNumber],
    ) -> Result<Vec<Row>> {
        let keys = keys_of(&self.writer, &proposed);
        let found = self.writer.existing(&keys).await?;
        let is_arbiter = |n: IndexNumber| arbiters.is_empty() || arbiters.contains(&n);
        let entries: Vec<_> = proposed.iter().map(|p| &p.entries).collect();
        let mut skipped = excluded(&self.writing, &self.writer, &entries, arbiters).await?;
        let mut seen: HashMap<&Key, usize> = HashMap::with_capacity(keys.len());
        // Arbiters first: a row that is left out violates nothing.
        for (unique, value) in keys.iter().zip(&found).filter(|(u, _)| is_arbiter(u.index)) {
            let taken =
                value.is_some() || seen.get(&unique.key).is_some_and(|row| !skipped.contains(row));
            if taken {
                skipped.insert(unique.row);
            } else {
                seen.insert(&unique.key, unique.row);
            }
        }
        let mut others: HashSet<&Key> = HashSet::new();
        for (unique, value) in keys.iter().zip(&found).filter(|(u, _)| !is_arbiter(u.index)) {
            if !skipped.contains(&unique.row) && (value.is_some() || !others.insert(&unique.key)) {
                return Err(self.writer.duplicate(unique.index, &proposed[unique.row].row));
            }
        }
        let mut written = Vec::new();
        for (place, p) in proposed.into_iter().enumerate() {
            if !skipped.contains(&place) {
                written.push(self.put(p)?);
            }
        }
        self.inserted(&written).await?;
        Ok(written)
    }

    /// The rows that are in the way of the proposed ones by these indexes, locked.
    async fn in_the_way(
        &mut self,
        proposed: &[Proposed],
        indexes: &[IndexNumber],
    ) -> Result<Vec<Option<Row>>> {
        let run = self.writing.clone();
        let mut primary: Vec<Option<Key>> = vec![None; proposed.len()];
        if indexes.contains(&1) {
            for (place, p) in proposed.iter().enumerate() {
                primary[place] = Some(self.writer.rows.primary_key(&p.row));
            }
        }
        for number in indexes.iter().filter(|number| **number != 1) {
            self.by_index(proposed, *number, &mut primary).await?;
        }
        let mut keys = Vec::new();
        for key in primary.iter().flatten() {
            self.reader.keys_of(key, &mut keys);
        }
        if keys.is_empty() {
            return Ok(vec![None; proposed.len()]);
        }
        let mut request = LockRequest::keys(keys.clone());
        // They are locked exclusively and written next: nobody else can change what was read.
        if keys.len() >= FREE_KEYS_MANY {
            request = request.passing(true);
        }
        let locked = run.wait(run.cx.txn.lock(run.cx.seq.after(), request)).await?;
        let mut rows = self.reader.decode(&keys, &locked.values)?.into_iter();
        Ok(primary.iter().map(|key| key.as_ref().and_then(|_| rows.next().flatten())).collect())
    }

    /// The primary keys that a unique index has under the proposed rows' keys.
    async fn by_index(
        &mut self,
        proposed: &[Proposed],
        number: IndexNumber,
        primary: &mut [Option<Key>],
    ) -> Result<()> {
        let run = &self.writing;
        let table = &self.writer.rows.table;
        let Some(at) = self.writer.indexes.iter().position(|index| index.number == number) else {
            return Ok(());
        };
        let index: &IndexRows = &self.writer.indexes[at];
        let decoder = index.reader(table, &self.writer.rows.primary_places());
        let mut keys = Vec::new();
        let mut rows = Vec::new();
        for (place, p) in proposed.iter().enumerate() {
            if let Some(entry) =
                p.entries.by_index[at].as_ref().filter(|entry| entry.must_be_unique)
            {
                keys.push(entry.key.clone());
                rows.push(place);
            }
        }
        if keys.is_empty() {
            return Ok(());
        }
        let request = LockRequest::keys(keys.clone());
        let locked = run.wait(run.cx.txn.lock(run.cx.seq.after(), request)).await?;
        for ((key, value), place) in keys.iter().zip(&locked.values).zip(rows) {
            if let Some(value) = value {
                let parts = decoder.decode(key, value)?;
                primary[place] = Some(self.writer.rows.primary_key_of_parts(&parts));
            }
        }
        Ok(())
    }

    /// DO UPDATE: rows that are free are inserted, the others updated.
    async fn insert_or_update(&mut self, proposed: Vec<Proposed>) -> Result<Vec<Row>> {
        let OnConflict::Update { indexes, assignments, filter } = self.on_conflict.clone() else {
            return Ok(Vec::new());
        };
        let existing = self.in_the_way(&proposed, &indexes).await?;
        let places: Vec<usize> = assignments.iter().map(|(place, _)| *place).collect();
        let places = self.with_generated(places);
        let mut arbiter_keys: HashSet<Key> = HashSet::new();
        let mut split = Split::default();
        for (p, existing) in proposed.into_iter().zip(existing) {
            for unique in keys_of(&self.writer, std::slice::from_ref(&p)) {
                if indexes.contains(&unique.index) && !arbiter_keys.insert(unique.key) {
                    return Err(second_time("ON CONFLICT DO UPDATE"));
                }
            }
            let Some(old) = existing else {
                split.insert(p);
                continue;
            };
            if !self.note_written(&old)? {
                return Err(second_time("ON CONFLICT DO UPDATE"));
            }
            let mut both = old.clone();
            both.extend(p.row);
            if let Some(filter) = &filter
                && self.evaluator.eval(filter, &both).await?.as_bool() != Some(true)
            {
                continue;
            }
            self.writer.check_policies(PolicyUse::Conflict, &old).await?;
            let mut new = old.clone();
            for (place, e) in &assignments {
                new[*place] = self.evaluator.eval(e, &both).await?;
            }
            self.change(&mut split, old, new).await?;
        }
        self.apply(split, &places).await
    }

    /// UPSERT: the row of the same primary key is replaced in the columns given.
    async fn upsert(&mut self, proposed: Vec<Proposed>) -> Result<Vec<Row>> {
        let OnConflict::Upsert(targets) = self.on_conflict.clone() else { return Ok(Vec::new()) };
        if self.blind {
            return self.overwrite(proposed);
        }
        let existing = self.in_the_way(&proposed, &[1]).await?;
        let replaced = replaced_places(&self.writer.rows.table, &targets);
        let places = self.with_generated(replaced);
        let mut split = Split::default();
        for (p, existing) in proposed.into_iter().zip(existing) {
            if !self.note_written(&p.row)? {
                return Err(second_time("UPSERT"));
            }
            let Some(old) = existing else {
                split.insert(p);
                continue;
            };
            self.writer.check_policies(PolicyUse::Conflict, &old).await?;
            let mut new = old.clone();
            for place in &targets {
                new[*place] = p.row[*place].clone();
            }
            self.change(&mut split, old, new).await?;
        }
        self.apply(split, &places).await
    }

    /// Adds an update of a row that is there.
    async fn change(&mut self, split: &mut Split, old: Row, new: Row) -> Result<()> {
        let Some(mut new) = self.before(TriggerEvent::Update, Some(&old), new).await? else {
            return Ok(());
        };
        self.writer.complete_changed(&old, &mut new).await?;
        split.change(old, new);
        Ok(())
    }

    fn overwrite(&mut self, proposed: Vec<Proposed>) -> Result<Vec<Row>> {
        let mut written = Vec::with_capacity(proposed.len());
        for p in proposed {
            if !self.note_written(&p.row)? {
                return Err(second_time("UPSERT"));
            }
            self.foreign_keys.changed(None, Some(&p.row))?;
            self.writer.overwrite(&p.row)?;
            written.push(p.row);
        }
        Ok(written)
    }

    /// Whether this statement has not written the row's key before; it has now.
    fn note_written(&mut self, row: &Row) -> Result<bool> {
        let key = self.writer.rows.primary_key(row);
        let (run, table) = (&self.evaluator.run, self.writer.rows.table.id);
        if run.shares_changes(table) {
            return Ok(run.first_change(table, key));
        }
        self.written_held.take(key_bytes(&key))?;
        Ok(self.written.insert(key))
    }

    fn with_generated(&self, mut places: Vec<usize>) -> Vec<usize> {
        if self.triggers.has(Firing::before_row(TriggerEvent::Update)) {
            return (0..self.writer.rows.table.columns.len()).collect();
        }
        let columns = self.writer.rows.table.columns.iter().enumerate();
        places.extend(columns.filter(|(_, c)| c.generated.is_some()).map(|(place, _)| place));
        places
    }

    /// Writes the rows and returns them in the order in which they were proposed.
    async fn apply(&mut self, split: Split, places: &[usize]) -> Result<Vec<Row>> {
        let Split { fresh, changes, is_fresh } = split;
        for (old, new) in &changes {
            self.foreign_keys.changed(Some(old), Some(new))?;
        }
        self.writer.replace(&changes, places, Part::Both).await?;
        for (old, new) in &changes {
            self.triggers.after_row(TriggerEvent::Update, Some(old), Some(new)).await?;
        }
        for p in &fresh {
            self.note_written(&p.row)?;
        }
        let mut inserted = self.insert_all(fresh).await?.into_iter();
        let mut changed = changes.into_iter().map(|(_, new)| new);
        let written = is_fresh.iter().filter_map(|is_fresh| match is_fresh {
            true => inserted.next(),
            false => changed.next(),
        });
        let written = written.collect();
        self.fresh = is_fresh;
        Ok(written)
    }
}

/// What proposed rows lead to: rows to insert, and rows that are there and change.
#[derive(Default)]
struct Split {
    fresh: Vec<Proposed>,
    changes: Vec<(Row, Row)>,
    /// For each row to be written, in the order of the proposed ones, whether it is inserted.
    is_fresh: Vec<bool>,
}

impl Split {
    fn insert(&mut self, proposed: Proposed) {
        self.fresh.push(proposed);
        self.is_fresh.push(true);
    }

    fn change(&mut self, old: Row, new: Row) {
        self.changes.push((old, new));
        self.is_fresh.push(false);
    }
}

/// The keys that rows must have alone.
fn keys_of(writer: &TableWriter, proposed: &[Proposed]) -> Vec<UniqueKey> {
    let mut keys = Vec::new();
    for (place, p) in proposed.iter().enumerate() {
        writer.unique_keys(&p.row, &p.entries, place, &mut keys);
    }
    keys
}

/// Roughly the memory of an index entry.
fn entry_bytes(entry: &IndexEntry) -> usize {
    key_bytes(&entry.key) + entry.value.len()
}

/// Whether the values of a row are the columns of the input, in order.
fn is_whole_row(values: &[Expr]) -> bool {
    values.iter().enumerate().all(|(i, e)| matches!(e, Expr::Input(place, _) if *place == i))
}

impl Operator for InsertOperator {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Vec<Row>>>> {
        Box::pin(self.next_rows())
    }
}
